"""How many items and repeats a question needs, before any is run."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from samework.stats.counts import checked_probability
from samework.stats.intervals import runs_to_see

if TYPE_CHECKING:
    from collections.abc import Sequence


class PathDesign(NamedTuple):
    """What `n_repeats` runs per arm and item can show about paths."""

    n_repeats: int
    factor: float
    """By which one item whose arms differ cleanly multiplies the exact p."""
    n_diverging_needed: int | None
    """Such items needed for the level; None: no number of them is enough, there is no test."""
    n_items: dict[float, int | None]
    """Items to run per rate of divergence."""


def path_factor(n_repeats: int) -> float:
    """Factor 2 / C(2r, r) by which an item with r equal runs per arm, unlike between arms, multiplies the exact p.

    Both labelings that keep the arms apart are as extreme, of C(2r, r). One run per arm gives 1: no test.

    Raises:
        ValueError: fewer than one repeat.

    >>> [round(path_factor(r), 6) for r in (1, 2, 3)]
    [1.0, 0.333333, 0.1]
    """
    if n_repeats < 1:
        raise ValueError("an arm without runs")
    return 2 / comb(2 * n_repeats, n_repeats)


def diverging_items_needed(n_repeats: int, *, level: float = 0.05) -> int | None:
    """Cleanly diverging items after which the path test can reach the level; None with one run per arm.

    Raises:
        ValueError: fewer than one repeat, or level outside (0, 1).

    >>> [diverging_items_needed(r) for r in (1, 2, 3, 4)]
    [None, 3, 2, 1]
    """
    checked_probability(level, "level")
    if n_repeats == 1:
        return None
    factor, needed, p = path_factor(n_repeats), 0, 1.0
    while p > level:
        needed, p = needed + 1, p * factor
    return needed


def items_for_path_test(rate: float, n_repeats: int, *, power: float = 0.8, level: float = 0.05) -> int | None:
    """Items after which the path test detects a rate of clean divergence with this power; None with one run per arm.

    Args:
        rate: of items whose arms take different paths, each arm repeating itself, in (0, 1).
        n_repeats: runs per arm and item.
        power: probability to detect, in (0, 1).
        level: of the test, in (0, 1).

    Returns:
        The smallest n at which Binomial(n, rate) reaches the diverging items needed with probability >= power.

    Raises:
        ValueError: a probability outside (0, 1), or fewer than one repeat.

    >>> [items_for_path_test(0.05, r) for r in (2, 3)]
    [85, 59]
    """
    from scipy.stats import binom

    checked_probability(rate, "rate")
    checked_probability(power, "power")
    needed = diverging_items_needed(n_repeats, level=level)
    if needed is None:
        return None
    low, high = needed - 1, needed
    while binom.sf(needed - 1, high, rate) < power:
        low, high = high, 2 * high
    while high - low > 1:  # the probability rises with n: low is too few, high is enough
        middle = (low + high) // 2
        low, high = (low, middle) if binom.sf(needed - 1, middle, rate) >= power else (middle, high)
    return high


def mcnemar_power(n: int, *, discordance: float, share: float, level: float = 0.05) -> float:
    """Probability that the exact McNemar test rejects.

    Args:
        n: items, each under both arms.
        discordance: rate of items on which the arms differ, in (0, 1).
        share: of those, the part that favours the first arm, in (0, 1).
        level: of the two-sided exact test, in (0, 1).

    Raises:
        ValueError: n < 1 or a probability outside (0, 1).

    Source: the rejection probability given the discordant count, averaged over Binomial(n, discordance).

    >>> [round(mcnemar_power(n, discordance=20 / 1300, share=0.65), 6) for n in (1300, 6500)]
    [0.199728, 0.834243]
    """
    from scipy.stats import binom

    if n < 1:
        raise ValueError(f"no items: n is {n}")
    for value, name in ((discordance, "discordance"), (share, "share"), (level, "level")):
        checked_probability(value, name)
    n_discordant = np.arange(int(binom.ppf(1e-13, n, discordance)), int(binom.isf(1e-13, n, discordance)) + 1)
    # The largest count of the rarer direction that is still rejected: one below the level/2 quantile, or at it.
    largest = binom.ppf(level / 2, n_discordant, 0.5)
    largest = np.where(2 * binom.cdf(largest, n_discordant, 0.5) <= level, largest, largest - 1)
    rejected = binom.cdf(largest, n_discordant, share) + binom.cdf(largest, n_discordant, 1 - share)
    return float((binom.pmf(n_discordant, n, discordance) * rejected).sum())


def repeats_table(rates: Sequence[float], powers: Sequence[float]) -> dict[float, dict[float, int]]:
    """Runs needed to see an event at least once: rate -> probability to see it -> runs.

    Raises:
        ValueError: a rate or power outside (0, 1).

    >>> repeats_table([0.05], [0.8, 0.95])
    {0.05: {0.8: 32, 0.95: 59}}
    """
    return {rate: {power: runs_to_see(rate, power=power) for power in powers} for rate in rates}


def path_design(n_repeats: int, rates: Sequence[float], *, power: float = 0.8, level: float = 0.05) -> PathDesign:
    """Everything that a number of repeats per arm decides about the path test.

    Raises:
        ValueError: a probability outside (0, 1), or fewer than one repeat.

    >>> path_design(2, [0.1]).n_items
    {0.1: 42}
    """
    return PathDesign(
        n_repeats,
        path_factor(n_repeats),
        diverging_items_needed(n_repeats, level=level),
        {rate: items_for_path_test(rate, n_repeats, power=power, level=level) for rate in rates},
    )
