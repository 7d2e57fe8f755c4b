"""How large a paired difference may be: Tango's score interval, and tests that a difference is *within* a margin.

A difference that is "not detected" is not excluded. Only a test at a margin that was declared before the data says
that a difference is small.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from samework.stats.counts import checked_count, checked_probability
from samework.stats.intervals import Interval


class Equivalence(NamedTuple):
    """Two one-sided tests at +-margin."""

    p_non_inferior: float
    """Against: the first arm is worse by the margin or more."""
    p_non_superior: float
    """Against: the first arm is better by the margin or more."""
    p: float
    """The larger of both; small: the difference lies within the margin."""


def tango_z(b: int, c: int, n: int, difference: float) -> float:
    """Score statistic of the paired difference (b - c) / n against a hypothesised one; falls as that one rises.

    Args:
        b: items that succeed under the first arm only.
        c: items that succeed under the second arm only.
        n: all items.
        difference: hypothesised difference of rates, in -1..1.

    Returns:
        (b - c - n d) / sqrt(n (2 q + d (1 - d))), q the most likely rate of c under d; infinite where d is impossible.

    Raises:
        ValueError: counts that do not fit, or a difference outside -1..1.

    Source: Tango 1998, Stat. Med. 17:891.

    >>> round(tango_z(13, 7, 1300, -0.01), 5)
    3.56643
    """
    _check_flips(b, c, n)
    if not -1 <= difference <= 1:
        raise ValueError(f"a difference of rates is not {difference}")
    # The larger root of 2n q^2 + linear q - c d (1 - d) = 0, without the cancellation of the schoolbook formula.
    linear = (2 * n - b + c) * difference - b - c
    constant = -c * difference * (1 - difference)
    root = math.sqrt(max(0.0, linear * linear - 8 * n * constant))
    q = (root - linear) / (4 * n) if linear <= 0 else -2 * constant / (root + linear)
    gap = b - c - n * difference
    variance = n * (2 * q + difference * (1 - difference))
    if variance > 1e-14 * n:  # below is what rounding leaves of zero
        return gap / math.sqrt(variance)
    return 0.0 if abs(gap) < 1e-9 * n else math.copysign(math.inf, gap)


def tango(b: int, c: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Score interval for the paired difference (b - c) / n: all differences that the data do not reject.

    Args:
        b: items that succeed under the first arm only.
        c: items that succeed under the second arm only.
        n: all items, at least 1.
        confidence: two-sided, in (0, 1).

    Raises:
        ValueError: counts that do not fit, or confidence outside (0, 1).

    Source: Tango 1998, Stat. Med. 17:891; limits by `scipy.optimize.brentq`.

    >>> [round(limit, 7) for limit in tango(13, 7, 1300)]
    [-0.0023367, 0.0122787]
    """
    _check_flips(b, c, n)
    checked_probability(confidence, "confidence")
    # The lower limit of (b, c) is the upper one of (c, b), mirrored.
    return Interval(-_tango_upper(c, b, n, confidence), _tango_upper(b, c, n, confidence))


def _tango_upper(b: int, c: int, n: int, confidence: float) -> float:
    from scipy.optimize import brentq
    from scipy.stats import norm

    critical = float(norm.isf((1 - confidence) / 2))
    observed, most = (b - c) / n, 1 - 1e-12
    if observed >= most or tango_z(b, c, n, most) > -critical:
        return 1.0
    return float(brentq(lambda d: tango_z(b, c, n, d) + critical, observed, most, xtol=1e-14))


def equivalence(b: int, c: int, n: int, *, margin: float) -> Equivalence:
    """Whether a paired difference lies within a margin that was declared beforehand (TOST by Tango's score).

    `p_non_inferior` alone answers "no penalty for the first arm"; `p` answers "no difference that matters".

    Args:
        b: items that succeed under the first arm only.
        c: items that succeed under the second arm only.
        n: all items.
        margin: largest difference of rates that does not matter, in (0, 1).

    Raises:
        ValueError: counts that do not fit, or margin outside (0, 1).

    Source: Schuirmann 1987 (two one-sided tests); Tango 1998 (score at the margin).

    >>> found = equivalence(13, 7, 1300, margin=0.01)
    >>> round(found.p_non_inferior, 9), round(found.p, 7)
    (0.000180942, 0.0750085)
    """
    from scipy.stats import norm

    checked_probability(margin, "margin")
    lower = float(norm.sf(tango_z(b, c, n, -margin)))
    upper = float(norm.cdf(tango_z(b, c, n, margin)))
    return Equivalence(lower, upper, max(lower, upper))


