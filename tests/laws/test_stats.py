"""Simulations: tests reject a true null no more often than their level, exact intervals cover what they claim.

All are seeded. A count of rejections passes where it is no more than chance allows a test of exactly this level.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from samework.stats.association import association
from samework.stats.clustered import clustered_rate
from samework.stats.exact import cochran_mantel_haenszel, fisher, stratified_exact
from samework.stats.families import benjamini_hochberg, holm
from samework.stats.paired import cochran_q, mcnemar
from samework.stats.permutation import path_test

LEVEL = 0.05


def most_by_chance(n: int, level: float = LEVEL) -> int:
    """Rejections that a test of this level passes only once in a thousand series."""
    return int(binom.isf(0.001, n, level))


@pytest.mark.parametrize("n_repeats", [2, 3])
def test_the_path_test_keeps_its_level_where_both_arms_are_noisy_alike(n_repeats: int) -> None:
    rng = np.random.default_rng(11)
    rejected = 0
    for _ in range(400):
        # Each item has its own mixture of paths, from nearly fixed to nearly free.
        odds = rng.dirichlet([0.4] * 3, size=15)
        draws = [rng.choice(3, size=(2, n_repeats), p=each).tolist() for each in odds]
        rejected += path_test([(tuple(a), tuple(b)) for a, b in draws]).p <= LEVEL
    assert rejected <= most_by_chance(400)


def test_the_path_test_finds_arms_that_repeat_themselves_and_differ() -> None:
    rng = np.random.default_rng(12)
    found = 0
    for _ in range(200):
        differs = rng.random(42) < 0.1
        found += path_test([("xx", "yy" if each else "xx") for each in differs]).p <= LEVEL
    assert found / 200 > 0.7  # planned for 0.8 at 42 items


def test_the_association_test_keeps_its_level() -> None:
    rng = np.random.default_rng(13)
    rejected = 0
    for _ in range(400):
        data = [[(int(v), int(b)) for v, b in rng.integers(0, 2, (6, 2))] for _ in range(4)]
        if any(len({b for _, b in item}) > 1 for item in data):
            rejected += association(data).p <= LEVEL
    assert rejected <= most_by_chance(400)


def test_tests_over_strata_and_arms_keep_their_level() -> None:
    rng = np.random.default_rng(14)
    counts = dict.fromkeys(("exact strata", "corrected strata", "fisher", "cochran", "mcnemar"), 0)
    n_series = 300
    for _ in range(n_series):
        drawn = [(*rng.binomial(8, rate, 2).tolist(),) for rate in (0.1, 0.3, 0.6)]
        tables = [((a, 8 - a), (b, 8 - b)) for a, b in drawn]
        counts["exact strata"] += stratified_exact(tables).two_sided <= LEVEL
        counts["corrected strata"] += cochran_mantel_haenszel(tables).p_corrected <= LEVEL
        counts["fisher"] += fisher(tables[2]) <= LEVEL
        hardness = rng.beta(0.5, 0.5, (15, 1))
        rows = (rng.random((15, 3)) < hardness).astype(int)
        exact = cochran_q(rows.tolist()).p_exact
        assert exact is not None
        counts["cochran"] += exact <= LEVEL
        first, second = rows[:, 0], rows[:, 1]
        flips = int(((first == 1) & (second == 0)).sum()), int(((first == 0) & (second == 1)).sum())
        counts["mcnemar"] += mcnemar(*flips).exact <= LEVEL
    assert {name: n for name, n in counts.items() if n > most_by_chance(n_series)} == {}


def test_holm_keeps_its_level_over_tests_that_depend_on_each_other_and_bh_its_share() -> None:
    rng = np.random.default_rng(15)
    families_with_one = shares = 0.0
    n_series = 400
    for _ in range(n_series):
        common = rng.random()
        null = np.where(rng.random(8) < 0.5, common, rng.random(8))
        families_with_one += min(holm(null.tolist())) <= LEVEL
        # Four true effects beside eight nulls: the share of nulls among what is rejected.
        p_values = [*(rng.random(4) * 1e-4), *rng.random(8)]
        rejected = np.array(benjamini_hochberg(p_values)) <= LEVEL
        shares += rejected[4:].sum() / max(1, rejected.sum())
    assert families_with_one <= most_by_chance(n_series)
    assert shares / n_series <= LEVEL


def test_the_bootstrap_over_items_covers_nearly_where_one_over_runs_would_not() -> None:
    rng = np.random.default_rng(16)
    by_item = by_run = 0
    n_series, n_items, n_repeats = 150, 40, 10
    for seed in range(n_series):
        wins = rng.binomial(n_repeats, rng.beta(0.5, 0.5, n_items))
        items = [(1,) * int(won) + (0,) * int(n_repeats - won) for won in wins]
        found = clustered_rate(items, n_resamples=499, seed=seed).interval
        by_item += found.low <= 0.5 <= found.high
        pooled = clustered_rate([(outcome,) for runs in items for outcome in runs], n_resamples=199, seed=seed).interval
        by_run += pooled.low <= 0.5 <= pooled.high
    assert by_item / n_series >= 0.9
    assert by_run / n_series < 0.8
