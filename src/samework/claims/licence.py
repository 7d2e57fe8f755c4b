"""What may be said of a pair: each claim licensed, refuted, or not establishable, with the fields that decide.

Refuses every wording above what the evidence carries: a fork "co-varies" with a field, was "toggled" by an assigned
factor with self-repeat controls, or "follows the donor" of an intervention; serving state is never "the cause".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.claims.check import Check, Finding, by_name, concluded, groups_check, hosted_check, missing, unobservable
from samework.claims.facts import Facts
from samework.claims.forking import (
    certificate,
    fork_attributed,
    hidden_state_consistent,
    is_completion_fork,
    serving_state_excluded,
)
from samework.claims.requirements import EVERYTHING
from samework.claims.targets import NO_VERDICT, path_controlled, tests_replay, tool_calls_replay, tree_replay
from samework.model.words import EventKind, Facet, Grade, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from samework.model.results import Claim, FacetVerdict, FieldDifference, ForkPlace, PairResult

_HOSTED = (
    "of a hosted API, which hides engine, serving state, load and hardware, only tree, tests and same-text claims hold"
)


def claims(pair: PairResult, manifest: Sequence[FieldDifference], facts: Facts | None = None) -> tuple[Claim, ...]:
    """Every claim that the pair raises, in the order of docs/equivalence.md.

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
            certificate(fields, pair.fork, facts),
            serving_state_excluded(fields, facts),
            hidden_state_consistent(fields, pair.fork, facts),
            *fork_attributed(fields, facts),
        ]
    found += [
        path_controlled(fields, pair.fork, pair.facets, facts),
        tool_calls_replay(fields, pair.facets),
        tree_replay(fields, pair.facets),
        tests_replay(fields, pair.facets, facts),
        _hosted(fields),
    ]
    return tuple(claim for claim in found if claim is not None)


def _hosted(fields: Mapping[str, FieldDifference]) -> Claim | None:
    """Engine, serving state, load and hardware of a hosted API are out of sight: nothing that rests on them holds."""
    hidden = unobservable(fields)
    if not hidden:
        return None
    check = Check(missing=tuple(missing(field.field, field) for field in hidden))
    return concluded("hosted_api", "token replay", check, "", remark=_HOSTED)


def _same_request(fork: ForkPlace | None, facets: Mapping[str, FacetVerdict]) -> Claim:
    """The visible request of the last model call before, or at, the place where the runs part."""
    title = "same visible request"
    if fork is None:
        if facets.get(Facet.TOKENS, NO_VERDICT).verdict is Verdict.SAME:
            return concluded("same_request", title, Check(), "the visible request was the same at every call")
        is_text_same = facets.get(Facet.TEXT, NO_VERDICT).verdict is Verdict.SAME
        check = Check(missing=(missing("prompt_token_ids"),))
        return concluded("same_request", title, check, "", remark="same text" if is_text_same else "")
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
    return concluded(
        "exact_replay_specified",
        "exact replay",
        hosted_check(fields, groups_check(fields, EVERYTHING)),
        "exact replay is specified: model, request, engine, serving state, load, hardware and workspace are equal",
        remark=_HOSTED if unobservable(fields) else "",
    )


def _demonstrated(fields: Mapping[str, FieldDifference], facets: Mapping[str, FacetVerdict], facts: Facts) -> Claim:
    """Exact replay demonstrated: specified, and done, with ids held here; no replay came out otherwise."""
    tokens = facets.get(Facet.TOKENS, NO_VERDICT)
    check = hosted_check(fields, groups_check(fields, EVERYTHING))
    if tokens.verdict is Verdict.DIFFERENT:
        check = Check(differing=(Finding("tokens", "the tokens differ"),)) + check
    elif tokens.verdict is not Verdict.SAME:
        check += Check(missing=(Finding("tokens", f"sameness of tokens unknown ({tokens.reason})"),))
    elif tokens.grade is not Grade.DIRECT:
        check += Check(missing=(Finding("tokens", f"sameness of tokens only {tokens.grade.value}, not direct"),))
    if facts.n_replays_differing and tokens.verdict is Verdict.SAME:
        words = f"{facts.n_replays_differing} other replay(s) gave other tokens"
        check += Check(differing=(Finding("replays", words),))
    bound = 1 - 0.05 ** (1 / max(facts.n_replays, 1))
    remarks = [_HOSTED] if unobservable(fields) else []
    remarks += ["the tokens are observed equal"] if tokens.verdict is Verdict.SAME and check != Check() else []
    return concluded(
        "exact_replay_demonstrated",
        "demonstration of exact replay",
        check,
        f"exact replay is demonstrated by {facts.n_replays} replay(s); their failure rate is below {bound:.3g} "
        "at 95 % confidence",
        remark="; ".join(remarks),
    )
