"""Reliability and planning against enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from samework.stats import paired, power, reliability


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_attempts_are_counted_over_all_draws(counts: tuple[int, int, int]) -> None:
    n, c, k = counts
    draws = list(combinations([1] * c + [0] * (n - c), k))
    assert reliability.pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert reliability.pass_hat_k(n, c, k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_more_attempts_than_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be estimated"):
        reliability.pass_at_k(3, 1, 4)
    with pytest.raises(ValueError, match="chances"):
        reliability.pass_hat_k(3, 4, 1)


@given(st.floats(0.02, 0.9), st.integers(2, 5), st.sampled_from([0.5, 0.8, 0.95]))
def test_items_for_the_path_test_are_the_fewest(rate: float, n_repeats: int, wanted: float) -> None:
    found = power.items_for_path_test(rate, n_repeats, power=wanted)
    needed = power.diverging_items_needed(n_repeats)
    assert found is not None
    assert needed is not None
    assert binom.sf(needed - 1, found, rate) >= wanted
    assert found == needed or binom.sf(needed - 1, found - 1, rate) < wanted


def test_one_run_per_arm_plans_no_test() -> None:
    assert power.diverging_items_needed(1) is None
    assert power.path_design(1, [0.1]).n_items == {0.1: None}
    with pytest.raises(ValueError, match="without runs"):
        power.path_factor(0)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 30), st.floats(0.05, 0.9), st.floats(0.1, 0.9))
def test_mcnemar_power_sums_over_all_flips(n: int, discordance: float, share: float) -> None:
    total = 0.0
    for m in range(n + 1):
        k = np.arange(m + 1)
        rejected = np.array([paired.mcnemar(int(b), int(m - b)).exact <= 0.05 for b in k])
        total += binom.pmf(m, n, discordance) * (binom.pmf(k, m, share) * rejected).sum()
    assert power.mcnemar_power(n, discordance=discordance, share=share) == pytest.approx(total, abs=1e-9)
