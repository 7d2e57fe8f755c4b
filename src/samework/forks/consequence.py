"""What came of a fork: whether its branches led to other trees or other tests. Pure, linear in runs.

Each facet is split into the share of this fork (branches that have nothing in common) and that of later ones (a
difference inside a branch), see `splits`. What is unknown stays so: an unknown never makes a fork absorbed.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from samework.forks.refuting import Refuted
from samework.forks.reviews import MATTERS, NO_MATTER, Review
from samework.forks.splits import Labels, Split, differs_inside, labels_of, split
from samework.model.words import Consequence, RunKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from samework.forks.rows import Codes, RunFacts
    from samework.forks.splits import Ways

_WHOLE = ("actions", "observations", "outcome")
_CONSEQUENTIAL, _ABSORBED, _UNKNOWN, _NONE = "consequential", "absorbed", "unknown", "none"
_LATER = "later_forks"


class Outcome(msgspec.Struct, frozen=True):
    """Consequence with its reason.

    effect: consequential (trees or tests are known to differ, or a reviewer says that it matters), absorbed (something
    else was done, the tree came out the same), none (only the completion differs), unknown. own: facets that differ
    between branches. later: facets that differ inside a branch, the share of later forks. unknown: facets of which the
    evidence does not say whether branches differ. tree_labels / tests_labels: one list per branch, None where unknown.
    """

    consequence: Consequence
    reason: str
    effect: str
    own: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    tree_labels: Labels = ()
    tests_labels: Labels = ()

    @property
    def changed_work(self) -> bool:
        """True where work is known to have changed, though maybe not whether tree or tests did."""
        return self.effect == _CONSEQUENTIAL


class _Facets(msgspec.Struct, frozen=True):
    """Labels and split of each facet at one node. treeless: runs of a kind that leaves no tree, and none left one."""

    labels: dict[str, Labels]
    splits: dict[str, Split]
    treeless: bool
    by_incomplete: bool

    def shares(self) -> dict[str, tuple[str, ...]]:
        """Facets by whose share the difference is; an outcome that no run has counts only where it stands alone."""
        known = [name for name, ways in self.labels.items() if any(label is not None for way in ways for label in way)]
        stands = ("tests" if "tests" in known else "outcome",)
        asked = {"actions", "observations", *(stands if self.treeless else ("tree", "tests")), *known}
        return {
            "own": tuple(name for name, found in self.splits.items() if found is Split.DIFFERS),
            "later": tuple(name for name in known if differs_inside(self.labels[name])),
            "unknown": tuple(n for n, found in self.splits.items() if found is Split.UNKNOWN and n in asked),
        }


def fork_consequence(ways: Ways, *, refuted: Refuted | None = None, review: Review | None = None) -> Outcome:
    """Consequence of a node.

    Args:
        ways: the runs of each branch.
        refuted: cells whose tests are told apart by reports that are not complete.
        review: what reviewers said of pairs that part here.
    """
    facets = _facets(ways, refuted or Refuted())
    found = _without_tree(facets) if facets.treeless else _with_tree(facets)
    found = _reviewed(found, review or Review())
    shown = msgspec.structs.replace(found, tree_labels=facets.labels["tree"], tests_labels=facets.labels["tests"])
    return msgspec.structs.replace(shown, **facets.shares())


def _facets(ways: Ways, refuted: Refuted) -> _Facets:
    labels = {name: labels_of(ways, [attrgetter(name)]) for name in _WHOLE[:-1]}
    labels["tree"] = labels_of(ways, [_form("tree", place) for place in range(len(ways[0][0].tree))])
    labels["tests"] = labels_of(ways, [_form("tests", place) for place in range(len(ways[0][0].tests))])
    labels["outcome"] = labels_of(ways, [attrgetter("outcome")])
    splits = {name: split(found) for name, found in labels.items()}
    if splits["tests"] is Split.SAME and not all(run.ran for way in ways for run in way):
        splits["tests"] = Split.UNKNOWN
    by_incomplete = splits["tests"] is not Split.DIFFERS and refuted.parts(ways, labels["tests"])
    if by_incomplete:
        splits["tests"] = Split.DIFFERS
    treeless = all(run.kind != RunKind.CODING for way in ways for run in way)
    has_tree = any(label is not None for way in labels["tree"] for label in way)
    return _Facets(labels, splits, treeless and not has_tree, by_incomplete)


def _form(name: str, place: int) -> Callable[[RunFacts], Codes]:
    def codes(run: RunFacts) -> Codes:
        return getattr(run, name)[place]  # type: ignore[no-any-return]

    return codes


def _with_tree(facets: _Facets) -> Outcome:
    tree, tests = facets.splits["tree"], facets.splits["tests"]
    if tree is Split.SAME:
        found = _same_end(facets, "every branch ends in the same tree")
        if tests is Split.DIFFERS:
            return msgspec.structs.replace(found, reason=found.reason + "; tests differ on one tree (A2)")
        return found
    if tests is Split.DIFFERS:
        return _other_tests(facets, tree)
    if tree is Split.DIFFERS:
        return _other_trees(tests)
    if tree is Split.OVERLAPS:
        reason = f"{_LATER}: trees differ inside branches, and branches share some"
        return Outcome(Consequence.UNKNOWN, reason, _UNKNOWN)
    return Outcome(Consequence.UNKNOWN, "tree unknown in at least one run", _UNKNOWN)


def _other_tests(facets: _Facets, tree: Split) -> Outcome:
    reasons = {Split.DIFFERS: "trees and tests differ", Split.UNKNOWN: "tests differ, and so must the trees"}
    reason = reasons.get(tree, "tests differ between branches")
    if facets.by_incomplete:
        reason += " (refuted by a report that is not complete)"
    return Outcome(Consequence.TESTS, reason, _CONSEQUENTIAL)


def _other_trees(tests: Split) -> Outcome:
    if tests is Split.SAME:
        return Outcome(Consequence.TREE, "trees differ, tests are the same", _CONSEQUENTIAL)
    reason = "later forks decide the tests" if tests is Split.OVERLAPS else "tests unknown"
    return Outcome(Consequence.UNKNOWN, f"trees differ (at least C2); {reason}", _CONSEQUENTIAL)


def _same_end(facets: _Facets, why: str) -> Outcome:
    """C0 where this fork changed no call and no observation, C1 where it did.

    Where branches overlap, the first differing event has the same calls in all of them: later forks made the rest.
    """
    actions, observations = facets.splits["actions"], facets.splits["observations"]
    if actions is Split.DIFFERS:
        return Outcome(Consequence.ABSORBED, f"{why} by other actions", _ABSORBED)
    if observations is Split.DIFFERS:
        return Outcome(Consequence.ABSORBED, f"{why} by other observations", _ABSORBED)
    if Split.UNKNOWN in (actions, observations):
        what = "actions" if actions is Split.UNKNOWN else "observations"
        return Outcome(Consequence.UNKNOWN, f"{why}; {what} unknown (C0 or C1)", _ABSORBED)
    later = f"; calls differ inside branches only ({_LATER})" if Split.OVERLAPS in (actions, observations) else ""
    return Outcome(Consequence.COMPLETION_ONLY, f"{why}{later or '; no call differs'}", _NONE)


def _without_tree(facets: _Facets) -> Outcome:
    """Runs of a kind that leaves no tree: tests if there are any, else the grader's outcome."""
    named, found = "tests", facets.splits["tests"]
    if found is Split.UNKNOWN:
        named, found = "the recorded outcome", facets.splits["outcome"]
    stands = f"runs of this kind leave no tree; {named} stands in its place"
    if found is Split.DIFFERS:
        incomplete = " (refuted by a report that is not complete)" if named == "tests" and facets.by_incomplete else ""
        return Outcome(Consequence.TESTS, f"{stands} and differs{incomplete}", _CONSEQUENTIAL)
    if found is Split.SAME:
        return _same_end(facets, f"{stands} and is the same")
    same_calls = _same_end(facets, "runs of this kind leave no tree")
    if same_calls.effect == _NONE:
        return same_calls
    if found is Split.OVERLAPS:
        return Outcome(Consequence.UNKNOWN, f"{_LATER}: {stands} and differs inside branches", _UNKNOWN)
    return Outcome(Consequence.UNKNOWN, "runs of this kind leave no tree, and no outcome is recorded", _UNKNOWN)


def _reviewed(found: Outcome, review: Review) -> Outcome:
    """A review raises to C4, unless reviewers disagree or the runs ended apart by a later fork."""
    said = {"disputed": "; reviews disagree (disputed)", NO_MATTER: "; reviewed: it does not matter"}
    if review.says != MATTERS:
        return msgspec.structs.replace(found, reason=found.reason + said.get(review.says or "", ""))
    if found.reason.startswith(_LATER):
        return msgspec.structs.replace(found, reason=f"{found.reason}; a reviewer says that the difference matters")
    return Outcome(Consequence.REVIEW, f"a reviewer says that it matters; {found.reason}", _CONSEQUENTIAL)
