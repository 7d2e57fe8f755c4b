"""Exact tests on independent items against enumeration, and p values of families."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.multitest import multipletests

from samework.stats import exact, families

cells = st.integers(0, 4)
tables = st.tuples(st.tuples(cells, cells), st.tuples(cells, cells))


def ways(table: exact.Table, a: int) -> int:
    """Number of ways in which `a` of the events fall in the first group."""
    (a0, b), (c, d) = table
    events = a0 + c
    return comb(a0 + b, a) * comb(c + d, events - a) if 0 <= events - a <= c + d else 0


@settings(deadline=None)
@given(st.lists(tables, min_size=1, max_size=3))
def test_exact_strata_are_the_count_of_all_tables_with_these_margins(strata: list[exact.Table]) -> None:
    totals: dict[int, int] = {}
    for chosen in product(*(range(table[0][0] + table[1][0] + 1) for table in strata)):
        n_ways = prod(ways(table, a) for table, a in zip(strata, chosen, strict=True))
        totals[sum(chosen)] = totals.get(sum(chosen), 0) + n_ways
    whole, observed = sum(totals.values()), sum(table[0][0] for table in strata)
    found = exact.stratified_exact(strata)
    assert found.n_events_a == observed
    for value, hit in (
        (found.upper, [n for a, n in totals.items() if a >= observed]),
        (found.lower, [n for a, n in totals.items() if a <= observed]),
        (found.two_sided, [n for n in totals.values() if n <= totals[observed]]),
    ):
        assert value == pytest.approx(float(Fraction(sum(hit), whole)), rel=1e-9)


@given(tables.filter(lambda t: min(sum(t[0]), sum(t[1])) > 0))
def test_one_stratum_is_fishers_test(table: exact.Table) -> None:
    found = exact.stratified_exact([table])
    assert found.two_sided == pytest.approx(exact.fisher(table), rel=1e-9)
    assert found.upper == pytest.approx(exact.fisher(table, alternative="greater"), rel=1e-9)


def test_fisher_keeps_its_level_whatever_the_common_rate() -> None:
    n = 15
    p = np.array([[exact.fisher(((a, n - a), (b, n - b))) for b in range(n + 1)] for a in range(n + 1)])
    for rate in np.linspace(0.02, 0.98, 25):
        chance = binom.pmf(np.arange(n + 1), n, rate)
        assert (np.outer(chance, chance) * (p <= 0.05)).sum() <= 0.05


def test_barnard_holds_the_group_sizes_fixed() -> None:
    n = 80
    a, b = np.arange(n + 1)[:, None], np.arange(n + 1)[None, :]
    pooled = (a + b) / (2 * n)
    variance = pooled * (1 - pooled) * 2 / n
    score = np.divide(np.abs(a - b) / n, np.sqrt(variance), out=np.zeros((n + 1, n + 1)), where=variance > 0)
    extreme = score >= score[29, 32] - 1e-12
    rates = np.linspace(0.001, 0.999, 999)
    worst = max((binom.pmf(a, n, p) * binom.pmf(b, n, p) * extreme).sum() for p in rates)
    assert exact.barnard(((29, 51), (32, 48))) == pytest.approx(worst, rel=1e-3)


def test_more_strata_than_one_could_enumerate_are_counted_within_a_second() -> None:
    rng = np.random.default_rng(2)
    strata = [((int(a), int(5 - a)), (int(b), int(5 - b))) for a, b in rng.integers(0, 6, (1000, 2))]
    found = exact.stratified_exact(strata)
    plain = exact.cochran_mantel_haenszel(strata)
    assert found.two_sided == pytest.approx(plain.p_corrected, abs=0.005)


def test_a_p_value_is_never_zero() -> None:
    assert exact.stratified_exact([((40, 0), (0, 40))] * 60).two_sided == 1e-300


def test_strata_that_leave_nothing_open_are_refused() -> None:
    with pytest.raises(ValueError, match="open"):
        exact.cochran_mantel_haenszel([((0, 5), (0, 5))])
    with pytest.raises(ValueError, match="no stratum"):
        exact.stratified_exact([])
    with pytest.raises(ValueError, match="below 0"):
        exact.stratified_exact([((-1, 5), (0, 5))])
    with pytest.raises(ValueError, match="chances"):
        exact.fisher(((0, 0), (1, 2)))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_and_bh_are_their_step_definitions(p_values: list[float]) -> None:
    n = len(p_values)
    order = sorted(range(n), key=lambda i: p_values[i])
    down = families.holm(p_values)
    up = families.benjamini_hochberg(p_values)
    for place, i in enumerate(order):
        holm = max(min(1.0, (n - earlier) * p_values[order[earlier]]) for earlier in range(place + 1))
        bh = min(min(1.0, n * p_values[order[later]] / (later + 1)) for later in range(place, n))
        assert down[i] == pytest.approx(holm, rel=1e-9, abs=1e-300)
        assert up[i] == pytest.approx(bh, rel=1e-9, abs=1e-300)


def test_families_agree_with_statsmodels() -> None:
    p_values = np.random.default_rng(1).random(20) ** 4
    assert families.holm(p_values.tolist()) == pytest.approx(multipletests(p_values, method="holm")[1])
    assert families.benjamini_hochberg(p_values.tolist()) == pytest.approx(multipletests(p_values, method="fdr_bh")[1])


def test_what_is_no_probability_is_refused_by_families() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        families.holm([0.5, 1.5])
