"""Runs of one file of Claude Code's records: a first pass that places them, then one pass for each run.

Refuses a file without one record of a session. The rules are those of `claude_survey` and `claude_session`.
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
from samework.readers.parts.claude_survey import Survey
from samework.readers.parts.claude_words import MESSAGES
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record
    from samework.readers.parts.claude_strands import Strand


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
    yield _start(program, survey, strand)
    yield from _facts(program, survey, strand)
    talk, bounds = _conversation(program, survey, strand), strand.bounds()
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
        if place == len(bounds) or item.offset < bounds[place][0] or survey.copies.holds(item.offset):
            continue
        is_told = as_text(item.value.get("type")) in MESSAGES and strand.agent is None
        other += is_told and _is_replayed(survey, item.value)
        counts = _counts(survey, strand, item.offset, item.value)
        yield from talk.add(item.value, item.offset, len(item.raw), counts=counts)
    yield from _findings(survey, other)
    yield from talk.finish()


def _conversation(program: Program, survey: Survey, strand: Strand) -> Conversation:
    """The state of one run before its first record."""
    if program.is_adjacent:
        return Conversation(is_adjacent=True)
    return Conversation(parted=survey.parted, ends_in_result=survey.is_stream and strand.agent is None)


def _counts(survey: Survey, strand: Strand, offset: int, value: dict[str, object]) -> bool:
    """Whether the tokens of a record are this run's: those of shared history are counted where it is a strand's own."""
    if survey.recounted.holds(offset):
        return False
    return strand.agent is not None or (strand.owns(offset) and not _is_replayed(survey, value))


def _findings(survey: Survey, n_replayed: int) -> Iterator[Damage]:
    if survey.n_copies:
        yield note(
            survey.copies.bounds[0], f"{survey.n_copies} records that are copies of earlier ones", "copied-record"
        )
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
    yield _start(program, survey, strand)
    yield from _facts(program, survey, strand)
    if damage is not None:
        reason = f"the file holds what cannot be read ({damage.reason}), which may have been this run's"
        yield Damage(damage.offset, damage.n_bytes, reason, code=damage.code)
    talk = _conversation(program, survey, strand)
    for line in _lines(source, strand.bounds()):
        if survey.copies.holds(line.offset) or not isinstance(line.value, dict):
            continue
        counts = _counts(survey, strand, line.offset, line.value)
        yield from talk.add(line.value, line.offset, len(line.raw), counts=counts)
    yield from talk.finish()


def _advanced(bounds: list[tuple[int, int]], place: int, offset: int) -> int:
    while place < len(bounds) and bounds[place][1] <= offset:
        place += 1
    return place


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
                if isinstance(item, Damage):
                    continue
                place = _advanced(bounds, place, item.offset)
                if place < len(bounds) and bounds[place][0] <= item.offset:
                    yield item


def _is_replayed(survey: Survey, value: dict[str, object]) -> bool:
    """True for history of another session, which that session's own file counts."""
    session = as_text(value.get("sessionId")) or as_text(value.get("session_id"))
    return (session is not None and session != survey.session) or "forkedFrom" in value


def _parent(survey: Survey) -> str | None:
    others = [session for session in survey.sessions if session != survey.session]
    return survey.forked_from or (others[0] if others else None)


def _name(survey: Survey, strand: Strand) -> str | None:
    """The id of a run. It is the same when the file has grown and another strand goes on."""
    session = survey.session
    if strand.agent is None and (strand is survey.trunk or survey.trunk is None):
        return session
    own = strand.agent or strand.uuid or f"branch-{survey.strands.index(strand)}"
    return f"{session}/{own}" if session else own


def _parent_of(survey: Survey, strand: Strand) -> str | None:
    """The id of the run that a run comes from: the strand that it left or was started in, else another session."""
    if strand.agent is not None:
        caller = survey.callers.get(strand.agent)
        return survey.session if caller is None else _name(survey, caller[0])
    return _parent(survey) if strand.parent is None else _name(survey, strand.parent)


def _start(program: Program, survey: Survey, strand: Strand) -> RunStart:
    facts = survey.facts
    extra: dict[str, object] = {}
    if strand.agent is not None:
        extra["agent_id"] = strand.agent
        caller = survey.callers.get(strand.agent)
        call = strand.call if caller is None else caller[1]
        extra |= {} if call is None else {"call_id": call}
    elif strand is not survey.live and survey.live is not None:
        extra["branch"] = "left"
    if strand.agents:
        extra["agents"] = strand.agents
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
        native_id=_name(survey, strand),
        parent_native_id=_parent_of(survey, strand),
        recorder=f"{program.name} {version or '(unknown version)'}",
        started=as_text(facts.get("timestamp")),
        content_sha256=strand.sha256.hexdigest() if strand.sha256 is not None and len(survey.strands) > 1 else None,
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
