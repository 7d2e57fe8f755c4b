"""Gemini CLI: session files in both layouts (one JSON document, JSON Lines), and `--output-format stream-json`.

In JSON Lines a later line of an id replaces the earlier one in its place, `$rewindTo` takes back a message and all
after it, and `$set` with messages is a new context for the model. Declared rules: what was taken back is a run of its
own where the model had answered, it begins with the history that both share, and the shared tokens are counted in the
session only; a new context is one edit, for what was said before was said. Notes of the program are no events. Counts
of zero throughout are no counts. Tool output is cut at 50 KiB by the recorder. Refuses a file without a session.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from samework.decode.elements import Part, iter_parts
from samework.decode.jsonl import Line, iter_records
from samework.decode.shapes import as_dict, as_dicts, as_list, as_text, compact
from samework.errors import DamagedRecord
from samework.model.events import Event, Usage
from samework.model.reader import Evidence
from samework.model.records import Damage, ManifestFact, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, FieldSource
from samework.readers.parts.agent_parts import (
    Step,
    StepByStep,
    Unknowns,
    content_of,
    is_counted,
    note,
    object_call,
    quick_records,
    summed,
    told_messages,
)
from samework.readers.parts.gemini_plan import Plan
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_SESSION = re.compile(rb'"sessionId"\s*:\s*"')
_PROJECT = re.compile(rb'"projectHash"\s*:\s*"')
_INIT = re.compile(rb'\A\{"type"\s*:\s*"init"\s*,\s*"timestamp"\s*:\s*"[^"]*"\s*,\s*"session_id"\s*:')
_EXIT = re.compile(r"^Exit Code: (-?[0-9]{1,9})\nSignal: ", re.MULTILINE)
_CUT_OUTPUT = 50 * 1024
_NOTES = frozenset({"info", "warning", "error"})


class GeminiCli:
    """Reader of Gemini CLI's sessions and of what it prints."""

    name = "gemini_cli"
    title = "Gemini CLI session or stream-json output"
    detects = "`sessionId` with `projectHash`, in a JSON document or in JSON Lines, or a stream that begins with init"
    proven = True
    evidence = Evidence(
        text="yes",
        actions="yes",
        raw_arguments="decoded",
        observations="yes",
        reuse="cached tokens of each call",
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for a session, 0.9 for a stream."""
        start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:4096]
        if source.is_dir or not start.startswith(b"{"):
            return 0.0
        if _SESSION.search(start) and _PROJECT.search(start):
            return 0.95
        return 0.9 if _INIT.match(start) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield the session, then what was taken back of it.

        Raises: DamagedRecord: no session. InputError: the source cannot be opened.
        """
        first = next(quick_records(source), None)
        value = first.value if isinstance(first, Line) else None
        if not isinstance(value, dict) or isinstance(value.get("messages"), list):
            yield from _document(source)
        elif value.get("type") == "init":
            yield from _stream(source)
        else:
            yield from _lines(source)


class _Talk:
    """State of one run while its messages are read."""

    def __init__(self) -> None:
        self.unknown = Unknowns()
        self.models: list[str] = []
        self.open_calls = 0
        self.n_cut = self.first_cut = 0
        self.failure: str | None = None

    def message(self, value: dict[str, object], offset: int, n_bytes: int, *, counts: bool = True) -> Iterator[Record]:
        """Records of one message. counts: False where its tokens are counted in another run."""
        kind, time = as_text(value.get("type")), as_text(value.get("timestamp"))
        if not isinstance(value.get("content", ""), str | list | dict):
            yield Damage(offset, n_bytes, "a message whose content is no text")
        elif kind == "user":
            self.failure = None
            yield Event(EventKind.USER, content_of(value.get("content")), time=time, offset=offset)
        elif kind == "gemini":
            self.failure = None
            yield from self._reply(value, offset, time, counts=counts)
        elif kind == "error":
            self.failure = content_of(value.get("content"))
        elif kind not in _NOTES:
            self.unknown.add(kind, offset)

    def _reply(self, value: dict[str, object], offset: int, time: str | None, *, counts: bool) -> Iterator[Event]:
        step = Step(None, offset, time)
        prose = content_of(value.get("content"))
        step.prose += [prose] if prose else []
        for thought in as_dicts(value.get("thoughts")):
            said = (as_text(thought.get("subject")), as_text(thought.get("description")))
            step.reasoning.append(": ".join(part for part in said if part))
        tokens = as_dict(value.get("tokens"))
        step.is_hidden = bool(summed(tokens.get("thoughts"))) and not step.reasoning
        step.usage = _usage(tokens) if counts else None
        model = as_text(value.get("model"))
        if model is not None and model not in self.models:
            self.models.append(model)
        self.open_calls = 0
        for call in as_dicts(value.get("toolCalls")):
            step.calls.append(object_call(call.get("name"), call.get("args"), call.get("id")))
            if call.get("result") is None:
                self.open_calls += 1
            else:
                step.held.append(self._result(call, offset))
        yield from step.events()

    def _result(self, call: dict[str, object], offset: int) -> Event:
        text = _response_text(call.get("result"))
        found = list(_EXIT.finditer(text)) if call.get("name") == "run_shell_command" else []
        is_cut = len(text) >= _CUT_OUTPUT
        self.first_cut = self.first_cut if self.n_cut else offset
        self.n_cut += is_cut
        return Event(
            EventKind.OBSERVATION,
            text,
            call_id=as_text(call.get("id")),
            exit_status=int(found[-1][1]) if found else None,
            time=as_text(call.get("timestamp")),
            offset=offset,
            truncated_by_recorder=is_cut,
        )

    def finish(self) -> Iterator[Record]:
        """Findings on the run, and its end."""
        yield from self.unknown.findings()
        if len(self.models) > 1:
            reason = f"the model changed within the run: {shortened(', '.join(self.models), 120)}"
            yield note(0, reason, "model-changed")
        if self.failure is not None:
            yield RunEnd(EndReason.ERROR, shortened(self.failure, 200))
        elif self.open_calls:
            yield RunEnd(EndReason.LOG_TRUNCATED, f"the record ends while {self.open_calls} calls wait for results")
        else:
            yield RunEnd(EndReason.UNRECORDED, "this format records no end")


def _usage(tokens: dict[str, object]) -> Usage | None:
    usage = Usage(
        prompt_tokens=summed(tokens.get("input"), tokens.get("tool")),
        cached_tokens=summed(tokens.get("cached")),
        completion_tokens=summed(tokens.get("output"), tokens.get("thoughts")),
        reasoning_tokens=summed(tokens.get("thoughts")),
    )
    return usage if is_counted(usage) else None


def _response_text(result: object) -> str:
    """What the model saw of a result: the output of its function responses, and the parts beside them."""
    texts = []
    for part in as_list(result) if isinstance(result, list) else [result]:
        response = as_dict(as_dict(part).get("functionResponse")).get("response")
        if isinstance(response, dict):
            said = next((response[name] for name in ("output", "error") if isinstance(response.get(name), str)), None)
            texts.append(str(said) if said is not None else compact(response))
        else:
            texts.append(content_of(part))
    return "\n".join(texts)


def _start(meta: dict[str, object], model: str | None, branch: int | None = None) -> Iterator[Record]:
    session = as_text(meta.get("sessionId"))
    kept = {name: meta[name] for name in ("kind", "projectHash", "summary") if meta.get(name) is not None}
    yield RunStart(
        layout="gemini-cli",
        agent="gemini-cli",
        model=model,
        native_id=session if branch is None else f"{session or ''}/branch-{branch}",
        parent_native_id=None if branch is None else session,
        recorder="gemini-cli (unknown version)",
        started=as_text(meta.get("startTime")),
        extra=(kept if branch is None else {**kept, "branch": "left"}) or None,
    )
    yield ManifestFact("harness.name", "gemini-cli", FieldSource.MEASURED, where="format")
    folders = as_list(meta.get("directories"))
    if folders and as_text(folders[0]):
        yield ManifestFact("workspace.root", folders[0], FieldSource.MEASURED, where="directories")
    if model is not None:
        yield ManifestFact("model.id", model, FieldSource.DECLARED, where="messages")


# One JSON document


def _document(source: Source) -> Iterator[Record]:
    meta: dict[str, object] = {}
    model: str | None = None
    for part in iter_parts(source, frozenset({"messages"})):
        if isinstance(part, Part) and part.index is None:
            meta[part.key] = part.value
        elif isinstance(part, Part):
            model = model or as_text(as_dict(part.value).get("model"))
    if as_text(meta.get("sessionId")) is None and model is None:
        raise DamagedRecord("no session", place=visible(source.path))
    yield from _start(meta, model)
    talk = _Talk()
    yield from told_messages(source, "messages", talk.message)
    yield from talk.finish()


# JSON Lines


def _lines(source: Source) -> Iterator[Record]:
    plan, damage = _planned(source)
    yield from _start(plan.meta, plan.model)
    if plan.n_beyond:
        reason = f"{plan.n_beyond} further branches that were taken back, kept in the source only"
        yield note(0, reason, "limit-exceeded")
    yield from _run(source, plan.slots, frozenset(), is_first=True)
    live = frozenset(plan.slots)
    for ordinal, (slots, cut) in enumerate(plan.branches, 1):
        yield from _start(plan.meta, plan.model, ordinal)
        if damage is not None:
            reason = f"the file holds what cannot be read ({damage.reason}), which may have been this run's"
            yield Damage(damage.offset, damage.n_bytes, reason, code=damage.code)
        yield from _run(source, slots, live | frozenset(slots[:cut]))


def _planned(source: Source) -> tuple[Plan, Damage | None]:
    """The plan, and the first damage that may have been anything."""
    plan = Plan()
    damage: Damage | None = None
    for item in quick_records(source):
        if isinstance(item, Damage):
            damage = damage or (item if item.taints_run else None)
        elif isinstance(item.value, dict):
            plan.look(item.value, item.offset)
    if not plan.n_values:
        raise DamagedRecord("no session", place=visible(source.path))
    return plan, damage


def _run(
    source: Source, slots: list[int], counted_elsewhere: frozenset[int], *, is_first: bool = False
) -> Iterator[Record]:
    """Events of the lines at `slots`, in that order; lines that come too early wait. is_first: tells the damage."""
    talk, wanted = _Talk(), frozenset(slots)
    waiting: dict[int, Line] = {}
    at = 0
    for item in iter_records(source):
        if not isinstance(item, Line) or item.offset not in wanted:
            if is_first:
                yield from _damage_of(item)
            continue
        waiting[item.offset] = item
        while at < len(slots) and (line := waiting.pop(slots[at], None)) is not None:
            at += 1
            value = as_dict(line.value)
            changed = as_dict(value.get("$set")).get("messages")
            if as_text(value.get("id")) is None and isinstance(changed, list):
                yield Event(EventKind.CONTEXT_EDIT, _context(changed), offset=line.offset)
            else:
                counts = line.offset not in counted_elsewhere
                yield from talk.message(value, line.offset, len(line.raw), counts=counts)
    yield from talk.finish()


def _damage_of(item: Line | Damage) -> Iterator[Damage]:
    if isinstance(item, Damage):
        yield item
    elif not isinstance(item.value, dict):
        yield Damage(item.offset, len(item.raw), f"line {item.number}: no object")


def _context(messages: list[object]) -> str:
    """What the model sees from now on."""
    return "\n".join(f"{one.get('type')}: {content_of(one.get('content'))}" for one in as_dicts(messages))


# What it prints


def _stream(source: Source) -> Iterator[Record]:
    stream = _Printed()
    for item in iter_records(source):
        if isinstance(item, Damage):
            yield from stream.started({})
            yield item
        elif isinstance(item.value, dict):
            yield from stream.add(item.value, item.offset)
        else:
            yield Damage(item.offset, len(item.raw), f"line {item.number}: no object")
    yield from stream.finish()


class _Printed(StepByStep):
    """State of a stream: pieces of prose and calls are one reply until a result comes."""

    def __init__(self) -> None:
        self.is_started = False
        self.unknown = Unknowns()
        self.end: RunEnd | None = None

    def started(self, value: dict[str, object]) -> Iterator[Record]:
        """The start, once."""
        if not self.is_started:
            self.is_started = True
            meta = {"sessionId": value.get("session_id"), "startTime": value.get("timestamp")}
            yield from _start(meta, as_text(value.get("model")))

    def add(self, value: dict[str, object], offset: int) -> Iterator[Record]:
        """Records of one line."""
        yield from self.started(value)
        kind, time = as_text(value.get("type")), as_text(value.get("timestamp"))
        if kind == "message" and value.get("role") == "assistant":
            yield from self._open(offset, time)
            if self.step is not None:
                text = content_of(value.get("content"))
                self.step.prose = ["".join([*self.step.prose, text])]
        elif kind == "message":
            yield from self._flush()
            yield Event(EventKind.USER, content_of(value.get("content")), time=time, offset=offset)
        elif kind == "tool_use":
            yield from self._open(offset, time)
            if self.step is not None:
                called = object_call(value.get("tool_name"), value.get("parameters"), value.get("tool_id"))
                self.step.calls.append(called)
        elif kind == "tool_result":
            said = value.get("output", as_dict(value.get("error")).get("message"))
            event = Event(
                EventKind.OBSERVATION, content_of(said), call_id=as_text(value.get("tool_id")), time=time, offset=offset
            )
            yield from self._later(event)
        elif kind == "result":
            failed = as_text(as_dict(value.get("error")).get("message")) or "error"
            is_done = value.get("status") == "success"
            self.end = RunEnd(EndReason.FINISHED if is_done else EndReason.ERROR, None if is_done else failed, time)
        elif kind not in {"init", "error"}:
            self.unknown.add(kind, offset)

    def finish(self) -> Iterator[Record]:
        """What is left, and the end."""
        yield from self.started({})
        yield from self._flush()
        yield from self.unknown.findings()
        yield self.end or RunEnd(EndReason.LOG_TRUNCATED, "the output ends without a result")

    def _open(self, offset: int, time: str | None) -> Iterator[Event]:
        if self.step is None or self.step.held:
            yield from self._flush()
            self.step = Step(None, offset, time)


READER = GeminiCli()
