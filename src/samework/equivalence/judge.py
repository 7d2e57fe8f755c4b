"""Judge one pair: the verdict, reason and grade of each facet, and its class. Pure over two signatures.

What is decided here is decided by the same component states by which `counts` counts all pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from samework.canon.rulesets import DEFAULT_RULESETS, STRICT_TESTS
from samework.equivalence.components import (
    COMPONENTS,
    TOKEN_COMPONENTS,
    TREE_COMPONENTS,
    State,
    is_weak,
    state,
    tests_verdict,
    tokens_verdict,
    tree_verdict,
)
from samework.equivalence.lattice import Placement, place
from samework.model.results import FacetVerdict
from samework.model.words import Facet, Grade, Verdict, weakest

if TYPE_CHECKING:
    from samework.equivalence.signatures import RunSignature, Signatures

_S, _D, _U, _NA = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNKNOWN, Verdict.NOT_APPLICABLE
_OF_PATCH = {"pat": Grade.DERIVED, "pata": Grade.ASSERTED}


class Judgement(msgspec.Struct, frozen=True):
    """Facets and class of a pair."""

    facets: dict[Facet, FacetVerdict]
    placement: Placement


def states_of(a: RunSignature, b: RunSignature, signatures: Signatures) -> dict[str, State]:
    """State of each component of a pair, exceptions applied."""
    states = {name: state(*a.codes(name), *b.codes(name)) for name in COMPONENTS}
    pair = _pair(a, b)
    known = signatures.exceptions
    if pair in known.censored:
        for name in TOKEN_COMPONENTS:
            if states[name] is State.UNEQUAL:
                states[name] = State.INCOMPARABLE
    if pair in known.overlapping:
        states["tst"] = states["tsta"] = State.INCOMPARABLE
    if pair in known.refuted:
        states["tst" if known.refuted[pair].by_recorded else "tsta"] = State.UNEQUAL
    return states


def judge(a: RunSignature, b: RunSignature, signatures: Signatures) -> Judgement:
    """Every facet of one pair of runs of one task, and the class that follows."""
    states = states_of(a, b, signatures)
    applies = a.task not in signatures.treeless
    facets = {
        Facet.TOKENS: _tokens(a, b, states, signatures),
        Facet.TEXT: _plain(a, b, "text", signatures),
        Facet.ACTIONS: _plain(a, b, "actions", signatures),
        Facet.OBSERVATIONS: _plain(a, b, "observations", signatures),
        Facet.PATCH: _plain(a, b, "patch", signatures),
        Facet.TREE: _tree(a, b, states, applies=applies),
        Facet.TESTS: _tests(a, b, states, signatures),
        Facet.OUTCOME: _plain(a, b, "outcome", signatures),
        Facet.INVARIANTS: _plain(a, b, "invariants", signatures),
    }
    return Judgement(facets, placement_of(states, applies=applies))


def placement_of(states: dict[str, State], *, applies: bool) -> Placement:
    """Class of a pair from its component states."""
    tokens, _ = tokens_verdict(states)
    tree, tree_by = tree_verdict(states, applies=applies)
    tests, tests_by = tests_verdict(states)
    return place(tokens, tree, tests, weak=is_weak(tree, tree_by, tests_by))


def _censored(a: RunSignature, b: RunSignature, signatures: Signatures) -> int | None:
    return signatures.exceptions.censored.get(_pair(a, b))


def _pair(a: RunSignature, b: RunSignature) -> tuple[int, int]:
    return min(a.run_key, b.run_key), max(a.run_key, b.run_key)


def _hex(facet: str) -> str:
    return DEFAULT_RULESETS[facet].id.hex()


def _incomplete(a: RunSignature, b: RunSignature) -> str | None:
    for run in (a, b):
        if run.has_trajectory and not run.complete:
            return f"the record of run {run.run_id} is incomplete"
    return None


def _tokens(a: RunSignature, b: RunSignature, states: dict[str, State], signatures: Signatures) -> FacetVerdict:
    verdict, by = tokens_verdict(states)
    ruleset = _hex("tokens")
    if verdict is _S:
        return FacetVerdict(_S, "equal_ids", _token_grade(a, b), ruleset)
    if verdict is _D:
        reason = _TOKENS_DIFFER[by]
        grade = _token_grade(a, b) if by in ("tok", "comp") else Grade.ASSERTED
        return FacetVerdict(_D, reason, grade, ruleset)
    step = _censored(a, b, signatures)
    if step is not None and a.codes("text") != b.codes("text"):
        return FacetVerdict(_U, f"censored@{step}", Grade.NONE, ruleset)
    return FacetVerdict(_U, _token_gap(a, b), Grade.NONE, ruleset, detail=_incomplete(a, b))


def _token_grade(a: RunSignature, b: RunSignature) -> Grade:
    found = [Grade(grade) for run in (a, b) for grade in (run.completion_grade, run.prompt_grade) if grade]
    return weakest(*found)


_TOKENS_DIFFER = {
    "tok": "ids_differ",
    "comp": "completion_ids_differ",
    "ref": "text_refutes",
    "cnt": "counts_refute",
}


def _token_gap(a: RunSignature, b: RunSignature) -> str:
    """Why no digest of all token ids can be compared."""
    if _incomplete(a, b):
        return "incomplete_record"
    if a.ids_contradicted or b.ids_contradicted:
        return "ids_contradicted"
    if not (a.has_trajectory and b.has_trajectory):
        return "no_trajectory"
    for run in (a, b):
        if run.completion_reason and run.completion_reason != "tokenizer":
            return run.completion_reason
    if a.comp_c != b.comp_c or a.comp_c is None:
        return "tokenizer"
    return "prompt_ids_unrecorded"


_GAPS = {
    "text": "text_unrecorded",
    "actions": "no_trajectory",
    "observations": "observations_unrecorded",
    "patch": "patch_unrecorded",
    "outcome": "outcome_unrecorded",
    "invariants": "invariants_undeclared",
}


def _plain(a: RunSignature, b: RunSignature, name: str, signatures: Signatures) -> FacetVerdict:
    """Facets that are one digest a run and take no part in the class."""
    found = state(*a.codes(name), *b.codes(name))
    ruleset = _hex(name)
    trajectory = name in ("text", "actions", "observations")
    if found is State.INCOMPARABLE:
        return FacetVerdict(_U, _plain_gap(a, b, name), Grade.NONE, ruleset)
    if found is State.UNEQUAL:
        step = _censored(a, b, signatures) if trajectory else None
        if step is not None:
            return FacetVerdict(_U, f"censored@{step}", Grade.NONE, ruleset)
        if name == "text" and _pair(a, b) in signatures.exceptions.hidden:
            return FacetVerdict(_U, "reasoning_hidden", Grade.NONE, ruleset)
        return FacetVerdict(_D, "digests_differ", _plain_grade(name), ruleset)
    vacuous = bool(getattr(a, f"{name}_vacuous", False)) and bool(getattr(b, f"{name}_vacuous", False))
    return FacetVerdict(_S, "equal_digests", _plain_grade(name), ruleset, vacuous=vacuous)


def _plain_grade(name: str) -> Grade:
    return Grade.ASSERTED if name in ("outcome", "invariants") else Grade.DIRECT


def _plain_gap(a: RunSignature, b: RunSignature, name: str) -> str:
    if name in ("text", "actions", "observations"):
        if _incomplete(a, b):
            return "incomplete_record"
        for run in (a, b):
            if not run.has_trajectory:
                return "no_trajectory"
            reason = getattr(run, f"{name}_reason")
            if reason:
                return str(reason)
    if name == "invariants" and (a.invariant_unknown or b.invariant_unknown):
        return "invariant_unknown"
    if name in ("outcome", "invariants") and None not in (a.codes(name)[0], b.codes(name)[0]):
        return "names_differ"
    return _GAPS[name]


def _tree(a: RunSignature, b: RunSignature, states: dict[str, State], *, applies: bool) -> FacetVerdict:
    verdict, by = tree_verdict(states, applies=applies)
    ruleset = _hex("tree")
    if verdict is _NA:
        return FacetVerdict(_NA, "kind_has_no_tree", Grade.NONE, ruleset)
    if verdict is _U:
        reason = _tree_gap(a, b)
        return FacetVerdict(_U, reason, Grade.NONE, ruleset, detail=_tree_gap_detail(a, b, reason))
    both_empty = a.patch_empty and b.patch_empty
    if verdict is _S:
        reason = {"oid": "equal_oid", "oida": "equal_oid", "tcd": "equal_content"}.get(by, "equal_post_images")
        return FacetVerdict(_S, reason, _tree_grade(a, b, by), ruleset, detail="no_work" if both_empty else None)
    reason = {"oid": "oids_differ", "oida": "oids_differ", "tcd": "contents_differ"}.get(by, "post_images_differ")
    return FacetVerdict(_D, reason, _tree_grade(a, b, by), ruleset)


def _tree_grade(a: RunSignature, b: RunSignature, by: str) -> Grade:
    """The weaker grade of the two trees, or that of their post-images."""
    if by in _OF_PATCH:
        return _OF_PATCH[by]
    return weakest(*(Grade(grade) for grade in (a.tree_grade, b.tree_grade) if grade))


def _tree_gap(a: RunSignature, b: RunSignature) -> str:
    for run in (a, b):
        if any(run.codes(name)[0] is not None for name in TREE_COMPONENTS):
            continue
        if run.tree_reason:
            return "snapshot_failed"
        return "patch_unusable" if run.patch_status in ("damaged", "no_ids") else "tree_unrecorded"
    if a.oida_c is not None and b.oida_c is not None:
        return "policy"
    if _contested(a, b) is not None:
        return "patches_contradict"
    return "base_unrecorded"


def _contested(a: RunSignature, b: RunSignature) -> str | None:
    """A path of which patches on one base state what cannot be true together."""
    return a.patch_contested or b.patch_contested if a.patch_base == b.patch_base else None


def _tree_gap_detail(a: RunSignature, b: RunSignature, reason: str) -> str | None:
    if reason == "patch_unusable":
        return next((run.patch_reason for run in (a, b) if run.patch_status in ("damaged", "no_ids")), None)
    if reason == "patches_contradict":
        return f"{_contested(a, b)}: equal blob ids, but another change or another file before it"
    return a.tree_reason or b.tree_reason


def _tests(a: RunSignature, b: RunSignature, states: dict[str, State], signatures: Signatures) -> FacetVerdict:
    verdict, by = tests_verdict(states)
    ruleset = STRICT_TESTS.id.hex() if signatures.strict else _hex("tests")
    assumed = by == "tsta" or (by == "ran" and states["tst"] is State.INCOMPARABLE)
    grade = Grade.ASSERTED if assumed else Grade.DIRECT
    if verdict is _S:
        return FacetVerdict(
            _S, "env_assumed" if assumed else "equal_outcomes", grade, ruleset, detail=_tests_label(a, b)
        )
    if verdict is _D:
        found = signatures.exceptions.refuted.get(_pair(a, b))
        node = None if found is None else found.node
        if assumed:
            return FacetVerdict(_D, "env_assumed", grade, ruleset, detail=node)
        return FacetVerdict(_D, _tests_difference(a, b, node), grade, ruleset, detail=node)
    if by == "ran" or _ran_too_little(a, b):
        return FacetVerdict(_U, "vacuous", Grade.NONE, ruleset, vacuous=True, detail="fewer than min_tests nodes ran")
    return FacetVerdict(_U, _tests_gap(a, b, signatures), Grade.NONE, ruleset)


def _tests_difference(a: RunSignature, b: RunSignature, node: str | None) -> str:
    """Reason of a difference; node: one that refutes, where a report is not complete."""
    if node is not None and node.endswith("::<collection>"):
        return "collection_differs"
    return "differs_single_run" if min(a.n_reports or 0, b.n_reports or 0) <= 1 else "outcomes_differ"


def _ran_too_little(a: RunSignature, b: RunSignature) -> bool:
    """True where reports of one suite say of a side that no test of it ran, complete or not."""
    has_both = a.has_tests and b.has_tests and a.test_keys == b.test_keys
    is_named = not (a.tests_unnamed or b.tests_unnamed)
    return has_both and is_named and min(a.n_executed or 0, b.n_executed or 0) < 1


def _tests_label(a: RunSignature, b: RunSignature) -> str:
    repeats = min(a.n_reports or 0, b.n_reports or 0)
    counted = f"{repeats} repeat{'s' if repeats != 1 else ''}"
    return f"tests-identical, {counted}, {a.n_quarantined or 0} quarantined, {a.n_failing or 0} failing"


def _tests_gap(a: RunSignature, b: RunSignature, signatures: Signatures) -> str:
    if not (a.has_tests and b.has_tests):
        return "no_report"
    if a.tests_unnamed or b.tests_unnamed:
        return "suite_unrecorded"
    if a.test_keys != b.test_keys:
        return "suite_or_env_differs"
    if not (a.tests_complete and b.tests_complete):
        return "report_incomplete"
    if signatures.strict and (a.tests_assumed or b.tests_assumed):
        return "env_unrecorded"
    return "flaky_overlap"
