"""Intervals and bounds: coverage counted out, edges, and what is refused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import binom
from statsmodels.stats.proportion import confint_proportions_2indep

from samework.stats import intervals
from samework.stats.counts import counts_for_percentage

if TYPE_CHECKING:
    from collections.abc import Callable


def coverage(interval: Callable[[int, int], intervals.Interval], n: int, rates: np.ndarray) -> np.ndarray:
    """Probability, at each true rate, that the interval holds it: counted out over all n + 1 outcomes."""
    k = np.arange(n + 1)
    low, high = np.array([interval(int(each), n) for each in k]).T
    return np.array([(binom.pmf(k, n, p) * ((low <= p) & (p <= high))).sum() for p in rates])


@pytest.mark.parametrize("n", [1, 5, 20, 80])
def test_the_exact_interval_covers_at_every_rate(n: int) -> None:
    assert coverage(intervals.clopper_pearson, n, np.linspace(0, 1, 401)).min() >= 0.95


@pytest.mark.parametrize("n", [5, 20, 80])
def test_each_one_sided_limit_covers_at_every_rate(n: int) -> None:
    rates = np.linspace(0, 1, 401)
    for side in (0, 1):

        def one_side(k: int, n: int, side: int = side) -> intervals.Interval:
            limit = intervals.one_sided_limits(k, n)[side]
            return intervals.Interval(limit, 1.0) if side == 0 else intervals.Interval(0.0, limit)

        assert coverage(one_side, n, rates).min() >= 0.95


@pytest.mark.parametrize("n", [20, 80])
def test_the_shown_interval_covers_on_average(n: int) -> None:
    found = coverage(intervals.wilson, n, np.linspace(0.01, 0.99, 197))
    assert found.mean() >= 0.95
    assert found.min() >= 0.91


def test_newcombe_covers_on_average_and_agrees_with_statsmodels() -> None:
    n, rates = 20, np.linspace(0.05, 0.95, 7)
    found = {(a, b): intervals.newcombe(a, n, b, n) for a in range(n + 1) for b in range(n + 1)}
    k = np.arange(n + 1)
    low = np.array([[found[a, b].low for b in k] for a in k])
    high = np.array([[found[a, b].high for b in k] for a in k])
    covers = [
        (np.outer(binom.pmf(k, n, p), binom.pmf(k, n, q)) * ((low <= p - q) & (p - q <= high))).sum()
        for p in rates
        for q in rates
    ]
    assert np.mean(covers) >= 0.95
    assert found[7, 12] == pytest.approx(confint_proportions_2indep(7, n, 12, n, method="newcomb"), rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 59, 800, 10**6])
def test_the_zero_event_bound_is_the_rate_at_which_no_event_is_as_rare_as_the_level(n: int) -> None:
    bound = intervals.zero_event_bound(n)
    assert math.exp(n * math.log1p(-bound)) == pytest.approx(0.05, rel=1e-9)
    assert bound < intervals.rule_of_three(n)


@pytest.mark.parametrize("rate", [0.5, 0.25, 0.1, 0.05, 0.01, 0.001, 1e-6])
@pytest.mark.parametrize("power", [0.5, 0.75, 0.8, 0.95, 0.99])
def test_runs_to_see_is_the_smallest_number_that_suffices(rate: float, power: float) -> None:
    n = intervals.runs_to_see(rate, power=power)
    assert -math.expm1(n * math.log1p(-rate)) >= power * (1 - 1e-12)
    assert n == 1 or -math.expm1((n - 1) * math.log1p(-rate)) < power


def test_nothing_known_gives_no_complete_case_rate_and_no_narrowing() -> None:
    assert intervals.bounds_over_unknowns(0, 0, 7) == (0.0, 1.0, None)


@pytest.mark.parametrize("function", [intervals.wilson, intervals.clopper_pearson, intervals.jeffreys])
@pytest.mark.parametrize(("k", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_what_is_no_count_is_refused(function: Callable[[int, int], object], k: int, n: int) -> None:
    with pytest.raises(ValueError, match="chances"):
        function(k, n)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.1, 95.0, math.nan])
def test_a_confidence_outside_0_and_1_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        intervals.clopper_pearson(1, 2, confidence=confidence)
    with pytest.raises(ValueError, match="confidence"):
        intervals.zero_event_bound(2, confidence=confidence)


def test_no_pairs_and_negative_pairs_bound_nothing() -> None:
    with pytest.raises(ValueError, match="no chances"):
        intervals.bounds_over_unknowns(0, 0, 0)
    with pytest.raises(ValueError, match="below 0"):
        intervals.bounds_over_unknowns(3, -1, 0)


def test_a_percentage_finer_than_the_group_has_no_count_and_a_coarser_one_several() -> None:
    assert counts_for_percentage("36.3", 80) == (29,)  # half rounded up
    assert counts_for_percentage("36.4", 80) == ()
    assert counts_for_percentage("100", 3) == (3,)
    assert len(counts_for_percentage("50", 1000)) == 11
