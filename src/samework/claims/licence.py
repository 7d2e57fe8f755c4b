"""What may be said of a pair: each claim licensed, refuted, or not establishable, with the fields that decide.

Refuses every wording above what the evidence carries: a fork "co-varies" with a field, was "toggled" by an assigned
factor with self-repeat controls, or "follows the donor" of an intervention; serving state is never "the cause".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.claims.check import Check, Finding, by_name, concluded, groups_check, missing
from samework.claims.facts import Facts
from samework.claims.forking import (
    certificate,
    fork_attributed,
    hidden_state_consistent,
    is_completion_fork,
    serving_state_excluded,
)
from samework.equivalence.manifest_diff import group_of
from samework.model.results import Claim, FacetVerdict, FieldDifference, ForkPlace, PairResult
from samework.model.words import Absence, EventKind, Facet, Grade, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_HOSTED_GROUPS = frozenset("ECLH")
_HOSTED = "a hosted API does not show its engine, serving state, load and hardware"
_REPLAY_GROUPS = "MQECLHW"
_NO_VERDICT = FacetVerdict(Verdict.UNKNOWN, "unrecorded")


def claims(pair: PairResult, manifest: Sequence[FieldDifference], facts: Facts | None = None) -> tuple[Claim, ...]:
    """Every claim that the pair raises, in the order of EQUIVALENCE 6.

    Args:
        pair: facets and fork of the pair.
        manifest: how the two runs were made (see equivalence.manifest_diff).
        facts: what is known beyond the pair: repeats, assignment, interventions. None: nothing.
    """
    facts = facts or Facts()
    fields = by_name(manifest)
    found: list[Claim | None] = [
        _same_request(pair.fork, pair.facets),
        _specified(fields),
        _demonstrated(fields, pair.facets, facts),
    ]
    if pair.fork is not None and is_completion_fork(pair.fork):
        found += [
            certificate(fields, pair.fork),
            serving_state_excluded(fields, facts),
            hidden_state_consistent(fields, pair.fork),
            *fork_attributed(fields, facts),
        ]
    found += [_tree_replay(fields, pair.facets), _tests_replay(pair.facets, facts)]
    return tuple(claim for claim in found if claim is not None)


def is_hosted(fields: Mapping[str, FieldDifference]) -> bool:
    """True where a side says that its engine cannot be observed."""
    return any(
        group_of(field.field) in _HOSTED_GROUPS and Absence.UNOBSERVABLE in (field.a_source, field.b_source)
        for field in fields.values()
    )


def _same_request(fork: ForkPlace | None, facets: Mapping[str, FacetVerdict]) -> Claim:
    """The visible request of the last model call before, or at, the place where the runs part."""
    title = "same visible request"
    if fork is None:
        if facets.get(Facet.TOKENS, _NO_VERDICT).verdict is Verdict.SAME:
            return concluded("same_request", title, Check(), "the visible request was the same at every call")
        return concluded("same_request", title, Check(missing=(missing("prompt_token_ids"),)), "", remark="same text")
    if fork.event in (EventKind.SYSTEM, EventKind.TOOLS, EventKind.USER, EventKind.CONTEXT_EDIT):
        differs = Finding(fork.event, f"the {fork.event} text differs")
        return concluded("same_request", f"{title} after step {fork.step}", Check(differing=(differs,)), "")
    if fork.origin == "input/retokenised":
        differs = Finding("prompt_token_ids", "prompt token ids differ")
        return concluded(
            "same_request", f"{title} at call {fork.step}", Check(differing=(differs,)), "", remark="same text"
        )
    if fork.prompt_grade is not None:
        return concluded("same_request", title, Check(), f"the visible request was the same at call {fork.step}")
    return concluded(
        "same_request",
        f"{title} at call {fork.step}",
        Check(missing=(missing("prompt_token_ids"),)),
        "",
        remark="same text" if fork.origin != "unknown" else "",
    )


def _specified(fields: Mapping[str, FieldDifference]) -> Claim:
    """Exact replay specified: all that makes the tokens is recorded and equal."""
    check = groups_check(fields, _REPLAY_GROUPS)
    return concluded(
        "exact_replay_specified",
        "exact replay",
        _hosted_check(fields, check),
        "exact replay is specified: model, request, engine, serving state, load, hardware and workspace are equal",
        remark=_HOSTED if is_hosted(fields) else "",
    )


def _demonstrated(fields: Mapping[str, FieldDifference], facets: Mapping[str, FacetVerdict], facts: Facts) -> Claim:
    tokens = facets.get(Facet.TOKENS, _NO_VERDICT)
    check = _hosted_check(fields, groups_check(fields, _REPLAY_GROUPS))
    if tokens.verdict is Verdict.DIFFERENT:
        check = Check(differing=(Finding("tokens", "the tokens differ"),)) + check
    elif tokens.verdict is not Verdict.SAME:
        check += Check(missing=(Finding("tokens", f"sameness of tokens unknown ({tokens.reason})"),))
    elif tokens.grade is not Grade.DIRECT:
        check += Check(missing=(Finding("tokens", f"sameness of tokens only {tokens.grade.value}, not direct"),))
    bound = 1 - 0.05 ** (1 / max(facts.n_replays, 1))
    return concluded(
        "exact_replay_demonstrated",
        "demonstration of exact replay",
        check,
        f"exact replay is demonstrated by {facts.n_replays} replay(s); their failure rate is below {bound:.3g} "
        "at 95 % confidence",
        remark=_HOSTED if is_hosted(fields) else "",
    )


def _hosted_check(fields: Mapping[str, FieldDifference], check: Check) -> Check:
    """A hosted side never licenses token replay, whatever else it declares."""
    if is_hosted(fields) and not check.differing and not check.missing:
        return Check(missing=(Finding("engine", "engine unobservable"),))
    return check


def _tree_replay(fields: Mapping[str, FieldDifference], facets: Mapping[str, FacetVerdict]) -> Claim | None:
    tree = facets.get(Facet.TREE, _NO_VERDICT)
    if tree.verdict is Verdict.NOT_APPLICABLE:
        return None
    check = _facet_check("tree", tree) + groups_check(fields, "W")
    return concluded("tree_replay", "tree replay", check, "from the same base and environment came the same tree")


def _tests_replay(facets: Mapping[str, FacetVerdict], facts: Facts) -> Claim:
    tests = facets.get(Facet.TESTS, _NO_VERDICT)
    check = _facet_check("tests", tests)
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


def _facet_check(name: str, verdict: FacetVerdict) -> Check:
    if verdict.verdict is Verdict.DIFFERENT:
        return Check(differing=(Finding(name, f"{name} {'differs' if name == 'tree' else 'differ'}"),))
    if verdict.verdict is not Verdict.SAME:
        return Check(missing=(Finding(name, f"sameness of {name} unknown ({verdict.reason})"),))
    return Check()
