"""Intervals and bounds for rates; nothing here gives a rate without saying how little it is known."""

from __future__ import annotations

import math
from typing import NamedTuple

from samework.stats.counts import checked_count, checked_probability


class Interval(NamedTuple):
    """Two limits, low <= high."""

    low: float
    high: float


class UnknownBounds(NamedTuple):
    """A rate of difference where some pairs are unknown: all of them same, all of them different."""

    low: float
    high: float
    complete_case: float | None
    """Rate among the known pairs; None where nothing is known. To be shown beside the bounds, never alone."""


def wilson(k: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Wilson score interval for a rate: for showing; its coverage is nominal on average, not at every rate.

    Args:
        k: items with the event.
        n: items, independent of each other.
        confidence: two-sided, in (0, 1).

    Raises:
        ValueError: not k events among n >= 1 chances, or confidence outside (0, 1).

    Source: Wilson 1927, J. Am. Stat. Assoc. 22:209, by `scipy.stats.binomtest`.

    >>> [round(limit, 6) for limit in wilson(166, 200)]
    [0.771841, 0.875721]
    """
    return _scipy_interval(k, n, confidence, "wilson")


def clopper_pearson(k: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Exact interval for a rate: for claims; covers at least `confidence` whatever the rate.

    Args:
        k: items with the event.
        n: items, independent of each other.
        confidence: two-sided, in (0, 1).

    Raises:
        ValueError: not k events among n >= 1 chances, or confidence outside (0, 1).

    Source: Clopper and Pearson 1934, Biometrika 26:404, by `scipy.stats.binomtest`.

    >>> [round(limit, 6) for limit in clopper_pearson(166, 200)]
    [0.770628, 0.879304]
    """
    return _scipy_interval(k, n, confidence, "exact")


def jeffreys(k: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Equal-tailed interval of the Jeffreys posterior Beta(k + 1/2, n - k + 1/2); for comparison with others' numbers.

    At k = 0 and k = n it excludes 0 and 1, which were observed: no claim rests on it.

    Raises:
        ValueError: not k events among n >= 1 chances, or confidence outside (0, 1).

    Source: Brown, Cai and DasGupta 2001, Stat. Sci. 16:101.

    >>> [round(limit, 6) for limit in jeffreys(166, 200)]
    [0.77339, 0.877142]
    """
    from scipy.stats import beta

    checked_count(k, n)
    checked_probability(confidence, "confidence")
    tail = (1 - confidence) / 2
    low, high = beta.ppf([tail, 1 - tail], k + 0.5, n - k + 0.5)
    return Interval(float(low), float(high))


def one_sided_limits(k: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Exact lower and upper limits for a rate, each with the whole `confidence` on its own side.

    One of the two may be used, chosen beforehand; as a pair they hold at 2 x confidence - 1 only.

    Raises:
        ValueError: not k events among n >= 1 chances, or confidence not in (1/2, 1).

    Source: Clopper-Pearson, one side at a time.

    >>> [round(limit, 6) for limit in one_sided_limits(43, 43)]
    [0.932703, 1.0]
    """
    return clopper_pearson(k, n, confidence=2 * confidence - 1)


def zero_event_bound(n: int, *, confidence: float = 0.95) -> float:
    """Upper bound on a rate after `n` runs without one event.

    Args:
        n: independent runs, at least 1; repeats of one item are not independent runs of items.
        confidence: one-sided, in (0, 1).

    Returns:
        A probability in (0, 1): 1 - (1 - confidence)^(1/n).

    Raises:
        ValueError: n < 1; no runs bound nothing.

    Source: exact binomial (Clopper-Pearson), one side.

    >>> round(zero_event_bound(800), 8)
    0.00373766
    """
    checked_count(0, n)
    checked_probability(confidence, "confidence")
    return -math.expm1(math.log1p(-confidence) / n)


def rule_of_three(n: int) -> float:
    """The gloss 3/n for `zero_event_bound`; above it for every n, and above 1 for n < 3.

    Raises:
        ValueError: n < 1.

    Source: Hanley and Lippman-Hand 1983, JAMA 249:1743.

    >>> rule_of_three(800)
    0.00375
    """
    checked_count(0, n)
    return 3 / n


def runs_to_see(rate: float, *, power: float = 0.95) -> int:
    """Independent runs after which an event of this rate has been seen at least once with this probability.

    Args:
        rate: of the event per run, in (0, 1).
        power: probability to see it, in (0, 1).

    Returns:
        The smallest n with 1 - (1 - rate)^n >= power.

    Raises:
        ValueError: rate or power outside (0, 1).

    >>> [runs_to_see(rate) for rate in (0.1, 0.05, 0.01, 0.001)]
    [29, 59, 299, 2995]
    """
    checked_probability(rate, "rate")
    checked_probability(power, "power")
    needed = math.log1p(-power) / math.log1p(-rate)
    whole = round(needed)
    # A quotient such as 2.0000000000000004 stands for 2.
    return max(1, whole if math.isclose(needed, whole, rel_tol=1e-12) else math.ceil(needed))


def bounds_over_unknowns(n_same: int, n_different: int, n_unknown: int) -> UnknownBounds:
    """Rate of difference with the unknown pairs counted as all same and as all different.

    Nothing is assumed about why pairs are unknown, so the bounds are not narrowed by more of them.

    Raises:
        ValueError: a count below 0, or no pairs at all.

    Source: worst-case bounds, Manski 1989, J. Hum. Resour. 24:343.

    >>> [round(rate, 6) for rate in bounds_over_unknowns(60, 25, 15)]
    [0.25, 0.4, 0.294118]
    """
    if min(n_same, n_different, n_unknown) < 0:
        raise ValueError("a count of pairs is below 0")
    n_known = n_same + n_different
    n_pairs = n_known + n_unknown
    checked_count(n_different, n_pairs)
    complete_case = n_different / n_known if n_known else None
    return UnknownBounds(n_different / n_pairs, (n_different + n_unknown) / n_pairs, complete_case)


def newcombe(k_a: int, n_a: int, k_b: int, n_b: int, *, confidence: float = 0.95) -> Interval:
    """Interval for the difference of two rates from *different* items: rate a minus rate b.

    Not for the same items under two arms: see `samework.stats.paired.tango`.

    Args:
        k_a: items of group a with the event.
        n_a: items of group a.
        k_b: items of group b with the event.
        n_b: items of group b.
        confidence: two-sided, in (0, 1).

    Raises:
        ValueError: counts that are none, or confidence outside (0, 1).

    Source: Newcombe 1998, Stat. Med. 17:873, method 10: the Wilson limits of both, squared and added.

    >>> [round(limit, 6) for limit in newcombe(31, 80, 1, 80)]
    [0.261544, 0.485046]
    """
    a, b = wilson(k_a, n_a, confidence=confidence), wilson(k_b, n_b, confidence=confidence)
    rate_a, rate_b = k_a / n_a, k_b / n_b
    down = math.hypot(rate_a - a.low, b.high - rate_b)
    up = math.hypot(a.high - rate_a, rate_b - b.low)
    return Interval(max(-1.0, rate_a - rate_b - down), min(1.0, rate_a - rate_b + up))


def _scipy_interval(k: int, n: int, confidence: float, method: str) -> Interval:
    from scipy.stats import binomtest

    checked_count(k, n)
    checked_probability(confidence, "confidence")
    limits = binomtest(k, n).proportion_ci(confidence_level=confidence, method=method)
    return Interval(float(limits.low), float(limits.high))
