"""What one run lacks for each claim, whatever run it is set beside: fields of the manifest and evidence. Pure.

Refuses to promise: a run that lacks nothing may still differ from the other one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from samework.claims.check import Check, by_name, groups_check, required, seed_check, unobservable
from samework.claims.forking import n_reused
from samework.claims.requirements import (
    COLD_SCOPES,
    EVERYTHING,
    MODEL_KNOWN,
    RESET_SCOPE,
    REUSED,
    SAMPLING_KNOWN,
    TEMPERATURE,
    WEIGHTS_DIGEST,
)
from samework.model.words import FieldSource, Grade, RunKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from samework.claims.requirements import Requirement
    from samework.model.results import FieldDifference

_PROMPT_IDS, _IDS = "prompt_token_ids of every call", "token_ids of every call"
_REPEAT = "a repeat: another run of this arm and task"
_OF_ARTIFACTS = frozenset({"same_request", "tool_calls_replay", "tree_replay", "tests_replay"})


class Held(msgspec.Struct, frozen=True):
    """Evidence of one run. prompt_ids, completion_ids: grades. has_tests: a report with suite and environment.

    has_repeat: another run of its arm and task. has_base_report: the base tree was tested by its suite.
    """

    kind: str = RunKind.CODING
    complete: bool = True
    prompt_ids: Grade = Grade.NONE
    completion_ids: Grade = Grade.NONE
    has_calls: bool = False
    has_tree: bool = False
    has_tests: bool = False
    has_base_report: bool = False
    has_repeat: bool = False


class Need(msgspec.Struct, frozen=True):
    """What to record to make a claim possible. missing: fields and evidence, none where the run has all.

    unobservable: fields among them that the run says cannot be seen: with such an API the claim is out of reach.
    """

    claim: str
    title: str
    missing: tuple[str, ...] = ()
    unobservable: tuple[str, ...] = ()


def needs(manifest: Sequence[FieldDifference], held: Held) -> tuple[Need, ...]:
    """What each claim still needs of one run, the claim that needs least first.

    Args:
        manifest: the run's own, set beside itself.
        held: its evidence.
    """
    fields = by_name(manifest)
    everything = _names(groups_check(fields, EVERYTHING))
    greedy_or_seed = _names(required(fields, TEMPERATURE) + seed_check(fields))
    certificate = [
        *_ids(_PROMPT_IDS, held.prompt_ids, direct=True),
        *greedy_or_seed,
        *_one(fields, WEIGHTS_DIGEST),
    ]
    workspace = _names(groups_check(fields, "W"))
    direct = [*_ids(_PROMPT_IDS, held.prompt_ids, direct=True), *_ids(_IDS, held.completion_ids, direct=True)]
    repeat = [] if held.has_repeat else [_REPEAT]
    calls = [] if held.has_calls else ["tool calls"]
    known = [*_ids(_PROMPT_IDS, held.prompt_ids), *_ids(_IDS, held.completion_ids)]
    lists = [
        ("same_request", "same visible request", _ids(_PROMPT_IDS, held.prompt_ids)),
        ("exact_replay_specified", "exact replay specified", everything),
        ("exact_replay_demonstrated", "exact replay demonstrated", [*everything, *direct]),
        ("same_transcript_different_continuation", "same transcript, different continuation", certificate),
        ("serving_state_excluded", "serving state excluded", _cold(fields)),
        (
            "hidden_state_consistent",
            "hidden serving state consistent with a fork",
            [*certificate, *_names(groups_check(fields, "MQELHW"))],
        ),
        ("fork_attributed", "fork attributed to a field", [*everything, *repeat]),
        ("path_controlled", "path-controlled comparison", [*everything, *known, *_measured(fields, REUSED), *repeat]),
        (
            "tool_calls_replay",
            "tool-call replay",
            [*calls, *workspace, *_one(fields, MODEL_KNOWN), *_one(fields, SAMPLING_KNOWN)],
        ),
        ("tree_replay", "tree replay", [*([] if held.has_tree else ["tree"]), *workspace]),
        ("tests_replay", "tests replay", _tests(fields, held)),
    ]
    damage = [] if held.complete else ["a whole record"]
    hidden = {field.field for field in unobservable(fields)}
    found = [_need(claim, title, [*damage, *names], hidden) for claim, title, names in lists if _applies(claim, held)]
    return tuple(sorted(found, key=lambda need: (bool(need.unobservable), len(need.missing))))


def _applies(claim: str, held: Held) -> bool:
    """A run of text leaves neither calls, tree nor tests; one of tool use leaves calls."""
    if claim in {"tree_replay", "tests_replay"}:
        return held.kind == RunKind.CODING
    return claim != "tool_calls_replay" or held.kind != RunKind.TEXT


def _need(claim: str, title: str, names: Sequence[str], hidden: set[str]) -> Need:
    """Names once each. Of a hosted API no claim about tokens or their cause holds, whichever field hides."""
    missing = tuple(dict.fromkeys(names))
    return Need(claim, title, missing, () if claim in _OF_ARTIFACTS else tuple(sorted(hidden)))


def _names(check: Check) -> list[str]:
    return [finding.field for finding in check.missing]


def _one(fields: Mapping[str, FieldDifference], requirement: Requirement) -> list[str]:
    return _names(required(fields, requirement))


def _ids(name: str, grade: Grade, *, direct: bool = False) -> list[str]:
    enough = grade is Grade.DIRECT if direct else grade.strength >= Grade.DIGEST.strength
    return [] if enough else [name]


def _measured(fields: Mapping[str, FieldDifference], requirement: Requirement) -> list[str]:
    """A count that was measured, of every call."""
    field = next((fields[name] for name in requirement.names if name in fields), None)
    if field is None or field.missing or field.a_source != FieldSource.MEASURED or n_reused(field.a) is None:
        return [field.field if field is not None else requirement.names[0]]
    return []


def _cold(fields: Mapping[str, FieldDifference]) -> list[str]:
    """Nothing reused after a cold start, both measured."""
    names = _measured(fields, REUSED)
    if not names and any(n_reused(fields[name].a) for name in REUSED.names if name in fields):
        names = ["reuse.cached_tokens = 0"]
    field = next((fields[name] for name in RESET_SCOPE.names if name in fields), None)
    if field is None or field.missing or field.a_source != FieldSource.MEASURED:
        return [*names, field.field if field is not None else RESET_SCOPE.names[0]]
    return names if field.a in COLD_SCOPES else [*names, f"{field.field} = {' or '.join(sorted(COLD_SCOPES))}"]


def _tests(fields: Mapping[str, FieldDifference], held: Held) -> list[str]:
    report = [] if held.has_tests else ["tests with suite and env"]
    base = [] if held.has_base_report else ["tests of the base tree"]
    return [*report, *base, *_names(groups_check(fields, "V"))]
