"""One conversation of Claude Code, or of a program that writes its records: from records to events.

One reply of the model is several lines, one for each block, often with results of its first calls between them: lines
of one `message.id` are one completion. The counts of a reply are those of its last line, for they are written while it
streams; a block that is written again is kept once. Text that the program itself puts in the model's place (model
`<synthetic>`) is no completion. Refuses to invent: a message without role or content is damage.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from samework.decode.shapes import as_dict, as_dicts, as_list, as_text, compact
from samework.model.events import Event, Usage
from samework.model.records import Damage, RunEnd
from samework.model.words import EndReason, EventKind
from samework.readers.parts.agent_parts import (
    Step,
    StepByStep,
    Unknowns,
    content_of,
    is_counted,
    largest,
    note,
    object_call,
    part_text,
    summed,
)
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.records import Record

SYNTHETIC = "<synthetic>"
_SILENT = frozenset(
    {
        "agent-color", "agent-name", "agent-setting", "ai-title", "atis-latch", "auth_status", "bridge-session",
        "control_request", "control_response", "custom-title", "file-history-snapshot", "frame-link", "last-prompt",
        "mode", "permission-mode", "pr-link", "progress", "queue-operation", "rate_limit_event", "relocated",
        "stream_event", "summary", "tag", "tool_progress", "tool_use_summary", "worktree-state",
    }
)  # fmt: skip
_SILENT_SYSTEM = frozenset(
    {
        "api_error", "api_metrics", "api_refusal", "away_summary", "bridge_status", "error", "hook_progress",
        "hook_response", "hook_started", "init", "informational", "local_command", "memory_saved",
        "model_refusal_fallback", "permission_retry", "scheduled_task_fire", "session_start", "status",
        "stop_hook_summary", "task_notification", "task_started", "turn_duration",
    }
)  # fmt: skip
_MAX_SEEN = 100_000
_SILENT_BLOCKS = frozenset({"fallback"})
_EXIT = re.compile(r"\A(?:Error: )?Exit code (-?[0-9]{1,9})\b")
_INTERRUPTED = "[Request interrupted by user"
_RESULTS = {
    "success": EndReason.FINISHED,
    "error_max_turns": EndReason.LIMIT,
    "error_max_budget_usd": EndReason.LIMIT,
    "error_during_execution": EndReason.ERROR,
}


class Conversation(StepByStep):
    """State of one run while its records are read.

    is_adjacent: lines are one reply because nothing stands between them, and calls are known by their ids throughout
    (iFlow gives every line an id of its own and writes calls again).
    """

    def __init__(self, *, is_adjacent: bool = False) -> None:
        self.is_adjacent = is_adjacent
        self.seen: set[str] = set()
        self.has_stopped = False
        self.unknown = Unknowns()
        self.n_attachments = self.n_synthetic = 0
        self.first_attachment = self.first_synthetic = 0
        self.models: list[str] = []
        self.boundary: Event | None = None
        self.last_said = ""
        self.failure: str | None = None
        self.result: RunEnd | None = None

    def add(self, value: dict[str, object], offset: int, n_bytes: int, *, counts: bool = True) -> Iterator[Record]:
        """Records of one line. counts: False for history that is counted elsewhere: its tokens are left out."""
        kind, time = value.get("type"), as_text(value.get("timestamp"))
        if kind == "assistant":
            yield from self._assistant(value, offset, n_bytes, time, counts=counts)
        elif kind == "user":
            yield from self._user(value, offset, n_bytes, time)
        elif kind == "system":
            yield from self._system(value, offset, time)
        elif kind == "attachment":
            self._attachment(as_dict(value.get("attachment")), offset, time)
        elif kind == "result" and "session_id" in value:
            self._result(value, time)
        elif not isinstance(kind, str) or kind not in _SILENT:
            self.unknown.add(kind, offset)

    def finish(self) -> Iterator[Record]:
        """What is left, findings on the whole run, and its end."""
        open_calls = self.step.open_calls if self.step is not None else 0
        yield from self._edit_of_boundary()
        yield from self._flush()
        yield from self.unknown.findings()
        if self.n_attachments:
            reason = f"{self.n_attachments} attachments, which the model saw in words that are not recorded"
            yield note(self.first_attachment, reason, "unrendered-context")
        if self.n_synthetic:
            reason = f"{self.n_synthetic} messages that the program wrote in the model's place are no completions"
            yield note(self.first_synthetic, reason, "synthetic-message")
        if len(self.models) > 1:
            reason = f"the model changed within the run: {shortened(', '.join(self.models), 120)}"
            yield note(0, reason, "model-changed")
        yield self._end(open_calls)

    def _end(self, open_calls: int) -> RunEnd:
        if self.result is not None:
            return self.result
        if self.failure is not None:
            return RunEnd(EndReason.ERROR, shortened(self.failure, 200))
        if self.last_said.startswith(_INTERRUPTED):
            return RunEnd(EndReason.CANCELLED, "interrupted by the user")
        if open_calls:
            return RunEnd(EndReason.LOG_TRUNCATED, f"the record ends while {open_calls} calls wait for their results")
        return RunEnd(EndReason.UNRECORDED, "this format records no end")

    # one method a type of record

    def _assistant(
        self, value: dict[str, object], offset: int, n_bytes: int, time: str | None, *, counts: bool
    ) -> Iterator[Record]:
        message = as_dict(value.get("message"))
        content = message.get("content")
        if message.get("role") != "assistant" or not isinstance(content, str | list):
            yield Damage(offset, n_bytes, "a message of the assistant without role or content")
            return
        yield from self._edit_of_boundary()
        model = as_text(message.get("model"))
        if model == SYNTHETIC:
            self.first_synthetic = self.first_synthetic if self.n_synthetic else offset
            self.n_synthetic += 1
            self.failure = content_of(content)
            return
        self.failure, self.last_said = None, ""
        if model is not None and model not in self.models and len(self.models) < 100:  # noqa: PLR2004 (a bound)
            self.models.append(model)
        key = as_text(message.get("id")) or as_text(value.get("uuid"))
        if self.step is None or not self._goes_on(self.step, key):
            yield from self._flush()
            self.step, self.has_stopped = Step(key, offset, time), False
            self.seen = self.seen if self.is_adjacent and len(self.seen) < _MAX_SEEN else set()
        self.has_stopped = self.has_stopped or as_text(message.get("stop_reason")) is not None
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            self._block(self.step, block, offset, time)
        if counts:
            self._count(self.step, as_dict(message.get("usage")))

    def _goes_on(self, step: Step, key: str | None) -> bool:
        """True where a line of this key belongs to the open completion."""
        return not step.held if self.is_adjacent else key is not None and step.key == key

    def _block(self, step: Step, block: object, offset: int, time: str | None) -> None:
        """Add a block of the reply, once."""
        if not isinstance(block, dict):
            self.unknown.add("content/(no object)", offset)
            return
        kind = as_text(block.get("type")) or "(none)"
        mark = _mark(step.key, kind, block)
        if mark in self.seen:
            return
        self.seen.add(mark)
        if kind == "text":
            step.prose.append(as_text(block.get("text")) or "")
        elif kind in {"thinking", "redacted_thinking"}:
            shown = as_text(block.get("thinking"))
            step.reasoning += [shown] if shown else []
            step.is_hidden = step.is_hidden or not shown
        elif kind in {"tool_use", "server_tool_use", "mcp_tool_use"}:
            step.calls.append(object_call(block.get("name"), block.get("input"), block.get("id")))
        elif kind.endswith("tool_result"):
            step.held.append(_observation(block, offset, time))
        elif kind not in _SILENT_BLOCKS:
            self.unknown.add(f"content/{kind}", offset)
            step.prose.append(part_text(block))

    def _count(self, step: Step, given: dict[str, object]) -> None:
        cached, written = given.get("cache_read_input_tokens"), given.get("cache_creation_input_tokens")
        usage = Usage(
            prompt_tokens=summed(given.get("input_tokens"), cached, written),
            cached_tokens=summed(cached),
            cache_write_tokens=summed(written),
            completion_tokens=summed(given.get("output_tokens")),
            source="response" if self.has_stopped else "log",
        )
        if is_counted(usage):
            step.usage = largest(step.usage, usage)

    def _user(self, value: dict[str, object], offset: int, n_bytes: int, time: str | None) -> Iterator[Record]:
        message = as_dict(value.get("message"))
        content = message.get("content")
        if message.get("role") != "user" or not isinstance(content, str | list):
            yield Damage(offset, n_bytes, "a message of the user without role or content")
            return
        blocks = content if isinstance(content, list) else [content]
        results = [block for block in as_dicts(blocks) if block.get("type") == "tool_result"]
        for block in results:
            yield from self._later(_observation(block, offset, time))
        said = [block for block in blocks if not (isinstance(block, dict) and block.get("type") == "tool_result")]
        if not said:
            return
        text = content_of(said)
        self.last_said, self.failure = text, None
        if value.get("isCompactSummary") is True:
            self.boundary = None
            yield from self._flush()
            yield Event(EventKind.CONTEXT_EDIT, text, time=time, offset=offset)
        else:
            yield from self._edit_of_boundary()
            yield from self._later(Event(EventKind.USER, text, time=time, offset=offset))

    def _system(self, value: dict[str, object], offset: int, time: str | None) -> Iterator[Record]:
        kind = as_text(value.get("subtype"))
        if kind in {"compact_boundary", "microcompact_boundary"}:
            yield from self._edit_of_boundary()
            text = as_text(value.get("content")) or str(kind)
            self.boundary = Event(EventKind.CONTEXT_EDIT, text, time=time, offset=offset)
            if kind == "microcompact_boundary":
                yield from self._edit_of_boundary()
        elif kind not in _SILENT_SYSTEM:
            self.unknown.add(f"system/{kind}", offset)

    def _edit_of_boundary(self) -> Iterator[Event]:
        """A compaction whose summary is not recorded is an edit of its own."""
        if self.boundary is not None:
            event, self.boundary = self.boundary, None
            yield from self._flush()
            yield event

    def _attachment(self, given: dict[str, object], offset: int, time: str | None) -> None:
        if given.get("type") == "queued_command" and given.get("prompt") is not None:
            event = Event(EventKind.USER, content_of(given["prompt"]), time=time, offset=offset)
            if self.step is not None:
                self.step.held.append(event)
                return
        self.first_attachment = self.first_attachment if self.n_attachments else offset
        self.n_attachments += 1

    def _result(self, value: dict[str, object], time: str | None) -> None:
        said = as_text(value.get("subtype")) or "result"
        reason = EndReason.ERROR if value.get("is_error") is True else _RESULTS.get(said, EndReason.ERROR)
        reason = _RESULTS.get(said, reason) if said != "success" else reason
        self.result = RunEnd(reason, shortened(said, 60), time)


def _mark(key: str | None, kind: str, block: dict[str, object]) -> str:
    """What a block is known by when it is written again: a call by its id, another by its content in its reply."""
    if kind.endswith("tool_use") and as_text(block.get("id")) is not None:
        return f"{kind}/{block['id']}"
    said = as_text(block.get("text")) if kind == "text" else as_text(block.get("thinking"))
    return f"{kind}/{key}/{said or compact(block)}"


def _observation(block: dict[str, object], offset: int, time: str | None) -> Event:
    """A tool's result as the model saw it. No status is recorded but in the text of a failed command."""
    content = block.get("content")
    text = content_of(content) if isinstance(content, str | list) or content is None else _object_text(content)
    found = _EXIT.match(text) if block.get("is_error") is True else None
    return Event(
        EventKind.OBSERVATION,
        text,
        call_id=as_text(block.get("tool_use_id")),
        exit_status=int(found[1]) if found else None,
        time=time,
        offset=offset,
    )


def _object_text(content: object) -> str:
    """Text of a result that is an object, as iFlow writes it: the output of its function response."""
    given = as_dict(content)
    parts = given.get("responseParts", given)
    for part in as_list(parts) or [parts]:
        response = as_dict(as_dict(as_dict(part).get("functionResponse")).get("response"))
        for name in ("output", "error"):
            if isinstance(response.get(name), str):
                return str(response[name])
    return compact(content)
