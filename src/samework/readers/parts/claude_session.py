"""One conversation of Claude Code, or of a program that writes its records: from records to events.

One reply of the model is several lines, one for each block, often with results of its first calls between them: lines
of one `message.id` are one completion. The counts of a reply are those of its last line, for they are written while it
streams; a block that is written again is kept once. A completion whose later lines stand behind another one waits for
them, unless more than 64 wait or the context is edited between: what comes then is a completion of its own, without
tokens. Text that the program itself puts in the model's place (model `<synthetic>`) is no completion. Refuses to
invent: a message without role or content is damage.
"""

from __future__ import annotations

import re
from collections import deque
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
from samework.readers.parts.claude_words import SYNTHETIC, is_failure, is_prompt
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from samework.model.records import Record

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
_MAX_WAITING = 64
_SILENT_BLOCKS = frozenset({"fallback"})
_EXIT = re.compile(r"\A(?:Error: )?Exit code (-?[0-9]{1,9})\b")
_INTERRUPTED = "[Request interrupted by user"
_RESULTS = {
    "success": EndReason.FINISHED,
    "error_max_turns": EndReason.LIMIT,
    "error_max_budget_usd": EndReason.LIMIT,
    "error_during_execution": EndReason.ERROR,
}


class _Reply(Step):
    """A completion. has_stopped: a line of it says why it ended, so its counts are final."""

    has_stopped = False


class Conversation(StepByStep):
    """State of one run while its records are read.

    is_adjacent: lines are one reply because nothing stands between them, and calls are known by their ids throughout
    (iFlow gives every line an id of its own and writes calls again). parted: replies whose lines others stand between,
    with the offset of the last. ends_in_result: a record of the end closes what is whole, as in the printed stream.
    """

    step: _Reply | None = None

    def __init__(
        self,
        *,
        is_adjacent: bool = False,
        parted: Mapping[str, int] | None = None,
        ends_in_result: bool = False,
    ) -> None:
        self.is_adjacent = is_adjacent
        self.parted = parted or {}
        self.ends_in_result = ends_in_result
        self.waiting: deque[_Reply] = deque()
        self.told: set[str] = set()
        self.seen: set[str] = set()
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
        open_calls = self._open_calls()
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
        if self.ends_in_result:
            return RunEnd(EndReason.LOG_TRUNCATED, "the stream ends without its result")
        return RunEnd(EndReason.UNRECORDED, "this format records no end")

    def _open_calls(self) -> int:
        """Calls of the completions at the end that no observation there answers."""
        steps = [*self.waiting, *([] if self.step is None else [self.step])]
        answered = {event.call_id for step in steps for event in step.held if event.kind is EventKind.OBSERVATION}
        return sum(call.call_id not in answered for step in steps for call in step.calls)

    # completions, of which some wait for their later lines

    def _flush(self) -> Iterator[Event]:
        """Every completion that is open or waits; none is then."""
        yield from self._next(None)

    def _next(self, offset: int | None) -> Iterator[Event]:
        """Close the open completion. It waits where lines of it come at or after `offset` (None: none may wait)."""
        if self.step is not None:
            self.waiting.append(self.step)
            self.step = None
        while self.waiting:
            step = self.waiting[0]
            is_awaited = offset is not None and self._last_line(step) >= offset
            if is_awaited and len(self.waiting) <= _MAX_WAITING:
                return
            if step.key is not None and step.key in self.parted:
                self.told.add(step.key)
            yield from self.waiting.popleft().events()

    def _last_line(self, step: Step) -> int:
        return self.parted.get(step.key, -1) if step.key is not None else -1

    def _known(self, key: str | None) -> _Reply | None:
        """The completion that a line of this key belongs to, None where it begins one."""
        if self.step is None or self.is_adjacent:
            return self.step if self.step is not None and not self.step.held else None
        if key is None:
            return None
        return self.step if self.step.key == key else next((step for step in self.waiting if step.key == key), None)

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
            self._synthetic(value, content_of(content), offset)
            return
        self.failure, self.result, self.last_said = None, None, ""
        if model is not None and model not in self.models and len(self.models) < 100:  # noqa: PLR2004 (a bound)
            self.models.append(model)
        key = as_text(message.get("id")) or as_text(value.get("uuid"))
        step = self._known(key)
        if step is None:
            yield from self._next(offset)
            step = self.step = _Reply(key, offset, time)
            if not self.waiting and not (self.is_adjacent and len(self.seen) < _MAX_SEEN):
                self.seen = set()
        step.has_stopped = step.has_stopped or as_text(message.get("stop_reason")) is not None
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            self._block(step, block, offset, time)
        if counts and key not in self.told:
            self._count(step, as_dict(message.get("usage")))

    def _synthetic(self, value: dict[str, object], text: str, offset: int) -> None:
        """What the program wrote in the model's place: the run's failure where it says that no reply came."""
        self.first_synthetic = self.first_synthetic if self.n_synthetic else offset
        self.n_synthetic += 1
        if is_failure(value, text):
            self.failure, self.result = text, None

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

    @staticmethod
    def _count(step: _Reply, given: dict[str, object]) -> None:
        cached, written = given.get("cache_read_input_tokens"), given.get("cache_creation_input_tokens")
        usage = Usage(
            prompt_tokens=summed(given.get("input_tokens"), cached, written),
            cached_tokens=summed(cached),
            cache_write_tokens=summed(written),
            completion_tokens=summed(given.get("output_tokens")),
            source="response" if step.has_stopped else "log",
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
        if is_prompt(value) or value.get("isCompactSummary") is True:
            self.last_said, self.failure, self.result = text, None, None
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
