"""Paired tests and margins against brute force, with their level counted out."""

from __future__ import annotations

import math
from itertools import permutations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, xlogy
from scipy.stats import binom
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar

from samework.stats import margins, paired


@st.composite
def flips(draw: st.DrawFn, most: int = 60) -> tuple[int, int, int]:
    n = draw(st.integers(1, most))
    b = draw(st.integers(0, n))
    return b, draw(st.integers(0, n - b)), n


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_the_sum_of_its_tail(b: int, c: int) -> None:
    n, fewer = b + c, min(b, c)
    below, at = sum(comb(n, k) for k in range(fewer)), comb(n, fewer)
    found = paired.mcnemar(b, c)
    assert found.exact == pytest.approx(min(1, 2 * (below + at) / 2**n), rel=1e-12)
    assert found.mid == pytest.approx(min(1, (2 * below + at) / 2**n), rel=1e-12)
    assert found.exact_greater == pytest.approx(sum(comb(n, k) for k in range(b, n + 1)) / 2**n, rel=1e-12)
    table = [[0, b], [c, 0]]
    assert found.exact == pytest.approx(min(1.0, float(reference_mcnemar(table, exact=True).pvalue)), rel=1e-9)


@pytest.mark.parametrize("level", [0.05, 0.01])
def test_exact_mcnemar_keeps_its_level_at_every_number_of_flips(level: float) -> None:
    for n in range(80):
        k = np.arange(n + 1)
        rejected = np.array([paired.mcnemar(int(b), int(n - b)).exact <= level for b in k])
        assert (binom.pmf(k, n, 0.5) * rejected).sum() <= level


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.integers(0, n), st.just(n))))
def test_the_range_holds_the_p_of_every_joint_table(totals: tuple[int, int, int]) -> None:
    k_a, k_b, n = totals
    found = paired.mcnemar_range(k_a, k_b, n)
    tables = [(k_a - both, k_b - both) for both in range(n + 1) if k_a - both >= 0 and 0 <= k_b - both <= n - k_a]
    every = [paired.mcnemar(*table).exact for table in tables]
    assert (found.low, found.high) == (min(every), max(every))
    assert found.at_low in tables
    assert paired.mcnemar(*found.at_high).exact == found.high


def log_likelihood(q: float, b: int, c: int, n: int, d: float) -> float:
    """Of the flips at rate c = q, rate b = q + d."""
    return float(xlogy(b, q + d) + xlogy(c, q) + xlogy(n - b - c, 1 - 2 * q - d))


@given(flips(), st.floats(-0.9, 0.9))
def test_tango_is_the_score_at_the_most_likely_flips(counts: tuple[int, int, int], d: float) -> None:
    b, c, n = counts
    low, high = max(0.0, -d), (1 - d) / 2
    with np.errstate(divide="ignore"):
        best = minimize_scalar(
            lambda q: -log_likelihood(q, b, c, n, d), bounds=(low, high), method="bounded", options={"xatol": 1e-12}
        ).x
        best = max((low, high, float(best)), key=lambda q: log_likelihood(q, b, c, n, d))
    variance = n * (2 * best + d - d * d)
    if variance < 1e-6:
        return
    assert margins.tango_z(b, c, n, d) == pytest.approx((b - c - n * d) / math.sqrt(variance), rel=1e-3, abs=1e-4)


@given(flips())
def test_tango_limits_are_where_the_score_is_critical(counts: tuple[int, int, int]) -> None:
    b, c, n = counts
    low, high = margins.tango(b, c, n)
    assert -1 <= low <= (b - c) / n <= high <= 1
    if high < 1:
        assert margins.tango_z(b, c, n, high) == pytest.approx(-1.959964, abs=1e-4)
    mirrored = margins.tango(c, b, n)
    assert (mirrored.low, mirrored.high) == pytest.approx((-high, -low))


def trinomial(n: int, rate_b: float, rate_c: float) -> dict[tuple[int, int], float]:
    """Probability of every (b, c)."""
    found = {}
    for b in range(n + 1):
        for c in range(n + 1 - b):
            rest = n - b - c
            ways = gammaln(n + 1) - gammaln(b + 1) - gammaln(c + 1) - gammaln(rest + 1)
            logs = xlogy(b, rate_b) + xlogy(c, rate_c) + xlogy(rest, max(0.0, 1 - rate_b - rate_c))
            found[b, c] = float(np.exp(ways + logs))
    return found


