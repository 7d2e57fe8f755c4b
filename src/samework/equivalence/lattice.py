"""From the verdicts of tokens, tree and tests to the class of a pair, by the table of docs/equivalence.md.

Pure, total: 27 combinations, and 9 for runs of a kind that has no tree.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import msgspec

from samework.model.words import RunClass, Status, Verdict

_S, _D, _U, _NA = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNKNOWN, Verdict.NOT_APPLICABLE

ORDER = (RunClass.TOKEN, RunClass.TREE, RunClass.TESTS, RunClass.DIVERGENT)

ANOMALIES = {
    "A1": "same tokens, different tree: the environment is not deterministic or was not wholly recorded",
    "A2": "same tree, different tests: a flaky test or another test environment",
    "A3": "same tokens, different tests, and no tree to tell why",
    "A4": "same tokens, different grade, and no tree to tell why",
    "A5": "runs placed in one class are also known to differ: rulesets are mixed, or there is a bug",
}


class Placement(msgspec.Struct, frozen=True):
    """Class of a pair. possible: classes over all completions of what is unknown, strongest first."""

    run_class: RunClass
    status: Status
    possible: tuple[RunClass, ...]
    anomalies: tuple[str, ...] = ()
    inferred: bool = False


def known_class(tokens: bool, tree: bool | None, tests: bool) -> RunClass:
    """The class when everything is known; `tree` None where it is not applicable.

    >>> known_class(tokens=True, tree=False, tests=True)
    <RunClass.TESTS: 'tests-identical'>
    """
    if tree is None:
        return RunClass.TOKEN if tokens else RunClass.TESTS if tests else RunClass.DIVERGENT
    if tree:
        return RunClass.TOKEN if tokens else RunClass.TREE
    return RunClass.TESTS if tests else RunClass.DIVERGENT


@cache
def place(tokens: Verdict, tree: Verdict, tests: Verdict, *, weak: bool = False) -> Placement:
    """Class, status, what remains possible, and anomalies.

    Args:
        tokens: verdict of the token facet.
        tree: verdict of the tree facet, or not applicable.
        tests: verdict of the tests facet.
        weak: the facets that decide rest on an assumption; the class is then at most provisional.
    """
    found = _anomalies(tokens, tree, tests)
    inferred = tree is _U and tests is _D and tokens is not _S
    possible = _possible(tokens, _D if inferred else tree, tests)
    run_class, status = _headline(tokens, tree, tests, possible)
    if inferred and status is not Status.UNRESOLVED:
        status = Status.PROVISIONAL
    if weak and status in (Status.ESTABLISHED, Status.AT_LEAST):
        status = Status.PROVISIONAL
    return Placement(run_class, status, possible, found, inferred)


def _possible(tokens: Verdict, tree: Verdict, tests: Verdict) -> tuple[RunClass, ...]:
    trees: tuple[bool | None, ...] = (None,) if tree is _NA else _completions(tree)
    found = {known_class(t, r, s) for t, r, s in product(_completions(tokens), trees, _completions(tests))}
    return tuple(run_class for run_class in ORDER if run_class in found)


def _completions(verdict: Verdict) -> tuple[bool, ...]:
    return {_S: (True,), _D: (False,)}.get(verdict, (True, False))


def _headline(
    tokens: Verdict, tree: Verdict, tests: Verdict, possible: tuple[RunClass, ...]
) -> tuple[RunClass, Status]:
    if len(possible) == 1:
        return possible[0], Status.ESTABLISHED
    if tokens is _S and tree is _U and tests is _D:
        return RunClass.UNRESOLVED, Status.UNRESOLVED  # A3: two facets contradict each other
    own = {RunClass.TOKEN: tokens, RunClass.TREE: tree, RunClass.TESTS: tests}
    for run_class, verdict in own.items():
        if verdict is _S and run_class in possible:
            weakest = possible[-1] is run_class
            return run_class, Status.AT_LEAST if weakest else Status.PROVISIONAL
    return RunClass.UNRESOLVED, Status.UNRESOLVED


def _anomalies(tokens: Verdict, tree: Verdict, tests: Verdict) -> tuple[str, ...]:
    if tokens is _S and tree is _D:
        return ("A1",)
    if tree is _S and tests is _D:
        return ("A2",)
    if tokens is _S and tree in (_U, _NA) and tests is _D:
        return ("A3",)
    return ()
