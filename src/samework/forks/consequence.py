"""What came of a fork: whether its branches led to other trees or other tests. Pure, linear in runs.

A difference inside one branch belongs to a later fork. So branches are set against each other as sets: all one value is
same; two branches that share no value differ; branches that overlap without being one leave it to later forks.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from samework.equivalence.signatures import Value
from samework.model.words import Consequence, RunKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from samework.forks.rows import Codes, RunFacts

Ways = list[list["RunFacts"]]


class Split(StrEnum):
    """How the branches of one node stand to each other on one facet."""

    SAME = "same"
    DIFFERS = "differs"
    OVERLAPS = "overlaps"
    UNKNOWN = "unknown"


class Outcome(msgspec.Struct, frozen=True):
    """Consequence with its reason. changed_work: trees or tests are known to differ, though maybe not which of both.

    tree_labels / tests_labels: one list per branch, None where a run's is unknown.
    """

    consequence: Consequence
    reason: str
    changed_work: bool
    tree_labels: tuple[tuple[Value, ...], ...] = ()
    tests_labels: tuple[tuple[Value, ...], ...] = ()


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


def labels_of(ways: Ways, forms: Sequence[Callable[[RunFacts], Codes]]) -> tuple[tuple[Value, ...], ...]:
    """One label per run, in the strongest form that most runs of the node can be compared in.

    A form that all runs share wins over a stronger one that some lack, so that equality stays one of digests.
    """
    runs = [run for way in ways for run in way]
    best: Callable[[RunFacts], Codes] | None = None
    best_code: Value = None
    best_size = 0
    for form in forms:
        sizes = Counter(code for code in (form(run)[0] for run in runs) if code is not None)
        code, size = max(sizes.items(), key=lambda item: item[1], default=(None, 0))
        if size > best_size:
            best, best_code, best_size = form, code, size
    if best is None:
        return tuple(tuple(None for _ in way) for way in ways)
    return tuple(tuple(best(run)[1] if best(run)[0] == best_code else None for run in way) for way in ways)


def fork_consequence(ways: Ways) -> Outcome:
    """Consequence of a node from the runs of each branch (C4 is given by reviews, elsewhere)."""
    trees = labels_of(ways, [_form("tree", place) for place in range(len(ways[0][0].tree))])
    tests = labels_of(ways, [_form("tests", place) for place in range(len(ways[0][0].tests))])
    treeless = all(run.kind != RunKind.CODING for way in ways for run in way)
    if treeless and all(label is None for way in trees for label in way):
        found = _without_tree(ways, tests)
    else:
        found = _with_tree(ways, split(trees), _tests_split(ways, tests))
    return msgspec.structs.replace(found, tree_labels=trees, tests_labels=tests)


def _form(name: str, place: int) -> Callable[[RunFacts], Codes]:
    def codes(run: RunFacts) -> Codes:
        return getattr(run, name)[place]  # type: ignore[no-any-return]

    return codes


def _tests_split(ways: Ways, tests: tuple[tuple[Value, ...], ...]) -> Split:
    found = split(tests)
    if found is Split.SAME and not all(run.ran for way in ways for run in way):
        return Split.UNKNOWN
    return found


def _with_tree(ways: Ways, tree: Split, tests: Split) -> Outcome:
    if tree is Split.SAME:
        found = _absorbed(ways, "every branch ends in the same tree")
        if tests is Split.DIFFERS:
            return msgspec.structs.replace(found, reason=found.reason + "; tests differ on one tree (A2)")
        return found
    if tests is Split.DIFFERS:
        reasons = {Split.DIFFERS: "trees and tests differ", Split.UNKNOWN: "tests differ, and so must the trees"}
        return Outcome(Consequence.TESTS, reasons.get(tree, "tests differ between branches"), changed_work=True)
    if tree is Split.DIFFERS:
        return _other_trees(tests)
    if tree is Split.OVERLAPS:
        reason = "later_forks: trees differ inside branches, and branches share some"
        return Outcome(Consequence.UNKNOWN, reason, changed_work=False)
    return Outcome(Consequence.UNKNOWN, "tree unknown in at least one run", changed_work=False)


def _other_trees(tests: Split) -> Outcome:
    if tests is Split.SAME:
        return Outcome(Consequence.TREE, "trees differ, tests are the same", changed_work=True)
    reason = "later forks decide the tests" if tests is Split.OVERLAPS else "tests unknown"
    return Outcome(Consequence.UNKNOWN, f"trees differ (at least C2); {reason}", changed_work=True)


def _absorbed(ways: Ways, why: str) -> Outcome:
    """C0 where no call and no observation differs, else C1."""
    actions = split(labels_of(ways, [lambda run: run.actions]))
    observations = split(labels_of(ways, [lambda run: run.observations]))
    if actions is Split.SAME and observations in (Split.SAME, Split.UNKNOWN):
        return Outcome(Consequence.COMPLETION_ONLY, f"{why}; no call differs", changed_work=False)
    if actions is Split.UNKNOWN:
        return Outcome(Consequence.UNKNOWN, f"{why}; actions unknown (C0 or C1)", changed_work=False)
    what = "observations" if actions is Split.SAME else "actions"
    return Outcome(Consequence.ABSORBED, f"{why} by other {what}", changed_work=False)


def _without_tree(ways: Ways, tests: tuple[tuple[Value, ...], ...]) -> Outcome:
    """Runs of a kind that leaves no tree: tests if there are any, else the grader's outcome."""
    named, found = "tests", _tests_split(ways, tests)
    if found is Split.UNKNOWN:
        named, found = "the recorded outcome", split(labels_of(ways, [lambda run: run.outcome]))
    stands = f"runs of this kind leave no tree; {named} stands in its place"
    if found is Split.DIFFERS:
        return Outcome(Consequence.TESTS, f"{stands} and differs", changed_work=True)
    if found is Split.SAME:
        return _absorbed(ways, f"{stands} and is the same")
    if split(labels_of(ways, [lambda run: run.actions])) is Split.SAME:
        return _absorbed(ways, "runs of this kind leave no tree")
    if found is Split.OVERLAPS:
        return Outcome(Consequence.UNKNOWN, f"later_forks: {stands} and differs inside branches", changed_work=False)
    return Outcome(
        Consequence.UNKNOWN, "runs of this kind leave no tree, and no outcome is recorded", changed_work=False
    )
