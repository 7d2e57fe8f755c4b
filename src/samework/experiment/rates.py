"""How often runs of one item differ, within an arm and across two: the item is the unit, unknowns give bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from samework.model.experiment import Disagreement, ItemRate, Limits, Mean
from samework.stats.clustered import clustered_rate
from samework.stats.intervals import bounds_over_unknowns, clopper_pearson, wilson, zero_event_bound

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from samework.experiment.evidence import ByTask, Pairs

N_RESAMPLES: Final = 1_999
"""Of a bootstrap over items. An experiment takes many of them; the limits of one move in the third digit."""


def item_rate(k: int, n: int, n_unknown: int = 0) -> ItemRate:
    """`k` of `n` known items with both intervals, and bounds over the unknown ones.

    >>> found = item_rate(0, 60)
    >>> found.wilson[0], round(found.zero_bound, 6)
    (0.0, 0.048703)
    """
    bounds = bounds_over_unknowns(n - k, k, n_unknown) if n + n_unknown else None
    return ItemRate(
        k,
        n,
        n_unknown,
        wilson=_limits(wilson(k, n)) if n else None,
        exact=_limits(clopper_pearson(k, n)) if n else None,
        zero_bound=zero_event_bound(n) if n and not k else None,
        bounds=(bounds.low, bounds.high) if bounds else None,
    )


def disagreement(by_task: ByTask) -> Disagreement:
    """Rates of difference over the pairs of each item.

    An item differs where one of its pairs does, agrees where all its pairs are known and none does, and is unknown
    otherwise.
    """
    found = list(by_task.values())
    different, same = sum(pairs.different for pairs in found), sum(pairs.same for pairs in found)
    unknown = sum(pairs.unknown for pairs in found)
    bounds = bounds_over_unknowns(same, different, unknown) if found else None
    k = sum(pairs.different > 0 for pairs in found)
    n_unknown = sum(not pairs.different and pairs.unknown > 0 for pairs in found)
    return Disagreement(
        different,
        same,
        unknown,
        bounds=(bounds.low, bounds.high) if bounds else None,
        items=item_rate(k, len(found) - n_unknown, n_unknown),
        mean=_mean_share(found),
    )


def _mean_share(found: Iterable[Pairs]) -> Mean | None:
    """Mean over items of the share of known pairs that differ; None where no item has two pairs."""
    known = [(pairs.different, pairs.different + pairs.same) for pairs in found if pairs.different + pairs.same]
    if not any(n > 1 for _, n in known):
        return None
    return mean_over_items([k / n for k, n in known])


def mean_over_items(values: Sequence[float]) -> Mean | None:
    """Mean of one number an item, 0..1, with its interval; None without items."""
    if not values:
        return None
    found = clustered_rate([(value,) for value in values], n_resamples=N_RESAMPLES)
    return Mean(found.estimate, _limits(found.interval), found.n_items, found.method)


def _limits(interval: tuple[float, float]) -> Limits:
    return (interval[0], interval[1])
