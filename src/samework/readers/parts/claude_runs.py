"""Runs of one file of Claude Code's records: a first pass that places them, then one pass for each run.

Refuses a file without one record of a session. The rules are those of `_claude_survey` and `_claude_session`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from samework.decode import strict_json
from samework.decode.jsonl import Line, iter_lines, iter_records, mended
from samework.decode.shapes import as_dict, as_text
from samework.decode.strict_json import NotJson
from samework.errors import DamagedRecord
from samework.model.records import Damage, ManifestFact, RunStart
from samework.model.words import FieldSource
from samework.readers.parts.agent_parts import note, quick_records
from samework.readers.parts.claude_session import Conversation
from samework.readers.parts.claude_survey import MESSAGES, Strand, Survey
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record


class Program(msgspec.Struct, frozen=True):
    """Who wrote the records. is_adjacent: see `Conversation`. has_branches: its parents tell where one went back."""

    name: str
    is_adjacent: bool = False
    has_branches: bool = True


def runs(source: Source, program: Program) -> Iterator[Record]:
    """The session, then its left branches, then its sub-agents.

    Raises: DamagedRecord: not one record of a session. InputError: the source cannot be opened.
    """
    survey = Survey(has_branches=program.has_branches)
    damage: list[Damage] = []
    n_tainting = 0
    for item in quick_records(source):
        if isinstance(item, Line):
            survey.look(item)
        else:
            n_tainting += item.taints_run
            damage = damage or [item]
    strands = _ordered(survey)
    if not strands:
        reason = damage[0].reason if damage else "no record of a session"
        raise DamagedRecord(reason, place=visible(source.path))
    yield from _first(source, program, survey, strands[0])
    for strand in strands[1:]:
        yield from _further(source, program, survey, strand, damage[0] if n_tainting else None)


def _ordered(survey: Survey) -> list[Strand]:
    """Strands that are runs: the session first, then branches, then sub-agents."""
    held = [strand for strand in survey.strands if strand.n_messages] or survey.strands[:1]
    main = [strand for strand in held if strand.agent is None]
    main.sort(key=lambda strand: strand is not survey.live)
    return main + [strand for strand in held if strand.agent is not None]


def _first(source: Source, program: Program, survey: Survey, strand: Strand) -> Iterator[Record]:
    """The run that the file is about, with the damage and the findings of the whole file."""
    yield _start(program, survey, strand, 0)
    yield from _facts(program, survey, strand)
    talk, bounds = Conversation(is_adjacent=program.is_adjacent), _bounds(strand)
    other = 0
    place = 0
    for item in iter_records(source):
        if isinstance(item, Damage):
            yield item
            continue
        if not isinstance(item.value, dict):
            yield Damage(item.offset, len(item.raw), f"line {item.number}: no object")
            continue
        place = _advanced(bounds, place, item.offset)
        if place == len(bounds) or item.offset < bounds[place][0] or item.offset in survey.copies:
            continue
        counts = strand.agent is not None or not _is_replayed(survey, item.value)
        other += not counts and as_text(item.value.get("type")) in MESSAGES
        yield from talk.add(item.value, item.offset, len(item.raw), counts=counts)
    yield from _findings(survey, other)
    yield from talk.finish()


def _findings(survey: Survey, n_replayed: int) -> Iterator[Damage]:
    if survey.n_copies:
        yield note(min(survey.copies), f"{survey.n_copies} records that are copies of earlier ones", "copied-record")
    if survey.n_breaks:
        reason = f"{survey.n_breaks} records name a parent that is not in the file; the order of the file is kept"
        yield note(survey.first_break, reason, "orphan-parent")
    if survey.n_beyond:
        reason = f"{survey.n_beyond} records of further branches or sub-agents, kept in the source only"
        yield Damage(survey.first_beyond, 0, reason, code="limit-exceeded", taints_run=False)
    if n_replayed:
        parent = shortened(_parent(survey) or "another session", 60)
        yield note(0, f"{n_replayed} records are history of {parent}; their tokens are not added", "replayed-history")


def _further(
    source: Source, program: Program, survey: Survey, strand: Strand, damage: Damage | None
) -> Iterator[Record]:
    """A branch or a sub-agent of the same file."""
    yield _start(program, survey, strand, survey.strands.index(strand))
    yield from _facts(program, survey, strand)
    if damage is not None:
        reason = f"the file holds what cannot be read ({damage.reason}), which may have been this run's"
        yield Damage(damage.offset, damage.n_bytes, reason, code=damage.code)
    talk = Conversation(is_adjacent=program.is_adjacent)
    own = list(strand.ranges.until(None))
    held = _bounds(survey.live) if survey.live is not None and strand.agent is None else []
    for line in _lines(source, _bounds(strand)):
        if line.offset in survey.copies or not isinstance(line.value, dict):
            continue
        counts = strand.agent is not None or (
            _within(own, line.offset) and not _within(held, line.offset) and not _is_replayed(survey, line.value)
        )
        yield from talk.add(line.value, line.offset, len(line.raw), counts=counts)
    yield from talk.finish()


def _bounds(strand: Strand) -> list[tuple[int, int]]:
    """Byte ranges of a run, ascending."""
    return sorted(bound for part, cut in strand.path() for bound in part.ranges.until(cut))


def _advanced(bounds: list[tuple[int, int]], place: int, offset: int) -> int:
    while place < len(bounds) and bounds[place][1] <= offset:
        place += 1
    return place


def _within(bounds: list[tuple[int, int]], offset: int) -> bool:
    low, high = 0, len(bounds)
    while low < high:
        middle = (low + high) // 2
        if bounds[middle][1] <= offset:
            low = middle + 1
        else:
            high = middle
    return low < len(bounds) and bounds[low][0] <= offset


def _lines(source: Source, bounds: list[tuple[int, int]]) -> Iterator[Line]:
    """Records that begin in the ranges; no other line is decoded."""
    place = 0
    for raw in iter_lines(source):
        if isinstance(raw, Damage):
            continue
        offset, number, data, is_cut = raw
        place = _advanced(bounds, place, offset)
        if place == len(bounds):
            return
        if bounds[place][0] >= offset + len(data):
            continue
        try:
            yield Line(offset, number, strict_json.loads(data), data)
        except NotJson as error:
            for item in mended(offset, number, data, error, is_cut=is_cut):
                if isinstance(item, Line) and _within(bounds, item.offset):
                    yield item


def _is_replayed(survey: Survey, value: dict[str, object]) -> bool:
    """True for history of another session, which that session's own file counts."""
    session = as_text(value.get("sessionId")) or as_text(value.get("session_id"))
    return (session is not None and session != survey.session) or "forkedFrom" in value


