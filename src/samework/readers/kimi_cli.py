"""Kimi CLI: the wire log of one agent (`wire.jsonl`), one record a line.

A step of the loop is one completion, its parts and calls lie between `step.begin` and `step.end`. Tokens are those of
`step.end`; `usage.record` repeats them, and is taken only where a step has none, or for the call that writes the
summary of a compaction. Declared rules: a step that holds nothing and has no end is a request without a reply, no
completion; what stands before a record `forked` is the history of another session, whose tokens that session counts.
The log names no session; its folder does. Refuses nothing but what is no JSON.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from samework.decode.jsonl import Line, iter_records
from samework.decode.shapes import as_dict, as_moment, as_text, compact
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
)
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_HEAD = re.compile(rb'\A\{"type"\s*:\s*"metadata"\s*,\s*"protocol_version"\s*:\s*"')
_TYPES = re.compile(rb'"type"\s*:\s*"(?:context\.append_(?:loop_event|message)|turn\.prompt|config\.update)"')
_EXIT = re.compile(r"Command failed with exit code: (-?[0-9]{1,9})\.\s*\Z")
_LOOKED_AT = 40
_SILENT_ROOMS = frozenset(
    {
        "cron", "file_history", "goal", "interaction", "interruptionReminder", "mcp", "permission", "plan",
        "plan_mode", "plugin", "profile", "prompt", "runtime", "staleGuard", "swarm_mode", "task", "token_counting",
        "tools", "tower_mode",
    }
)  # fmt: skip
_SILENT = frozenset(
    {
        "metadata", "forked", "llm.request", "turn.prompt", "turn.steer", "turn.step.retrying", "full_compaction.begin",
        "full_compaction.cancel", "full_compaction.complete", "context.update_token_count", "config.update",
    }
)  # fmt: skip
_EDITS = frozenset({"context.clear", "context.undo", "micro_compaction.apply"})
_FINISHED = frozenset({"end_turn", "stop", "completed"})


class KimiCli:
    """Reader of Kimi CLI's wire log."""

    name = "kimi_cli"
    title = "Kimi CLI wire log (JSON Lines)"
    detects = "JSON Lines that begin with type metadata and `protocol_version`, then records such as turn.prompt"
    proven = True
    evidence = Evidence(
        text="yes",
        actions="yes",
        raw_arguments="decoded",
        observations="yes",
        reuse="cached tokens of each call",
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for the first line of a wire log, 0.6 for its records without it."""
        start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
        if source.is_dir:
            return 0.0
        if _HEAD.match(start):
            return 0.95
        lines = start.split(b"\n", _LOOKED_AT)[:_LOOKED_AT]
        return 0.6 if start.startswith(b"{") and any(_TYPES.search(line[:120]) for line in lines) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield one run.

        Raises: InputError: the source cannot be opened.
        """
        facts = _Facts(source)
        yield from facts.start()
        wire = _Wire(facts.forked_at)
        for item in iter_records(source):
            if isinstance(item, Damage):
                yield item
            elif isinstance(item.value, dict):
                yield from wire.add(item.value, item.offset, len(item.raw))
            else:
                yield Damage(item.offset, len(item.raw), f"line {item.number}: no object")
        yield from wire.finish()


class _Facts:
    """What the log says of the conditions: first values, and where the last history of another session ends."""

    def __init__(self, source: Source) -> None:
        self.version: str | None = None
        self.started: str | None = None
        self.request: dict[str, object] = {}
        self.cwd: str | None = None
        self.forked_at = -1
        for item in quick_records(source):
            value = item.value if isinstance(item, Line) else None
            if isinstance(item, Line) and isinstance(value, dict):
                self._look(value, item.offset)

    def _look(self, value: dict[str, object], offset: int) -> None:
        kind = as_text(value.get("type"))
        if kind == "metadata":
            self.version = self.version or as_text(value.get("protocol_version"))
            self.started = self.started or as_moment(value.get("created_at"))
        elif kind == "llm.request":
            self.request = self.request or value
        elif kind == "config.update":
            self.cwd = self.cwd or as_text(value.get("cwd"))
        elif kind == "forked":
            self.forked_at = offset

    def start(self) -> Iterator[Record]:
        """The start and the facts."""
        request = self.request
        yield RunStart(
            layout="kimi-cli",
            agent="kimi-cli",
            model=as_text(request.get("model")),
            recorder=f"kimi-cli (unknown version), wire {self.version or 'unknown'}",
            started=self.started,
            extra={"forked": True} if self.forked_at >= 0 else None,
        )
        yield ManifestFact("harness.name", "kimi-cli", FieldSource.MEASURED, where="format")
        told = (
            ("workspace.root", self.cwd, FieldSource.MEASURED, "config.update.cwd"),
            ("model.id", request.get("model"), FieldSource.DECLARED, "llm.request.model"),
            ("model.provider", request.get("provider"), FieldSource.DECLARED, "llm.request.provider"),
            ("sampling.reasoning_effort", request.get("thinkingEffort"), FieldSource.DECLARED, "llm.request"),
        )
        for field, value, source, where in told:
            if as_text(value):
                yield ManifestFact(field, value, source, where=where)


class _Wire(StepByStep):
    """State of a log that is being read."""

    def __init__(self, forked_at: int) -> None:
        self.forked_at = forked_at
        self.is_ended = False
        self.system = self.tools = ""
        self.unknown = Unknowns()
        self.n_unanswered = self.first_unanswered = self.n_replayed = 0
        self.end: RunEnd | None = None

    def add(self, value: dict[str, object], offset: int, n_bytes: int) -> Iterator[Record]:
        """Records of one line."""
        kind, time = as_text(value.get("type")), as_moment(value.get("time"))
        if kind == "context.append_loop_event":
            yield from self._loop(as_dict(value.get("event")), offset, n_bytes, time)
        elif kind == "context.append_message":
            yield from self._close()
            message = as_dict(value.get("message"))
            spoken = EventKind.SYSTEM if message.get("role") == "system" else EventKind.USER
            yield Event(spoken, content_of(message.get("content")), time=time, offset=offset)
        elif kind == "context.apply_compaction":
            yield from self._close()
            text = as_text(value.get("contextSummary")) or content_of(value.get("summary"))
            yield Event(EventKind.CONTEXT_EDIT, text, time=time, offset=offset)
        elif kind == "usage.record":
            yield from self._usage_record(value, offset, time)
        elif kind in {"llm.tools_snapshot", "config.update"}:
            yield from self._given(value, offset, time)
        elif kind in _EDITS:
            yield from self._close()
            said = compact({key: item for key, item in value.items() if key != "time"})
            yield Event(EventKind.CONTEXT_EDIT, said, time=time, offset=offset)
        else:
            self._other(value, kind, offset, time)

    def _other(self, value: dict[str, object], kind: str | None, offset: int, time: str | None) -> None:
        if kind in {"turn.cancel", "turn.step.interrupted"}:
            self.end = RunEnd(EndReason.CANCELLED, kind, time)
        elif kind == "turn.ended":
            reason = as_text(value.get("reason")) or kind
            if self.end is None:
                is_done = reason in _FINISHED
                self.end = RunEnd(EndReason.FINISHED if is_done else EndReason.ERROR, shortened(reason, 60), time)
        elif kind in {"turn.prompt", "turn.steer"}:
            self.end = None
        elif kind is None or (kind not in _SILENT and kind.split(".")[0] not in _SILENT_ROOMS):
            self.unknown.add(kind, offset)

    def _given(self, value: dict[str, object], offset: int, time: str | None) -> Iterator[Record]:
        """Instructions and tools, where they change."""
        prompt, tools = as_text(value.get("systemPrompt")), value.get("tools")
        if prompt and prompt != self.system:
            self.system = prompt
            yield from self._close()
            yield Event(EventKind.SYSTEM, prompt, time=time, offset=offset)
        if value.get("type") == "llm.tools_snapshot" and tools is not None:
            text = tools if isinstance(tools, str) else compact(tools)
            if text != self.tools:
                self.tools = text
                yield from self._close()
                yield Event(EventKind.TOOLS, text, time=time, offset=offset)

    def _loop(self, event: dict[str, object], offset: int, n_bytes: int, time: str | None) -> Iterator[Record]:
        kind = as_text(event.get("type"))
        if kind == "step.begin":
            yield from self._close()
            self.step, self.is_ended, self.end = Step(as_text(event.get("uuid")), offset, time), False, None
        elif kind == "tool.result":
            result = as_dict(event.get("result"))
            text = content_of(result.get("output"))
            found = _EXIT.search(text[-200:]) if result.get("isError") is True else None
            yield from self._later(
                Event(
                    EventKind.OBSERVATION,
                    text,
                    call_id=as_text(event.get("toolCallId")),
                    exit_status=int(found[1]) if found else None,
                    time=time,
                    offset=offset,
                )
            )
        elif kind in {"content.part", "tool.call", "step.end"}:
            if self.step is None:
                self.step, self.is_ended = Step(as_text(event.get("stepUuid")), offset, time), False
            self._fill(self.step, event, offset, time)
        elif kind is None:
            yield Damage(offset, n_bytes, "an event of the loop without a type")
        else:
            self.unknown.add(f"loop/{kind}", offset)

    def _fill(self, step: Step, event: dict[str, object], offset: int, time: str | None) -> None:
        """Add a part, a call, or the end of a step."""
        kind = as_text(event.get("type"))
        if kind == "tool.call":
            step.calls.append(object_call(event.get("name"), event.get("args"), event.get("toolCallId")))
        elif kind == "step.end":
            self.is_ended = True
            step.usage = self._counted(_usage(as_dict(event.get("usage"))), offset)
            reason = as_text(event.get("finishReason"))
            if reason in _FINISHED:
                self.end = RunEnd(EndReason.FINISHED, reason, time)
            elif reason in {"max_tokens", "length"}:
                self.end = RunEnd(EndReason.LIMIT, reason, time)
        else:
            part = as_dict(event.get("part"))
            if as_text(part.get("type")) in {"think", "thinking"}:
                shown = as_text(part.get("think")) or as_text(part.get("thinking"))
                step.reasoning += [shown] if shown else []
                step.is_hidden = step.is_hidden or not shown
            else:
                step.prose.append(content_of(event.get("part")))

    def _usage_record(self, value: dict[str, object], offset: int, time: str | None) -> Iterator[Record]:
        usage = self._counted(_usage(as_dict(value.get("usage"))), offset)
        if usage is None:
            return
        if value.get("usageScope") == "session":
            yield from self._close()
            yield Event(EventKind.COMPLETION, usage=usage, time=time, offset=offset, truncated_by_recorder=True)
        elif self.step is not None and self.step.usage is None:
            self.step.usage = usage

    def _counted(self, usage: Usage | None, offset: int) -> Usage | None:
        """Tokens that this session's own log counts."""
        if usage is None or offset > self.forked_at:
            return usage
        self.n_replayed += 1
        return None

    def _close(self) -> Iterator[Record]:
        step, self.step = self.step, None
        if step is None:
            return
        if self.is_ended or step.prose or step.calls or step.reasoning:
            yield from step.events()
        else:
            self.first_unanswered = self.first_unanswered if self.n_unanswered else step.offset
            self.n_unanswered += 1
            yield from step.held

    def finish(self) -> Iterator[Record]:
        """What is left, findings on the whole log, and its end."""
        is_open = self.step is not None and not self.is_ended
        yield from self._close()
        yield from self.unknown.findings()
        if self.n_unanswered:
            reason = f"{self.n_unanswered} requests to the model have no reply in the log"
            yield note(self.first_unanswered, reason, "request-without-reply")
        if self.n_replayed:
            reason = f"the tokens of {self.n_replayed} calls belong to the session that this was forked from"
            yield note(0, reason, "replayed-history")
        if self.end is not None and not is_open:
            yield self.end
        else:
            yield RunEnd(EndReason.LOG_TRUNCATED, "the log ends within a turn")


def _usage(given: dict[str, object]) -> Usage | None:
    cached, written = given.get("inputCacheRead"), given.get("inputCacheCreation")
    usage = Usage(
        prompt_tokens=summed(given.get("inputOther"), cached, written),
        cached_tokens=summed(cached),
        cache_write_tokens=summed(written),
        completion_tokens=summed(given.get("output")),
    )
    return usage if is_counted(usage) else None


READER = KimiCli()
