"""How the branches of one node stand to each other on a facet, as sets of what their runs ended in. Pure.

A difference inside one branch belongs to a later fork. So branches are set against each other as sets: all one value is
same; two branches that share no value differ; branches that overlap without being one leave it to later forks.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from itertools import combinations
from operator import itemgetter
from typing import TYPE_CHECKING

from samework.equivalence.signatures import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from samework.forks.rows import Codes, RunFacts

Ways = list[list["RunFacts"]]
Labels = tuple[tuple[Value, ...], ...]


class Split(StrEnum):
    """How the branches of one node stand to each other on one facet."""

    SAME = "same"
    DIFFERS = "differs"
    OVERLAPS = "overlaps"
    UNKNOWN = "unknown"


def split(labels: Sequence[Sequence[Value]]) -> Split:
    """Set branches against each other; a None (unknown) keeps its branch from proving anything.

    >>> split([[1, 1], [1]]), split([[1, 2], [3]]), split([[1, 2], [1]]), split([[1], [None], [2]])
    (<Split.SAME: 'same'>, <Split.DIFFERS: 'differs'>, <Split.OVERLAPS: 'overlaps'>, <Split.DIFFERS: 'differs'>)
    """
    known = {frozenset(way) for way in labels if None not in way}
    if _disjoint(known):
        return Split.DIFFERS
    if any(None in way for way in labels):
        return Split.UNKNOWN
    return Split.SAME if len(known) == 1 and len(next(iter(known))) == 1 else Split.OVERLAPS


def differs_inside(labels: Sequence[Sequence[Value]]) -> bool:
    """True where the runs of some branch are known to differ: the share of later forks.

    >>> differs_inside([[1, 1], [2]]), differs_inside([[1, None], [2]]), differs_inside([[1, 3], [2]])
    (False, False, True)
    """
    return any(len(set(way) - {None}) > 1 for way in labels)


def labels_of(ways: Ways, forms: Sequence[Callable[[RunFacts], Codes]]) -> Labels:
    """One label per run, in the strongest form that most runs of the node can be compared in.

    A form that all runs share wins over a stronger one that some lack, so that equality stays one of digests.
    """
    n_runs = sum(map(len, ways))
    best: list[list[Codes]] = []
    best_code: Value = None
    best_size = 0
    for form in forms:
        codes = [list(map(form, way)) for way in ways]
        sizes = Counter([code for way in codes for code, _ in way if code is not None])
        code, size = max(sizes.items(), key=itemgetter(1), default=(None, 0))
        if size > best_size:
            best, best_code, best_size = codes, code, size
        if best_size == n_runs:
            break
    if not best:
        return tuple((None,) * len(way) for way in ways)
    return tuple(tuple([value if code == best_code else None for code, value in way]) for way in best)


def _disjoint(sets: set[frozenset[Value]]) -> bool:
    """True where two of the sets share nothing. A set of one value decides at once; only others meet in pairs."""
    single = [way for way in sets if len(way) == 1]
    if len(single) > 1:
        return True
    if single:
        return any(single[0].isdisjoint(way) for way in sets)
    if len(sets) > 1 and not frozenset.intersection(*sets):
        return any(one.isdisjoint(other) for one, other in combinations(sets, 2))
    return False
