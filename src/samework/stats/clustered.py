"""Rates from several runs per item: the item is resampled, never the run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from samework.stats.counts import checked_probability
from samework.stats.intervals import Interval, clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Sequence

Method = Literal["bootstrap", "exact", "chernoff"]


class ClusteredRate(NamedTuple):
    """A mean over items with its interval."""

    estimate: float
    interval: Interval
    n_items: int
    method: Method
    """bootstrap: BCa over items, approximate. exact: Clopper-Pearson over items, all 0 or all 1. chernoff: a bound for
    any distribution on the range, where all items are equal and a bootstrap would show certainty."""


def item_means(items: Sequence[Sequence[float]]) -> list[float]:
    """Mean of each item's runs: the numbers that statistics over items are made of.

    Raises:
        ValueError: an item without runs, or an outcome outside 0..1.

    >>> item_means([(1, 0), (1, 1, 1), (0,)])
    [0.5, 1.0, 0.0]
    """
    if any(not runs for runs in items):
        raise ValueError("an item has no runs")
    if any(not 0 <= outcome <= 1 for runs in items for outcome in runs):
        raise ValueError("an outcome is not between 0 and 1")
    return [math.fsum(runs) / len(runs) for runs in items]


def clustered_rate(
    items: Sequence[Sequence[float]], *, confidence: float = 0.95, n_resamples: int = 9999, seed: int = 0
) -> ClusteredRate:
    """Mean over items of each item's mean over runs, every item weighing the same.

    Args:
        items: per item, the outcomes of its runs, 0..1.
        confidence: two-sided, in (0, 1).
        n_resamples: of the bootstrap.
        seed: of the bootstrap; the same one gives the same interval.

    Raises:
        ValueError: no items, an item without runs, or outcomes outside 0..1.

    Source: Efron 1987 (BCa), by `scipy.stats.bootstrap`.

    >>> found = clustered_rate([(0,) * 10] * 80)
    >>> found.method, round(found.interval.high, 6)
    ('exact', 0.045064)
    """
    means = item_means(items)
    checked_probability(confidence, "confidence")
    if means and set(means) in ({0.0}, {1.0}):
        limits = clopper_pearson(round(sum(means)), len(means), confidence=confidence)
        return ClusteredRate(means[0], limits, len(means), "exact")
    return _mean_over_items(means, (0.0, 1.0), confidence, n_resamples, seed)


def clustered_difference(
    items_a: Sequence[Sequence[float]],
    items_b: Sequence[Sequence[float]],
    *,
    confidence: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> ClusteredRate:
    """Mean over items of the difference of two arms' means, both arms over the same items in the same order.

    Raises:
        ValueError: no items, unequal numbers of them, an item without runs, or outcomes outside 0..1.

    >>> found = clustered_difference([(1, 1), (1, 0), (0, 0)] * 10, [(1, 0), (1, 0), (0, 0)] * 10)
    >>> round(found.estimate, 6), found.method
    (0.166667, 'bootstrap')
    """
    means_a, means_b = item_means(items_a), item_means(items_b)
    if len(means_a) != len(means_b):
        raise ValueError("the arms do not have the same items")
    checked_probability(confidence, "confidence")
    differences = [a - b for a, b in zip(means_a, means_b, strict=True)]
    return _mean_over_items(differences, (-1.0, 1.0), confidence, n_resamples, seed)


def chernoff(mean: float, n: int, *, confidence: float = 0.95) -> Interval:
    """Interval for the expectation of `n` independent numbers in 0..1, valid for any distribution on that range.

    All p with n KL(mean, p) <= ln(2 / (1 - confidence)). For a mean of 0 or 1 it is Clopper-Pearson's.

    Raises:
        ValueError: mean outside 0..1, n < 1, or confidence outside (0, 1).

    Source: Hoeffding 1963, J. Am. Stat. Assoc. 58:13, inequality (2.1).

    >>> [round(limit, 6) for limit in chernoff(0.5, 80)]
    [0.351594, 0.648406]
    """
    from scipy.optimize import brentq
    from scipy.special import rel_entr

    if not 0 <= mean <= 1 or n < 1:
        raise ValueError(f"no mean of {n} numbers in 0..1 is {mean}")
    checked_probability(confidence, "confidence")
    reach = math.log(2 / (1 - confidence)) / n

    def excess(p: float) -> float:
        return float(rel_entr(mean, p) + rel_entr(1 - mean, 1 - p)) - reach

    edge = 1e-300
    low = float(brentq(excess, edge, mean, xtol=1e-14)) if excess(edge) > 0 and mean > 0 else 0.0
    top = math.nextafter(1.0, 0.0)
    high = float(brentq(excess, mean, top, xtol=1e-14)) if mean < 1 and excess(top) > 0 else 1.0
    return Interval(low, high)


def _mean_over_items(
    values: list[float], span: tuple[float, float], confidence: float, n_resamples: int, seed: int
) -> ClusteredRate:
    if not values:
        raise ValueError("no items")
    estimate = math.fsum(values) / len(values)
    if min(values) < max(values):
        limits = _bca(values, confidence, n_resamples, seed)
        if limits is not None:
            return ClusteredRate(estimate, limits, len(values), "bootstrap")
    low, width = span[0], span[1] - span[0]
    bound = chernoff(min(1.0, max(0.0, (estimate - low) / width)), len(values), confidence=confidence)
    return ClusteredRate(estimate, Interval(*(low + width * limit for limit in bound)), len(values), "chernoff")


def _bca(values: list[float], confidence: float, n_resamples: int, seed: int) -> Interval | None:
    """Bias-corrected and accelerated limits; None where the resamples do not define them."""
    from scipy.stats import bootstrap

    with np.errstate(divide="ignore", invalid="ignore"):
        found = bootstrap(
            (np.asarray(values),),
            np.mean,
            confidence_level=confidence,
            n_resamples=n_resamples,
            batch=max(1, 2_000_000 // len(values)),
            method="BCa",
            rng=np.random.default_rng(seed),
        ).confidence_interval
    low, high = float(found.low), float(found.high)
    return Interval(low, high) if math.isfinite(low) and math.isfinite(high) else None
