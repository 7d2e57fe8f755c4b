"""Success of the same items under two arms: which way it flips, by how much, and whether that is within a margin.

Where each item's runs agree in each arm and are as many, items are compared as single outcomes (McNemar, Tango, exact
equivalence). Elsewhere per-item means are: tested by swapping the arms within items, or, where an item has unlike
numbers of runs and a swap would not be even, by dealing its runs to the arms anew.
"""

from __future__ import annotations

from math import gcd, lcm
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from samework.model.experiment import Flips, Limits, MarginResult, SeveralArms
from samework.stats.clustered import clustered_difference
from samework.stats.exact import stratified_exact
from samework.stats.margins import equivalence, exact_equivalence, tango
from samework.stats.paired import cochran_q, mcnemar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.experiment.success import Tally

LEVEL: Final = 0.05
_MOST_EXACT_ITEMS: Final = 10_000
_N_RESAMPLES: Final = 9_999
_MOST_STEPS: Final = 500_000_000
_NO_DIFFERENCE: Final = 1e-12
TalliesByTask = dict[str, dict[str, "Tally"]]


def flips(tallies: TalliesByTask, a: str, b: str, *, margin: float | None = None) -> Flips:
    """Compare the success of two arms over the items that both ran.

    Args:
        tallies: task -> arm -> runs by success.
        a: first arm; the difference is its rate minus that of b.
        b: second arm.
        margin: largest difference of rates that does not matter, in (0, 1), declared before the runs were seen.
    """
    common = [(found[a], found[b]) for found in tallies.values() if a in found and b in found]
    known = [(x, y) for x, y in common if x.n_known and y.n_known]
    means = [(x.succeeded / x.n_known, y.succeeded / y.n_known) for x, y in known]
    # Unlike numbers of repeats would make one direction of a flip likelier than the other without any difference.
    is_even = all(x.n_known == y.n_known for x, y in known)
    is_means = not is_even or any(value not in (0, 1) for pair in means for value in pair)
    made = Flips(
        a,
        b,
        n_items=len(known),
        both=sum(x == y == 1 for x, y in means),
        only_a=sum(x - y > _NO_DIFFERENCE for x, y in means),
        only_b=sum(y - x > _NO_DIFFERENCE for x, y in means),
        neither=sum(x == y == 0 for x, y in means),
        n_unknown=len(common) - len(known),
        is_means=is_means,
        bounds=_bounds(common),
    )
    if not known:
        return msgspec.structs.replace(made, reason="no item has a run of known success in each arm")
    return _by_means(made, known, margin) if is_means else _by_outcomes(made, margin)


def _bounds(common: Sequence[tuple[Tally, Tally]]) -> Limits | None:
    """Least and greatest difference of the rates over all items, whatever the unknown runs did."""
    if not common:
        return None
    lows = [_least(x) - _most(y) for x, y in common]
    highs = [_most(x) - _least(y) for x, y in common]
    return (sum(lows) / len(common), sum(highs) / len(common))


def _least(tally: Tally) -> float:
    return tally.succeeded / (tally.n_known + tally.unknown)


def _most(tally: Tally) -> float:
    return (tally.succeeded + tally.unknown) / (tally.n_known + tally.unknown)


def _by_outcomes(made: Flips, margin: float | None) -> Flips:
    b, c, n = made.only_a, made.only_b, made.n_items
    test, limits = mcnemar(b, c), tango(b, c, n)
    return msgspec.structs.replace(
        made,
        difference=(b - c) / n,
        interval=(limits.low, limits.high),
        interval_method="Tango",
        test="McNemar, exact",
        p=test.exact,
        p_mid=test.mid,
        margin=_margin_of_outcomes(b, c, n, margin) if margin is not None else None,
    )


def _by_means(made: Flips, known: Sequence[tuple[Tally, Tally]], margin: float | None) -> Flips:
    items = [x.outcomes() for x, _ in known], [y.outcomes() for _, y in known]
    found = clustered_difference(*items, n_resamples=_N_RESAMPLES)
    if all(x.n_known == y.n_known for x, y in known):
        test, p = "arms swapped within items", swapped_p([(x.succeeded - y.succeeded, x.n_known) for x, y in known])
    else:
        dealt = stratified_exact([((x.succeeded, x.failed), (y.succeeded, y.failed)) for x, y in known])
        test, p = "runs dealt to the arms anew within items, exact", dealt.two_sided
    method = "BCa bootstrap" if found.method == "bootstrap" else found.method
    return msgspec.structs.replace(
        made,
        difference=found.estimate,
        interval=(found.interval.low, found.interval.high),
        interval_method=f"per-item means, {method} over items",
        test=test,
        p=p,
        margin=_margin_of_means(items, margin) if margin is not None else None,
    )


