"""Replay targets short of exact tokens: two conditions that differ in one thing, equal tool calls, tree, tests. Pure.

What each needs stands in docs/equivalence.md, claims.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.claims.check import Check, Finding, concluded, groups_check, hosted_check, missing, required
from samework.claims.forking import factors_of, is_completion_fork, n_reused, repeats_check
from samework.claims.ladder import STATE
from samework.claims.requirements import EVERYTHING, MODEL_KNOWN, RESET_SCOPE, REUSED, SAMPLING_KNOWN
from samework.equivalence.manifest_diff import DIFFERS, group_of
from samework.model.results import FacetVerdict
from samework.model.words import EventKind, Facet, FieldSource, Grade, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from samework.claims.facts import Facts
    from samework.model.results import Claim, FieldDifference, ForkPlace

NO_VERDICT = FacetVerdict(Verdict.UNKNOWN, "unrecorded")
_TOGGLES = frozenset("MEC")
"""Groups of which one thing may differ: model, engine, serving state."""
_HELD = frozenset({*RESET_SCOPE.names, "traffic.position", "traffic_position"})
"""Of the serving state, what must be equal even where its cache policy is what differs."""


def path_controlled(
    fields: Mapping[str, FieldDifference], fork: ForkPlace | None, facets: Mapping[str, FacetVerdict], facts: Facts
) -> Claim | None:
    """Two conditions that differ in one thing only, which really happened; None where nothing differs."""
    factors = factors_of(fields)
    if not factors:
        return None
    names = ", ".join(field.field for field in factors)
    check = _one_thing(factors)
    check += groups_check(fields, EVERYTHING, besides=frozenset(field.field for field in factors))
    check += _same_input(fork, facets) + _happened(factors, fields) + repeats_check(facts)
    return concluded(
        "path_controlled",
        f"path-controlled comparison of {names}",
        hosted_check(fields, check),
        f"the comparison is path-controlled: the runs differ only in {names}, and repeats of both agree",
    )


def _one_thing(factors: Sequence[FieldDifference]) -> Check:
    outside = [field for field in factors if group_of(field.field) not in _TOGGLES or field.field in _HELD]
    if outside:
        return Check(differing=tuple(Finding(field.field, f"{field.field} differs too") for field in outside))
    groups = {group_of(field.field) for field in factors}
    if len(groups) > 1:
        words = "fields of more than one kind differ together"
        return Check(differing=tuple(Finding(field.field, words) for field in factors))
    return Check()


def _same_input(fork: ForkPlace | None, facets: Mapping[str, FacetVerdict]) -> Check:
    """Up to the place where the runs part, or to their end, both models read the same ids; what they wrote is known."""
    tokens = facets.get(Facet.TOKENS, NO_VERDICT)
    if tokens.verdict is Verdict.UNKNOWN:
        return Check(missing=(Finding("tokens", f"sameness of tokens unknown ({tokens.reason})"),))
    if fork is None:
        return Check()
    if fork.event == EventKind.OBSERVATION:
        return Check(differing=(Finding("observations", "tool results differ before the completions do"),))
    if not is_completion_fork(fork):
        return Check(differing=(Finding(fork.event, f"the {fork.event} differs before the completions do"),))
    if fork.prompt_grade is None:
        return Check(missing=(Finding("prompt_token_ids", "sameness of prompt token ids unknown"),))
    return Check()


def _happened(factors: Sequence[FieldDifference], fields: Mapping[str, FieldDifference]) -> Check:
    """A toggled cache is seen in what was reused: something in one run, nothing in the other. Else it is vacuous."""
    if not any(group_of(field.field) == STATE for field in factors):
        return Check()
    if any(_is_measured_state(field) for field in factors):
        return Check()
    field = next((fields[name] for name in REUSED.names if name in fields), None)
    if field is None or field.missing is not None:
        return Check(missing=(missing(REUSED.names[0], field),))
    counts = (n_reused(field.a), n_reused(field.b))
    if None in counts or {field.a_source, field.b_source} != {FieldSource.MEASURED}:
        return Check(missing=(Finding(field.field, f"{field.field} not measured in both runs"),))
    if all(counts) or not any(counts):
        words = "vacuous, for not exactly one of the runs reused anything"
        return Check(missing=(Finding(field.field, words),))
    return Check()


def _is_measured_state(field: FieldDifference) -> bool:
    """A digest of the state itself, measured on both sides, that differs: no count is needed to see that it did."""
    is_digest = field.field.startswith("state.") and "sha256" in field.field
    return is_digest and field.state == DIFFERS and {field.a_source, field.b_source} == {FieldSource.MEASURED}


def tool_calls_replay(fields: Mapping[str, FieldDifference], facets: Mapping[str, FacetVerdict]) -> Claim | None:
    """The same tool calls from the same workspace; None for runs that make none by their kind."""
    actions = facets.get(Facet.ACTIONS, NO_VERDICT)
    if actions.verdict is Verdict.NOT_APPLICABLE:
        return None
    check = facet_check("actions", actions)
    if actions.verdict is Verdict.SAME and actions.vacuous:
        check += Check(missing=(Finding("actions", "vacuous, for neither run called a tool"),))
    check += groups_check(fields, "W") + required(fields, MODEL_KNOWN) + required(fields, SAMPLING_KNOWN)
    return concluded(
        "tool_calls_replay",
        "tool-call replay",
        check,
        "from the same base and environment came the same tool calls",
    )


def tree_replay(fields: Mapping[str, FieldDifference], facets: Mapping[str, FacetVerdict]) -> Claim | None:
    """The same tree from the same workspace, whatever served the model; None for runs that leave none by their kind."""
    tree = facets.get(Facet.TREE, NO_VERDICT)
    if tree.verdict is Verdict.NOT_APPLICABLE:
        return None
    check = facet_check("tree", tree) + groups_check(fields, "W")
    return concluded("tree_replay", "tree replay", check, "from the same base and environment came the same tree")


def tests_replay(fields: Mapping[str, FieldDifference], facets: Mapping[str, FacetVerdict], facts: Facts) -> Claim:
    """The same outcomes of one suite in one environment, by a suite that tells the work from nothing."""
    tests = facets.get(Facet.TESTS, NO_VERDICT)
    check = facet_check("tests", tests) + groups_check(fields, "V")
    if tests.verdict is Verdict.SAME:
        if tests.grade is Grade.ASSERTED:
            check += Check(missing=(missing("tests.env"),))
        if facts.discriminating is None:
            why = "whether the suite tells the work from the base is unrecorded (no report of the base tree)"
            check += Check(missing=(Finding("tests.base_report", why),))
        elif not facts.discriminating:
            why = "the suite does not tell the work from the base: doing nothing scores the same"
            check += Check(missing=(Finding("tests.discriminating", why),))
    return concluded(
        "tests_replay",
        "tests replay",
        check,
        "the same suite in the same environment gave the same outcomes, and it tells the work from the base",
    )


def facet_check(name: str, verdict: FacetVerdict) -> Check:
    """Hold a facet to be the same."""
    if verdict.verdict is Verdict.DIFFERENT:
        return Check(differing=(Finding(name, f"{name} {'differs' if name == 'tree' else 'differ'}"),))
    if verdict.verdict is not Verdict.SAME:
        return Check(missing=(Finding(name, f"sameness of {name} unknown ({verdict.reason})"),))
    return Check()
