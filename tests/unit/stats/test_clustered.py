"""Rates over items with repeats: the item is resampled, and equal items give a bound instead of certainty."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from samework.stats.clustered import chernoff, clustered_difference, clustered_rate, item_means
from samework.stats.intervals import clopper_pearson


def test_repeats_do_not_narrow_the_interval_of_equal_items() -> None:
    once, often = clustered_rate([(0,)] * 80), clustered_rate([(0,) * 10] * 80)
    assert once == often
    assert often.method == "exact"
    assert often.interval == clopper_pearson(0, 80)
    assert clustered_rate([(1, 1)] * 24).interval == clopper_pearson(24, 24)


def test_equal_items_that_are_neither_0_nor_1_get_a_bound_and_not_certainty() -> None:
    found = clustered_rate([(1, 0)] * 80)
    assert (found.estimate, found.method) == (0.5, "chernoff")
    assert found.interval.low < 0.36
    assert found.interval.high > 0.64


def test_every_item_weighs_the_same_whatever_its_repeats() -> None:
    assert clustered_rate([(1,) * 9, (0,)]).estimate == 0.5
    assert item_means([(1, 0, 0, 0), (1,)]) == [0.25, 1.0]


def test_the_same_seed_gives_the_same_interval() -> None:
    items = [(1, 0), (1, 1), (0, 0), (1, 0), (0, 0)] * 4
    assert clustered_rate(items, n_resamples=499) == clustered_rate(items, n_resamples=499)


def test_equal_differences_get_a_bound_and_not_certainty() -> None:
    found = clustered_difference([(1, 1)] * 40, [(1, 1)] * 40)
    assert (found.estimate, found.method) == (0, "chernoff")
    assert found.interval.low == pytest.approx(-found.interval.high)
    assert found.interval.high > 0.2


@given(st.integers(1, 500))
def test_the_bound_of_all_zeros_is_the_exact_interval(n: int) -> None:
    assert chernoff(0.0, n) == pytest.approx(clopper_pearson(0, n), abs=1e-9)
    assert chernoff(1.0, n) == pytest.approx(clopper_pearson(n, n), abs=1e-9)


@pytest.mark.parametrize("n", [1, 5, 40])
def test_the_bound_covers_at_every_rate(n: int) -> None:
    k = np.arange(n + 1)
    low, high = np.array([chernoff(each / n, n) for each in k]).T
    for rate in np.linspace(0, 1, 101):
        assert (binom.pmf(k, n, rate) * ((low <= rate + 1e-12) & (rate <= high + 1e-12))).sum() >= 0.95


def test_what_is_no_outcome_is_refused() -> None:
    for items in ([], [()], [(2,)], [(-1, 0)], [(float("nan"),)]):
        with pytest.raises(ValueError, match=r"item|outcome"):
            clustered_rate(items)
    with pytest.raises(ValueError, match="same items"):
        clustered_difference([(1,)], [(1,), (0,)])
    with pytest.raises(ValueError, match="no mean"):
        chernoff(1.2, 5)
