"""Components: the digests from which the verdicts of tokens, tree and tests follow, and how they follow.

A component of a run is a pair (comparable, value). Of two runs it is EQUAL, UNEQUAL or INCOMPARABLE, by equality of
these alone. Verdicts are functions of these states, so that a pair can be judged one by one and all
pairs can be counted by grouping (see `counts`), and both must agree.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from samework.model.words import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

_S, _D, _U, _NA = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNKNOWN, Verdict.NOT_APPLICABLE

# tokens: all ids; completion ids only (refute); messages of one recorder (refute); counts of tokens (refute).
TOKEN_COMPONENTS = ("tok", "comp", "ref", "cnt")
# tree: Git oid; content digest (across object formats); post-images on a recorded base; asserted oid; post-images on an
# assumed base.
TREE_COMPONENTS = ("oid", "tcd", "pat", "oida", "pata")
# tests: recorded suite and environment; assumed ones; at least `min_tests` nodes ran.
TEST_COMPONENTS = ("tst", "tsta", "ran")
# What stands on somebody's word or on an assumption: a tree of which only the id is told, the base of a patch, the
# suite or environment of a report.
ASSUMED = frozenset({"oida", "pata", "tsta"})
COMPONENTS = TOKEN_COMPONENTS + TREE_COMPONENTS + TEST_COMPONENTS


class State(IntEnum):
    """State of one component of a pair; the order is that of the counting transform."""

    INCOMPARABLE = 0
    UNEQUAL = 1
    EQUAL = 2


def state(comparable_a: object, value_a: object, comparable_b: object, value_b: object) -> State:
    """State of one component from the (comparable, value) of two runs; comparable None cannot be compared.

    >>> state("x", 5, "x", 5), state("x", 5, "x", 6), state(None, 5, None, 5)
    (<State.EQUAL: 2>, <State.UNEQUAL: 1>, <State.INCOMPARABLE: 0>)
    """
    if comparable_a is None or comparable_a != comparable_b:
        return State.INCOMPARABLE
    return State.EQUAL if value_a == value_b else State.UNEQUAL


def tokens_verdict(states: Mapping[str, State]) -> tuple[Verdict, str]:
    """Verdict of the token facet, and the component that decided ("" where none did).

    Equal ids of completions that read otherwise, or were counted otherwise, contradict each other and decide nothing.
    """
    if states["tok"] is not State.INCOMPARABLE:
        return (_S if states["tok"] is State.EQUAL else _D), "tok"
    for name in ("comp", "ref", "cnt"):
        if states[name] is State.UNEQUAL:
            return (_U if states["comp"] is State.EQUAL else _D), name
    return _U, ""


def tree_verdict(states: Mapping[str, State], *, applies: bool = True) -> tuple[Verdict, str]:
    """Verdict of the tree facet in the strongest form that both runs have."""
    for name in TREE_COMPONENTS:
        if states[name] is not State.INCOMPARABLE:
            return (_S if states[name] is State.EQUAL else _D), name
    return (_U if applies else _NA), ""


def tests_verdict(states: Mapping[str, State]) -> tuple[Verdict, str]:
    """Verdict of the tests facet; equality of reports in which too little ran decides nothing."""
    for name in ("tst", "tsta"):
        if states[name] is State.UNEQUAL:
            return _D, name
        if states[name] is State.EQUAL:
            return (_S, name) if states["ran"] is State.EQUAL else (_U, "ran")
    return _U, ""


def is_weak(tree: Verdict, tree_by: str, tests_by: str) -> bool:
    """True where the class that these verdicts give rests on what is only asserted or assumed."""
    return tree_by in ASSUMED or (tree is not _S and tests_by in ASSUMED)
