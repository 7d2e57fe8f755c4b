"""A requirement on pairs, and how a pair stands to it: met, not met, or open. Pure.

A class is asked for as "this class or a stronger one". Where a verdict rests on an assumed base, suite or environment,
the pair is judged without it first: only what stands without assumptions is met, or below, for certain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from samework.equivalence.components import ASSUMED, State, tests_verdict, tokens_verdict, tree_verdict
from samework.equivalence.judge import judge, states_of
from samework.equivalence.lattice import ORDER, place
from samework.errors import UsageError
from samework.model.gate import PairStanding
from samework.model.words import Facet, Grade, RunClass, Verdict
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from samework.equivalence.lattice import Placement
    from samework.equivalence.signatures import RunSignature, Signatures
    from samework.model.results import FacetVerdict

_S, _D, _U = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNKNOWN
CLASSES: Final = (RunClass.TOKEN, RunClass.TREE, RunClass.TESTS)
MAIN: Final = (Facet.TOKENS, Facet.TREE, Facet.TESTS)
_OF_STATE = {State.EQUAL: _S, State.UNEQUAL: _D, State.INCOMPARABLE: _U}


class Requirement(msgspec.Struct, frozen=True):
    """A class or a stronger one, or equality of one facet; exactly one of both is given."""

    run_class: RunClass | None = None
    facet: Facet | None = None

    @property
    def name(self) -> str:
        """As it is written on the command line."""
        return (self.run_class or self.facet or RunClass.TESTS).value

    @property
    def plain_facet(self) -> Facet | None:
        """The facet where it takes no part in classes and is one digest a run."""
        return None if self.facet in MAIN else self.facet

    def facets(self, *, treeless: bool) -> tuple[Facet, ...]:
        """Facets that it rests on, the one to record first in front."""
        if self.facet is not None:
            return (self.facet,)
        found = {RunClass.TOKEN: (Facet.TOKENS, Facet.TREE), RunClass.TREE: (Facet.TREE,)}
        wanted = found.get(self.run_class or RunClass.TESTS, (Facet.TESTS, Facet.TREE))
        if not treeless:
            return wanted
        kept = tuple(facet for facet in wanted if facet is not Facet.TREE)
        return kept or (Facet.TOKENS,)


def requirement(name: str) -> Requirement:
    """The requirement of that name. Raises UsageError, with the known ones.

    >>> requirement("tests-identical").run_class, requirement("actions").facet
    (<RunClass.TESTS: 'tests-identical'>, <Facet.ACTIONS: 'actions'>)
    """
    if name in CLASSES:
        return Requirement(run_class=RunClass(name))
    if name in list(Facet):
        return Requirement(facet=Facet(name))
    known = ", ".join([*CLASSES, *Facet])
    raise UsageError(f"unknown requirement {shortened(name, 40)!r}; known: {known}", hint="samework gate --help")


def standing_of_states(wanted: Requirement, states: Mapping[str, State], *, applies: bool) -> PairStanding:
    """How a pair with these component states stands to a class, or to the tokens, tree or tests facet.

    Args:
        wanted: no plain facet.
        states: state of each component.
        applies: False where the task's runs are of a kind that has no tree.
    """
    tokens, _ = tokens_verdict(states)
    tree, tree_by = tree_verdict(states, applies=applies)
    tests, tests_by = tests_verdict(states)
    if wanted.facet is not None:
        found = {Facet.TOKENS: (tokens, ""), Facet.TREE: (tree, tree_by), Facet.TESTS: (tests, tests_by)}
        verdict, by = found[wanted.facet]
        return _of_verdict(verdict, assumed=by in ASSUMED)
    bare = place(tokens, _U if tree_by in ASSUMED else tree, _U if tests_by in ASSUMED else tests)
    return _of_class(wanted.run_class or RunClass.TESTS, bare, place(tokens, tree, tests))


def _of_class(least: RunClass, bare: Placement, assuming: Placement) -> PairStanding:
    """Standing from the class without assumptions and the class with them."""
    met = set(ORDER[: ORDER.index(least) + 1])
    if met.issuperset(bare.possible):
        return PairStanding.MET
    if met.isdisjoint(bare.possible) and not bare.inferred:
        return PairStanding.BELOW
    if met.isdisjoint(assuming.possible):
        return PairStanding.PRESUMED_BELOW
    if assuming.run_class in met:
        return PairStanding.PROVISIONAL
    return PairStanding.UNKNOWN


def _of_verdict(verdict: Verdict, *, assumed: bool = False, vacuous: bool = False) -> PairStanding:
    if verdict is _S and not vacuous:
        return PairStanding.PROVISIONAL if assumed else PairStanding.MET
    if verdict is _D:
        return PairStanding.PRESUMED_BELOW if assumed else PairStanding.BELOW
    return PairStanding.UNKNOWN


def standing_of_state(state: State) -> PairStanding:
    """How a pair stands to a plain facet by its digests alone; vacuous agreement is not told from other here."""
    return _of_verdict(_OF_STATE[state])


def standing_of_pair(wanted: Requirement, a: RunSignature, b: RunSignature, signatures: Signatures) -> PairStanding:
    """How one pair stands, exceptions and vacuous agreement included."""
    if wanted.plain_facet is not None:
        found = judge(a, b, signatures).facets[wanted.plain_facet]
        return _of_verdict(found.verdict, vacuous=found.vacuous)
    return standing_of_states(wanted, states_of(a, b, signatures), applies=a.task not in signatures.treeless)


def gap_of(facet: Facet, found: FacetVerdict) -> str | None:
    """Why a facet of a pair is not known for certain: a slug; None where it is.

    >>> from samework.model.results import FacetVerdict
    >>> gap_of(Facet.TESTS, FacetVerdict(Verdict.UNKNOWN, "no_report"))
    'no_report'
    """
    if found.verdict is _U or found.verdict is Verdict.NOT_APPLICABLE:
        return found.reason
    if found.vacuous:
        return "vacuous"
    if facet in (Facet.TREE, Facet.TESTS) and found.grade is Grade.ASSERTED:
        return "env_assumed" if facet is Facet.TESTS else _tree_gap(found.reason)
    return None


def _tree_gap(reason: str) -> str:
    return "base_assumed" if reason in ("equal_post_images", "post_images_differ") else "tree_asserted"
