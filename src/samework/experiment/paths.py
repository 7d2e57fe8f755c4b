"""Do two arms take different paths at a level? The exact test over items, and which items differ.

No test without two runs in each arm: how often an arm differs from itself is then not known.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from samework.experiment.evidence import NO_PAIRS, Evidence, check_labels
from samework.model.experiment import PathResult, ScreenedItem
from samework.stats.families import benjamini_hochberg
from samework.stats.permutation import path_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.experiment.arms import PlacedRun

LEVEL_OF_TESTS: Final = 0.05
_Groups = tuple[tuple[int, ...], tuple[int, ...]]
_REPEATS: Final = 2


class PairedItem(msgspec.Struct, frozen=True):
    """One item under two arms: labels of its runs, whether it takes part in the test, whether a cross pair differs."""

    task: str
    labels: _Groups
    tested: bool
    differs: bool


def paired_items(
    found: Evidence, level: str, arms: tuple[str, str], items: dict[str, dict[str, list[PlacedRun]]]
) -> tuple[list[PairedItem], int, int]:
    """Items that both arms ran, and how many take no part in the test: (items, with a single run, with an unknown).

    An item with an unknown pair takes no part: its runs cannot be sorted into classes.

    Raises:
        EvidenceError: labels and verdicts contradict each other (A5).
    """
    a, b = arms
    self_a, self_b, cross = found.pairs(level, a), found.pairs(level, b), found.pairs(level, a, b)
    labels = found.labels.get(level, {})
    made, n_single, n_unknown = [], 0, 0
    for task, pairs in cross.items():
        groups = [items[task][arm] for arm in arms]
        known = [self_a.get(task, NO_PAIRS), self_b.get(task, NO_PAIRS), pairs]
        is_single = min(map(len, groups)) < _REPEATS
        is_unknown = any(each.unknown for each in known)
        n_single += is_single
        n_unknown += is_unknown and not is_single
        tested = not is_single and not is_unknown
        if tested:
            check_labels(task, level, [[labels.get(run.run_key) for run in group] for group in groups], known)
        made.append(PairedItem(task, _numbered(groups, labels), tested, pairs.different > 0))
    return made, n_single, n_unknown


def _numbered(groups: Sequence[Sequence[PlacedRun]], labels: dict[int, int | None]) -> _Groups:
    """Labels of the runs of both arms; a run without one is its own class, which counts only where all is known."""
    a, b = (
        tuple(-run.run_key if (label := labels.get(run.run_key)) is None else label for run in group)
        for group in groups
    )
    return a, b


def path_result(items: Sequence[PairedItem], n_single: int, n_unknown: int) -> PathResult:
    """The test over the items that can take part; without one, the reason."""
    tested = [item.labels for item in items if item.tested]
    if not tested:
        return PathResult(0, n_single, n_unknown, reason=_no_test(len(items), n_single, n_unknown))
    found = path_test(tested)
    reason = _undecidable(found.smallest_p)
    return PathResult(
        found.n_items,
        n_single,
        n_unknown,
        self_agreement=(found.self_agreement_a, found.self_agreement_b),
        cross_agreement=found.cross_agreement,
        excess_divergence=found.excess_divergence,
        p=None if reason else found.p,
        smallest_p=found.smallest_p,
        method=found.method,
        reason=reason,
    )


def _undecidable(smallest_p: float) -> str | None:
    """Why runs that divide so little can decide nothing; their classes say so without a look at the arms."""
    if smallest_p <= LEVEL_OF_TESTS:
        return None
    if smallest_p == 1:
        return "no item divides, within an arm or between them"
    return f"too few items divide: no sharing of these runs between the arms gives a p below {smallest_p:.2g}"


def _no_test(n_items: int, n_single: int, n_unknown: int) -> str:
    if not n_items:
        return "nothing to compare at this level"
    if n_single == n_items:
        return "no item has two runs in each arm"
    if n_unknown == n_items:
        return "every item has an unknown pair"
    return "no item has two runs in each arm and all its pairs known"


def screened(items: Sequence[PairedItem]) -> tuple[ScreenedItem, ...]:
    """Items that differ across the arms, the most telling first.

    Where the runs of one item can reach the level by themselves, each item tested has a p of its own, and q is the
    false discovery rate over all of them: a screen, whose finds are to be tested anew.
    """
    tested = [item for item in items if item.tested]
    p_values = _item_p_values([item.labels for item in tested])
    told = {}
    if p_values is not None:
        q_values = benjamini_hochberg(p_values)
        told = {item.task: (p, q) for item, p, q in zip(tested, p_values, q_values, strict=True)}
    made = [ScreenedItem(item.task, *told.get(item.task, (None, None))) for item in items if item.differs]
    return tuple(sorted(made, key=lambda item: (item.p is None, item.p or 0.0, item.task)))


def _item_p_values(groups: Sequence[_Groups]) -> list[float] | None:
    """P value of each item alone; None where not even a clean division of one item would reach the level."""
    cache: dict[tuple[object, ...], tuple[float, float]] = {}
    found = []
    can_reach = False
    for a, b in groups:
        key = _shape(a, b)
        if key not in cache:
            test = path_test([(a, b)])
            cache[key] = test.p, _least_p(len(a), len(b))
        p, least = cache[key]
        can_reach = can_reach or least <= LEVEL_OF_TESTS
        found.append(p)
    return found if can_reach else None


def _least_p(n_a: int, n_b: int) -> float:
    return path_test([((1,) * n_a, (2,) * n_b)]).p


def _shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[object, ...]:
    """What the p value of one item depends on: how many runs of each arm are in each class."""
    in_a, in_b = Counter(a), Counter(b)
    return len(a), len(b), tuple(sorted((in_a[label], in_b[label]) for label in in_a | in_b))