def test_tango_covers_near_its_confidence_where_wald_does_not() -> None:
    n = 40
    tango = {(b, c): margins.tango(b, c, n) for b in range(n + 1) for c in range(n + 1 - b)}
    wald = {flip: margins.wald(*flip, n) for flip in tango}
    covered = []
    for rate_b, rate_c in [(0.05, 0.05), (0.1, 0.05), (0.2, 0.1), (0.02, 0.02), (0.3, 0.3), (0.5, 0.1), (0.01, 0.2)]:
        d, chance = rate_b - rate_c, trinomial(n, rate_b, rate_c)
        covered.append(
            [
                sum(p for flip, p in chance.items() if each[flip].low - 1e-9 <= d <= each[flip].high + 1e-9)
                for each in (tango, wald)
            ]
        )
    by_tango, by_wald = np.array(covered).T
    assert by_tango.mean() >= 0.95
    assert by_tango.min() >= 0.945
    assert by_wald.min() < 0.94


@pytest.mark.parametrize("margin", [0.1, 0.2])
@pytest.mark.parametrize("n", [8, 14])
def test_exact_equivalence_keeps_its_level_at_every_rate_of_flips(n: int, margin: float) -> None:
    found = {(b, c): margins.exact_equivalence(b, c, n, margin=margin) for b in range(n + 1) for c in range(n + 1 - b)}
    for rate_b in np.linspace(0, (1 - margin) / 2, 9):
        chance = trinomial(n, rate_b, rate_b + margin)
        assert sum(p for flip, p in chance.items() if found[flip].p_non_inferior <= 0.05) <= 0.05
        assert sum(p for flip, p in chance.items() if found[flip].p <= 0.05) <= 0.05


@settings(max_examples=25, deadline=None)
@given(flips(14), st.sampled_from([0.05, 0.2]))
def test_the_exact_p_is_the_worst_over_all_outcomes(counts: tuple[int, int, int], margin: float) -> None:
    b, c, n = counts
    bar = margins.tango_z(b, c, n, -margin) - 1e-9
    extreme = {(i, j) for i in range(n + 1) for j in range(n + 1 - i) if margins.tango_z(i, j, n, -margin) >= bar}
    found = margins.exact_equivalence(b, c, n, margin=margin).p_non_inferior
    tails = [
        sum(p for flip, p in trinomial(n, rate, rate + margin).items() if flip in extreme)
        for rate in np.linspace(0, (1 - margin) / 2, 40)
    ]
    assert found >= max(tails) - 1e-9
    assert found <= max(tails) + 0.02


def test_equivalence_is_not_shown_by_few_items_however_equal() -> None:
    assert margins.equivalence(0, 0, 20, margin=0.02).p > 0.05
    assert margins.exact_equivalence(0, 0, 20, margin=0.02).p > 0.05


@given(flips(40), st.floats(0.01, 0.3))
def test_equivalence_is_shown_exactly_where_the_interval_lies_within(
    counts: tuple[int, int, int], margin: float
) -> None:
    smallest = margins.smallest_margin(*counts)
    if not math.isclose(smallest, margin, abs_tol=1e-6):
        assert (margins.equivalence(*counts, margin=margin).p <= 0.05) == (smallest <= margin)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 3).flatmap(lambda k: st.lists(st.tuples(*[st.integers(0, 1)] * k), min_size=1, max_size=5)))
def test_exact_cochran_counts_every_order_of_arms_within_items(rows: list[tuple[int, ...]]) -> None:
    def spread(table: tuple[tuple[int, ...], ...]) -> int:
        return sum(sum(column) ** 2 for column in zip(*table, strict=True))

    every = [spread(table) for table in product(*(list(permutations(row)) for row in rows))]
    expected = sum(value >= spread(tuple(rows)) for value in every) / len(every)
    assert paired.cochran_q(rows).p_exact == pytest.approx(expected, rel=1e-9)


def test_arms_that_agree_on_every_item_are_no_detection() -> None:
    assert paired.cochran_q([(1, 1, 1), (0, 0, 0)]) == (0.0, 1.0, 1.0)
    assert paired.mcnemar(0, 0).exact == 1
    assert margins.tango(0, 0, 50).high == pytest.approx(1.959964**2 / (50 + 1.959964**2), rel=1e-5)


def test_too_many_tables_give_the_large_sample_p_alone() -> None:
    rng = np.random.default_rng(5)
    found = paired.cochran_q(rng.integers(0, 2, (400, 8)).tolist())
    assert found.p_exact is None
    assert 0 < found.p <= 1


def test_what_does_not_fit_is_refused() -> None:
    for call in (
        lambda: paired.mcnemar(-1, 2),
        lambda: paired.mcnemar_by_split(-1),
        lambda: paired.mcnemar_range(81, 5, 80),
        lambda: paired.cochran_q([]),
        lambda: paired.cochran_q([(1, 0), (1,)]),
        lambda: paired.cochran_q([(1, 2, 0)]),
        lambda: margins.tango(3, 3, 5),
        lambda: margins.tango_z(1, 1, 5, 1.5),
        lambda: margins.equivalence(1, 1, 5, margin=0.0),
        lambda: margins.wald_equivalence(0, 0, 5, margin=0.1),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            call()
