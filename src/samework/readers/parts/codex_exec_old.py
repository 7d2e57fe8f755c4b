"""What `codex exec --json` printed before it had threads and items: events of the interface, `{id, msg}` a line.

Prose and calls that no result parts are one completion; a count of tokens ends it. The rules are those of
`codex_exec`. Refuses to count a repeated total of tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.decode.shapes import as_dict, as_text, compact
from samework.model.events import Event, ToolCall
from samework.model.records import Damage, RunEnd
from samework.model.words import EndReason, EventKind
from samework.readers.parts.agent_parts import Step, StepByStep, Unknowns, content_of, is_counted
from samework.readers.parts.codex_parts import TokenCounts, ended_turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.records import Record

_SILENT = frozenset(
    {
        "agent_message_delta", "agent_reasoning_delta", "agent_reasoning_raw_content", "background_event",
        "agent_reasoning_section_break", "exec_approval_request", "exec_command_output_delta", "plan_update",
        "session_configured", "shutdown_complete", "stream_error", "turn_diff", "web_search_begin",
        "user_message", "agent_reasoning_raw_content_delta", "apply_patch_approval_request",
    }
)  # fmt: skip


class OldStream(StepByStep):
    """State of a stream that is being read."""

    def __init__(self) -> None:
        self.is_closed = False
        self.counts = TokenCounts()
        self.unknown = Unknowns()
        self.end: RunEnd | None = None

    def add(self, value: dict[str, object], offset: int, n_bytes: int) -> Iterator[Record]:
        """Records of one line."""
        message = as_dict(value.get("msg"))
        kind = as_text(message.get("type"))
        if not message:
            if "prompt" in value:
                yield Event(EventKind.USER, content_of(value["prompt"]), offset=offset)
            elif "model" not in value and "workdir" not in value:
                yield Damage(offset, n_bytes, "neither an event nor what was asked")
        elif kind in {"agent_message", "agent_reasoning"}:
            yield from self._open(offset)
            if self.step is not None:
                text = content_of(message.get("message" if kind == "agent_message" else "text"))
                (self.step.prose if kind == "agent_message" else self.step.reasoning).append(text)
        elif kind in {"exec_command_begin", "patch_apply_begin", "mcp_tool_call_begin"}:
            yield from self._open(offset)
            if self.step is not None:
                self.step.calls.append(_call(kind, message))
        elif kind in {"exec_command_end", "patch_apply_end", "mcp_tool_call_end"}:
            yield from self._result(kind, message, offset)
        elif kind == "token_count":
            self._count(message)
        else:
            self._other(kind, message, offset)

    def _other(self, kind: str | None, message: dict[str, object], offset: int) -> None:
        if kind in {"task_complete", "turn_aborted", "error"}:
            self.end = ended_turn(kind, message, self.end, None)
        elif kind == "task_started":
            self.end = None
        elif kind not in _SILENT:
            self.unknown.add(f"msg/{kind}", offset)

    def _open(self, offset: int) -> Iterator[Event]:
        if self.step is None or self.step.held or self.is_closed:
            yield from self._flush()
            self.step, self.is_closed = Step(None, offset, None), False

    def _result(self, kind: str, message: dict[str, object], offset: int) -> Iterator[Event]:
        code, text = message.get("exit_code"), ""
        if kind == "mcp_tool_call_end":
            result = as_dict(message.get("result"))
            text = content_of(as_dict(result.get("Ok")).get("content")) if "Ok" in result else compact(result)
        else:
            seen = (message.get(name) for name in ("formatted_output", "aggregated_output", "stdout"))
            text = next((said for said in seen if isinstance(said, str)), "")
        is_code = isinstance(code, int) and not isinstance(code, bool) and abs(code) < 1 << 31
        event = Event(
            EventKind.OBSERVATION,
            text,
            call_id=as_text(message.get("call_id")),
            exit_status=code if is_code and isinstance(code, int) else None,
            offset=offset,
        )
        yield from self._later(event)

    def _count(self, message: dict[str, object]) -> None:
        usage, _, _ = self.counts.add_count(as_dict(message.get("info")))
        if usage is not None and is_counted(usage) and self.step is not None and self.step.usage is None:
            self.step.usage = usage
            self.is_closed = True

    def finish(self) -> Iterator[Record]:
        """What is left, and the end."""
        yield from self._flush()
        yield from self.unknown.findings()
        yield self.end or RunEnd(EndReason.LOG_TRUNCATED, "the output ends within a task")


def _call(kind: str, message: dict[str, object]) -> ToolCall:
    call_id = as_text(message.get("call_id"))
    if kind == "exec_command_begin":
        return ToolCall("exec_command", compact(message.get("command")), call_id, exact=False)
    if kind == "patch_apply_begin":
        return ToolCall("apply_patch", compact(message.get("changes")), call_id, exact=False)
    asked = as_dict(message.get("invocation"))
    name = ".".join(part for part in (as_text(asked.get("server")), as_text(asked.get("tool"))) if part)
    return ToolCall(name, compact(asked.get("arguments")), call_id, exact=False)