def _parent(survey: Survey) -> str | None:
    others = [session for session in survey.sessions if session != survey.session]
    return survey.forked_from or (others[0] if others else None)


def _start(program: Program, survey: Survey, strand: Strand, ordinal: int) -> RunStart:
    facts, session = survey.facts, survey.session
    native, parent = session, _parent(survey)
    extra: dict[str, object] = {}
    if strand.agent is not None:
        native, parent = f"{session}/{strand.agent}" if session else strand.agent, session
        extra["agent_id"] = strand.agent
    elif strand is not survey.live and survey.live is not None:
        native, parent = f"{session}/branch-{ordinal}" if session else None, session
        extra["branch"] = "left"
    if strand.agent is None and survey.result:
        extra |= {name: survey.result[name] for name in ("num_turns", "total_cost_usd") if name in survey.result}
        usage = as_dict(survey.result.get("usage"))
        extra |= {"result_usage": usage} if usage else {}
    version = as_text(facts.get("version")) or as_text(facts.get("claude_code_version"))
    return RunStart(
        layout=program.name,
        agent=program.name,
        agent_version=version,
        model=strand.model or as_text(facts.get("model")),
        native_id=native,
        parent_native_id=parent,
        recorder=f"{program.name} {version or '(unknown version)'}",
        started=as_text(facts.get("timestamp")),
        content_sha256=strand.sha256.hexdigest() if strand.agent is not None and len(survey.strands) > 1 else None,
        extra=extra or None,
    )


def _facts(program: Program, survey: Survey, strand: Strand) -> Iterator[ManifestFact]:
    """What the record says of the conditions."""
    facts = survey.facts
    version = facts.get("version") or facts.get("claude_code_version")
    measured = (
        ("workspace.root", facts.get("cwd"), "cwd"),
        ("workspace.branch", facts.get("gitBranch"), "gitBranch"),
        ("harness.name", program.name, "format"),
        ("harness.version", version, "version"),
        ("harness.approval_policy", facts.get("permissionMode"), "permissionMode"),
    )
    for field, value, where in measured:
        if value is not None:
            yield ManifestFact(field, value, FieldSource.MEASURED, where=where)
    model = strand.model or facts.get("model")
    if model is not None:
        yield ManifestFact("model.id", model, FieldSource.DECLARED, where="message.model")