def swapped_p(differences: Sequence[tuple[int, int]], *, n_samples: int = 99_999, seed: int = 0) -> float:
    """Two-sided p of a mean of per-item differences, were the two arms exchangeable within each item.

    Over all 2^n ways to swap the arms of items: the share whose sum of differences is as far from 0, or farther. With
    differences of 1 and -1 this is McNemar's exact test.

    Args:
        differences: per item (successes of a minus those of b, runs of each).
        n_samples: swaps drawn where the exact distribution is too large.
        seed: of those draws.

    Source: Fisher's randomisation test of paired differences; exact by convolution.

    >>> swapped_p([(1, 1)] * 13 + [(-1, 1)] * 7) == mcnemar(13, 7).exact
    True
    >>> swapped_p([(1, 2), (2, 2), (-1, 2)])
    0.75
    """
    scale = lcm(*(n for _, n in differences))
    sizes = [abs(k) * (scale // n) for k, n in differences if k]
    unit = gcd(*sizes) or 1
    sizes = sorted(size // unit for size in sizes)
    observed = abs(sum(k * (scale // n) for k, n in differences)) // unit
    if len(sizes) * sum(sizes) > _MOST_STEPS:
        signs = np.random.default_rng(seed)
        sums = sum(((2 * signs.integers(0, 2, n_samples) - 1) * size for size in sizes), np.zeros(n_samples, np.int64))
        return float((1 + (np.abs(sums) >= observed).sum()) / (1 + n_samples))
    # How much of the whole is swapped to one side: 0 to the sum of all sizes.
    distribution = np.ones(1)
    for size in sizes:
        wider = np.zeros(len(distribution) + size)
        wider[: len(distribution)] += distribution / 2
        wider[size:] += distribution / 2
        distribution = wider
    far = np.abs(2 * np.arange(len(distribution)) - sum(sizes)) >= observed
    return min(1.0, float(distribution[far].sum()))


def _margin_of_outcomes(b: int, c: int, n: int, margin: float) -> MarginResult:
    score = equivalence(b, c, n, margin=margin)
    exact = exact_equivalence(b, c, n, margin=margin) if n <= _MOST_EXACT_ITEMS else None
    used = exact or score
    return MarginResult(
        margin,
        method="exact, Tango's score beside it"
        if exact
        else f"Tango's score alone: more than {_MOST_EXACT_ITEMS:,} items",
        non_inferior=used.p_non_inferior <= LEVEL,
        equivalent=used.p <= LEVEL,
        p_non_inferior=exact.p_non_inferior if exact else None,
        p_equivalent=exact.p if exact else None,
        score_non_inferior=score.p_non_inferior,
        score_equivalent=score.p,
    )


def _margin_of_means(items: tuple[Sequence[Sequence[float]], Sequence[Sequence[float]]], margin: float) -> MarginResult:
    """Two one-sided tests at 5 % are the 90 % interval within the margin."""
    found = clustered_difference(*items, confidence=1 - 2 * LEVEL, n_resamples=_N_RESAMPLES).interval
    return MarginResult(
        margin,
        method="90 % interval of per-item means within the margin (approximate)",
        non_inferior=found.low > -margin,
        equivalent=found.low > -margin and found.high < margin,
        interval=(found.low, found.high),
    )


def several_arms(tallies: TalliesByTask, arms: Sequence[str]) -> SeveralArms:
    """Cochran's Q over the items whose success is known, and one per arm, under every arm."""
    rows, n_mixed = [], 0
    for found in tallies.values():
        of_arms = [found.get(arm) for arm in arms]
        known = [tally for tally in of_arms if tally is not None and tally.n_known]
        if len(known) < len(arms):
            continue
        if any(tally.succeeded and tally.failed for tally in known):
            n_mixed += 1
            continue
        rows.append([int(tally.succeeded > 0) for tally in known])
    if n_mixed:
        return SeveralArms(len(rows), reason=f"repeats disagree in {n_mixed:,} items, and Q takes one outcome an item")
    if not rows:
        return SeveralArms(0, reason="no item has a run of known success in every arm")
    test = cochran_q(rows)
    return SeveralArms(len(rows), test.statistic, test.p, test.p_exact)
