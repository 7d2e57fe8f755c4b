"""Two or more arms over the *same* items: flips, their direction, their size, and whether a difference is excluded.

`b` items succeed under the first arm only, `c` under the second only, `n` is all items; the difference of the two
rates is (b - c) / n. Items on which the arms agree carry no direction but do carry precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from samework.stats.counts import checked_count

if TYPE_CHECKING:
    from collections.abc import Sequence


class McNemar(NamedTuple):
    """P values of `b` against `c` discordant items."""

    exact: float
    """Two-sided; never above its level."""
    exact_greater: float
    """One-sided: the first arm succeeds more often."""
    mid: float
    """Two-sided mid-p: near its level on average, may pass it; shown beside, never for a claim."""


class Split(NamedTuple):
    """Discordant items: first arm only, second arm only."""

    b: int
    c: int


class McNemarRange(NamedTuple):
    """All exact p values that two published totals allow while the joint table is unpublished."""

    low: float
    at_low: Split
    high: float
    at_high: Split


class CochranQ(NamedTuple):
    """Whether k arms over the same items share one success rate."""

    statistic: float
    p: float
    """By the chi-squared distribution with k - 1 degrees of freedom, for many discordant items."""
    p_exact: float | None
    """By permutation of arms within each item; None where there are too many tables to count."""


def mcnemar(b: int, c: int) -> McNemar:
    """Exact McNemar test of flips: given b + c discordant items, each direction has probability 1/2.

    Without discordant items nothing is detected and all p values are 1 (or 1/2, one-sided mid).

    Args:
        b: items that succeed under the first arm only.
        c: items that succeed under the second arm only.

    Raises:
        ValueError: a count below 0.

    Source: McNemar 1947, Psychometrika 12:153; mid-p: Fagerland et al. 2013, BMC Med. Res. Methodol. 13:91.

    >>> [round(p, 6) for p in mcnemar(13, 7)]
    [0.263176, 0.131588, 0.189247]
    """
    from scipy.stats import binom

    if min(b, c) < 0:
        raise ValueError("a count of items is below 0")
    n_discordant, fewer = b + c, min(b, c)
    tail = float(binom.cdf(fewer, n_discordant, 0.5))
    point = float(binom.pmf(fewer, n_discordant, 0.5))
    return McNemar(
        exact=min(1.0, 2 * tail),
        exact_greater=float(binom.sf(b - 1, n_discordant, 0.5)),
        mid=min(1.0, 2 * tail - point),
    )


def sign_test(n_plus: int, n_minus: int) -> McNemar:
    """Sign test: conditions in which a difference has one sign or the other; ties are left out beforehand.

    The same arithmetic as `mcnemar`. Conditions that share a model, a machine or items are not independent, and then
    the p value is descriptive.

    Raises:
        ValueError: a count below 0.

    >>> sign_test(8, 1).exact
    0.0390625
    """
    return mcnemar(n_plus, n_minus)


def mcnemar_by_split(n_discordant: int) -> dict[Split, float]:
    """Exact two-sided p for each way in which flips of unpublished direction may split, the most even one last.

    Raises:
        ValueError: a count below 0.

    >>> round(mcnemar_by_split(20)[Split(15, 5)], 7)
    0.0413895
    """
    if n_discordant < 0:
        raise ValueError("a count of items is below 0")
    splits = [Split(n_discordant - c, c) for c in range(n_discordant // 2 + 1)]
    return {split: mcnemar(*split).exact for split in splits}


def mcnemar_range(k_a: int, k_b: int, n: int) -> McNemarRange:
    """Range of the exact McNemar p over all joint tables with these totals: what two percentages alone allow.

    Args:
        k_a: items that succeed under the first arm.
        k_b: items that succeed under the second arm.
        n: items, the same for both.

    Raises:
        ValueError: a total outside 0..n, or n < 1.

    >>> found = mcnemar_range(65, 62, 80)
    >>> round(found.low, 6), found.at_low, round(found.high, 6), found.at_high
    (0.25, Split(b=3, c=0), 0.728332, Split(b=18, c=15))
    """
    checked_count(k_a, n)
    checked_count(k_b, n)
    overlaps = range(max(0, k_a + k_b - n), min(k_a, k_b) + 1)
    found = [(mcnemar(k_a - both, k_b - both).exact, Split(k_a - both, k_b - both)) for both in overlaps]
    (low, at_low), (high, at_high) = min(found), max(found)
    return McNemarRange(low, at_low, high, at_high)


def cochran_q(rows: Sequence[Sequence[int]]) -> CochranQ:
    """Cochran's Q for three or more arms over the same items; for two it is McNemar without correction.

    Args:
        rows: one per item, 0 or 1 per arm, all of one length.

    Raises:
        ValueError: no item, fewer than two arms, rows of unequal length, or values other than 0 and 1.

    Source: Cochran 1950, Biometrika 37:256, by `statsmodels.stats.contingency_tables.cochrans_q`; the exact p by
    convolution of the C(k, s) placements of each item's s successes.

    >>> found = cochran_q([(1, 1, 0)] * 6 + [(1, 0, 0)] * 2 + [(1, 1, 1)] * 9)
    >>> round(found.statistic, 4), round(found.p, 6), round(found.p_exact, 6)
    (13.0, 0.001503, 0.000914)
    """
    discordant = _discordant_rows(rows)
    if not discordant:
        return CochranQ(0.0, 1.0, 1.0)
    from statsmodels.stats.contingency_tables import cochrans_q

    found = cochrans_q(discordant)
    return CochranQ(float(found.statistic), float(found.pvalue), _cochran_exact(discordant))


def _discordant_rows(rows: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    width = len(rows[0]) if rows else 0
    if width < 2 or any(len(row) != width for row in rows):  # noqa: PLR2004 -- two arms are the fewest to compare
        raise ValueError("Cochran's Q needs items, at least two arms, and every arm for every item")
    if any(value not in (0, 1) for row in rows for value in row):
        raise ValueError("an outcome is neither 0 nor 1")
    return [tuple(row) for row in rows if 0 < sum(row) < width]


def _cochran_exact(rows: list[tuple[int, ...]], *, n_most_states: int = 20_000) -> float | None:
    """Probability that the sum of squares of the arms' successes is as large as seen, or larger."""
    from itertools import combinations
    from math import comb

    width = len(rows[0])
    observed = sum(sum(column) ** 2 for column in zip(*rows, strict=True))
    # The statistic is blind to the order of arms, so one sorted tuple stands for all its orders.
    states: dict[tuple[int, ...], float] = {(0,) * width: 1.0}
    for row in rows:
        placements = list(combinations(range(width), sum(row)))
        weight = 1 / comb(width, sum(row))
        reached: dict[tuple[int, ...], float] = {}
        for state, probability in states.items():
            for chosen in placements:
                sums = tuple(sorted(total + (arm in chosen) for arm, total in enumerate(state)))
                reached[sums] = reached.get(sums, 0.0) + probability * weight
        if len(reached) * len(placements) > n_most_states:
            return None
        states = reached
    return min(1.0, sum(p for sums, p in states.items() if sum(total**2 for total in sums) >= observed))
