"""What `codex exec --json` prints: threads, turns and items, a JSON object a line.

An item is a command, a change of files, a call of a tool or a piece of prose. The requests to the model are not
marked, so items that no result parts are one completion. Commands are as the shell was given them, which is not the
argument text that the model wrote. Tokens are totals of a whole thread: they are kept as such, never as those of one
call. Items come twice, when they start and when they are done: each is read once. What was printed before there were
threads, `{id, msg}` a line, is read from its definition; there tokens stand with each call. Refuses no JSON Lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from samework.decode.jsonl import iter_lines, iter_records
from samework.decode.shapes import as_dict, as_text, compact
from samework.decode.strict_json import NotJson, loads
from samework.model.events import Event, ToolCall
from samework.model.reader import Evidence
from samework.model.records import Damage, RunEnd, RunStart
from samework.model.words import EndReason, EventKind
from samework.readers.parts.agent_parts import Step, StepByStep, Unknowns, content_of, note
from samework.readers.parts.codex_exec_old import OldStream
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_TYPE = re.compile(rb'^\{"type"\s*:\s*"(?:thread\.started|turn\.(?:started|completed|failed)|item\.[a-z]+)"')
_OLD = re.compile(rb'^\{"id"\s*:\s*"[^"]*"\s*,\s*"msg"\s*:\s*\{"type"\s*:\s*"')
_LOOKED_AT = 20
_PROSE = frozenset({"agent_message", "assistant_message"})
_CALLS = frozenset(
    {"command_execution", "file_change", "mcp_tool_call", "web_search", "collab_tool_call", "image_generation"}
)
_SILENT_ITEMS = frozenset({"todo_list"})


class CodexExec:
    """Reader of the output of `codex exec --json`."""

    name = "codex_exec"
    title = "codex exec --json output (JSON Lines)"
    detects = "JSON Lines of thread.started, turn.started, item.completed, or the older ones of `id` and `msg`"
    proven = True
    evidence = Evidence(
        text="yes",
        actions="yes",
        observations="before the cut that the model saw",
        reuse="in older output",
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 where one of the first lines is a thread, a turn or an item."""
        if source.is_dir:
            return 0.0
        lines = head.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n", _LOOKED_AT)[:_LOOKED_AT]
        if any(_TYPE.match(line) for line in lines):
            return 0.95
        return 0.9 if any(_OLD.match(line) for line in lines) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield one run.

        Raises: InputError: the source cannot be opened.
        """
        thread, usage = _thread(source)
        yield RunStart(
            layout="codex",
            agent="codex",
            native_id=thread,
            recorder="codex exec",
            extra={"thread_usage": usage} if usage else None,
        )
        printed: _Printed | OldStream = OldStream() if _is_old(source) else _Printed()
        for item in iter_records(source):
            if isinstance(item, Damage):
                yield item
            elif isinstance(item.value, dict):
                yield from printed.add(item.value, item.offset, len(item.raw))
            else:
                yield Damage(item.offset, len(item.raw), f"line {item.number}: no object")
        yield from printed.finish()


def _is_old(source: Source) -> bool:
    """True where the output is of before threads and items."""
    return any(_OLD.match(line) for line in source.head().split(b"\n", _LOOKED_AT)[:_LOOKED_AT])


def _thread(source: Source) -> tuple[str | None, dict[str, object]]:
    """Id of the thread, and the last total of its tokens."""
    thread: str | None = None
    usage: dict[str, object] = {}
    for line in iter_lines(source):
        if isinstance(line, Damage) or not (b"thread.started" in line[2][:80] or b"turn.completed" in line[2][:80]):
            continue
        try:
            value = as_dict(loads(line[2]))
        except NotJson:
            continue
        thread = thread or as_text(value.get("thread_id"))
        usage = as_dict(value.get("usage")) or usage
    return thread, usage


class _Printed(StepByStep):
    """State of a stream that is being read. begun: calls whose start was seen, by the id of their item."""

    def __init__(self) -> None:
        self.begun: dict[str, ToolCall] = {}
        self.unknown = Unknowns()
        self.end: RunEnd | None = None
        self.is_live = False
        self.warnings: list[Damage] = []

    def add(self, value: dict[str, object], offset: int, n_bytes: int) -> Iterator[Record]:
        """Records of one line."""
        kind = as_text(value.get("type"))
        if kind in {"item.started", "item.updated", "item.completed"}:
            item = as_dict(value.get("item"))
            if as_text(item.get("type")) is None:
                yield Damage(offset, n_bytes, "an item without a type")
                return
            yield from self._item(item, offset, is_done=kind == "item.completed")
        elif kind == "turn.started":
            self.is_live, self.end = True, None
        elif kind == "turn.completed":
            self.is_live, self.end = False, RunEnd(EndReason.FINISHED, "turn.completed")
        elif kind in {"turn.failed", "error"}:
            said = as_dict(value.get("error")).get("message", value.get("message"))
            self.is_live, self.end = False, RunEnd(EndReason.ERROR, shortened(as_text(said) or str(kind), 200))
        elif kind != "thread.started":
            self.unknown.add(kind, offset)

    def finish(self) -> Iterator[Record]:
        """What is left, and the end."""
        yield from self._flush()
        yield from self.warnings[:100]
        yield from self.unknown.findings()
        if self.end is not None and not self.is_live:
            yield self.end
        else:
            yield RunEnd(EndReason.LOG_TRUNCATED, "the output ends within a turn")

    def _item(self, item: dict[str, object], offset: int, *, is_done: bool) -> Iterator[Record]:
        kind, name = as_text(item.get("type")) or "", as_text(item.get("id")) or ""
        if kind in _CALLS or kind in _PROSE or kind == "reasoning":
            self.is_live, self.end = True, None  # an error that a turn goes on after was no end
        if kind in _CALLS:
            if name not in self.begun or not name:
                yield from self._open(offset)
                call = _call(kind, item)
                self.begun[name] = call
                if self.step is not None:
                    self.step.calls.append(call)
            if is_done and self.step is not None:
                self.step.held.append(_result(kind, item, self.begun.pop(name), offset))
        elif not is_done or kind in _SILENT_ITEMS:
            return
        elif kind in _PROSE or kind == "reasoning":
            yield from self._open(offset)
            if self.step is not None:
                (self.step.prose if kind in _PROSE else self.step.reasoning).append(content_of(item.get("text")))
        elif kind == "error":
            reason = f"the program said: {shortened(as_text(item.get('message')) or '', 160)}"
            self.warnings.append(note(offset, reason, "program-message"))
        else:
            self.unknown.add(f"item/{kind}", offset)

    def _open(self, offset: int) -> Iterator[Event]:
        if self.step is None or self.step.held:
            yield from self._flush()
            self.step = Step(None, offset, None)


def _call(kind: str, item: dict[str, object]) -> ToolCall:
    call_id = as_text(item.get("id"))
    if kind == "command_execution":
        command = item.get("command")
        text = command if isinstance(command, str) else compact(command)
        return ToolCall("command_execution", text, call_id, exact=False, is_json=not isinstance(command, str))
    if kind == "mcp_tool_call":
        name = ".".join(part for part in (as_text(item.get("server")), as_text(item.get("tool"))) if part)
        return ToolCall(name, compact(item.get("arguments")), call_id, exact=False)
    told = {"file_change": "changes", "web_search": "query", "collab_tool_call": "prompt"}.get(kind, "prompt")
    return ToolCall(kind, compact(item.get(told)), call_id, exact=False)


def _result(kind: str, item: dict[str, object], call: ToolCall, offset: int) -> Event:
    status, text = None, as_text(item.get("status")) or ""
    if kind == "command_execution":
        code = item.get("exit_code")
        status = code if isinstance(code, int) and not isinstance(code, bool) and abs(code) < 1 << 31 else None
        text = content_of(item.get("aggregated_output"))
    elif kind == "mcp_tool_call":
        result = as_dict(item.get("result"))
        text = content_of(result.get("content")) if result else compact(item.get("error"))
    return Event(EventKind.OBSERVATION, text, call_id=call.call_id, exit_status=status, offset=offset)


READER = CodexExec()