def exact_equivalence(b: int, c: int, n: int, *, margin: float) -> Equivalence:
    """As `equivalence`, with p values that do not pass their level: for claims, and for few items.

    The score orders the outcomes; the p value is the probability of one as extreme, at the worst rate of flips that
    the margin leaves open. With 40 items the score test alone rejects up to 7 % at a level of 5 %.

    Args:
        b: items that succeed under the first arm only.
        c: items that succeed under the second arm only.
        n: all items; time grows with n, about a second at 10,000.
        margin: largest difference of rates that does not matter, in (0, 1).

    Raises:
        ValueError: counts that do not fit, or margin outside (0, 1).

    Source: Hsueh, Liu and Chen 2001, Biometrics 57:478; the worst rate by search on a grid, then refined.

    >>> found = exact_equivalence(13, 7, 1300, margin=0.01)
    >>> round(found.p_non_inferior, 6), round(found.p, 4)
    (0.000191, 0.0759)
    """
    _check_flips(b, c, n)
    checked_probability(margin, "margin")
    lower, upper = _worst_tail(b, c, n, margin), _worst_tail(c, b, n, margin)
    return Equivalence(lower, upper, max(lower, upper))


def _worst_tail(b: int, c: int, n: int, margin: float) -> float:
    """Largest probability, over the rates with rate c - rate b = margin, of a score at least as large as this one."""
    from scipy.optimize import minimize_scalar
    from scipy.stats import binom

    observed = tango_z(b, c, n, -margin) - 1e-9
    most_c = next(k for k in range(n, -1, -1) if tango_z(n - k, k, n, -margin) >= observed)
    # The score rises with b and falls with c, so the fewest b that are as extreme never fall as c rises.
    fewest, at = [], 0
    for k in range(most_c + 1):
        while tango_z(at, k, n, -margin) < observed:
            at += 1
        fewest.append(at)
    counts, needed = np.arange(most_c + 1), np.array(fewest) - 1

    def tail(rate_b: float) -> float:
        rate_c = rate_b + margin
        given = binom.sf(needed, n - counts, min(1.0, rate_b / (1 - rate_c)))
        return float((binom.pmf(counts, n, rate_c) * given).sum())

    # Squared, so that the grid is dense where flips are rare.
    grid = (1 - margin) / 2 * np.linspace(0, 1, 129) ** 2
    tails = [tail(rate) for rate in grid]
    best = int(np.argmax(tails))
    around = (grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)])
    refined = minimize_scalar(lambda rate: -tail(rate), bounds=around, method="bounded", options={"xatol": 1e-10})
    return min(1.0, max(tails[best], -float(refined.fun)))


def smallest_margin(b: int, c: int, n: int, *, level: float = 0.05) -> float:
    """Smallest margin at which equivalence would be shown: for planning the next experiment, not for this one.

    Raises:
        ValueError: counts that do not fit, or level not in (0, 1/2).

    >>> round(smallest_margin(13, 7, 1300), 7)
    0.0108728
    """
    limits = tango(b, c, n, confidence=1 - 2 * level)
    return max(abs(limits.low), abs(limits.high))


def wald_se(b: int, c: int, n: int) -> float:
    """Standard error of (b - c) / n by the Wald formula: zero where there is one-sided certainty or nothing to see.

    Raises:
        ValueError: counts that do not fit.

    >>> round(wald_se(13, 7, 1300), 8)
    0.00343772
    """
    _check_flips(b, c, n)
    return math.sqrt(max(0.0, b + c - (b - c) ** 2 / n)) / n


def wald(b: int, c: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Wald interval for (b - c) / n: only to set beside published ones; with few flips it covers too little.

    Raises:
        ValueError: counts that do not fit, or confidence outside (0, 1).

    >>> [round(limit, 7) for limit in wald(13, 7, 1300)]
    [-0.0021224, 0.0113532]
    """
    from scipy.stats import norm

    checked_probability(confidence, "confidence")
    reach = float(norm.isf((1 - confidence) / 2)) * wald_se(b, c, n)
    return Interval((b - c) / n - reach, (b - c) / n + reach)


def wald_equivalence(b: int, c: int, n: int, *, margin: float) -> Equivalence:
    """TOST by the Wald formula: only to set beside published ones; with few flips its p values are too small.

    Raises:
        ValueError: counts that do not fit, margin outside (0, 1), or a standard error of zero, which tests nothing.

    >>> round(wald_equivalence(13, 7, 1300, margin=0.01).p, 7)
    0.0586354
    """
    from scipy.stats import norm

    checked_probability(margin, "margin")
    se, difference = wald_se(b, c, n), (b - c) / n
    if se == 0:
        raise ValueError("the Wald standard error is 0, which tests nothing")
    lower = float(norm.sf((difference + margin) / se))
    upper = float(norm.cdf((difference - margin) / se))
    return Equivalence(lower, upper, max(lower, upper))


def _check_flips(b: int, c: int, n: int) -> None:
    if min(b, c) < 0:
        raise ValueError("a count of items is below 0")
    checked_count(b + c, n)
