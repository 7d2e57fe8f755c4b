"""AG-UI event streams: runs, messages, tool calls and snapshots, as a list, a line each, or server-sent events.

A run is what lies between RUN_STARTED and its end; runs of one thread follow each other, and each names the thread's
earlier run as its parent. Deltas are put together by the ids of messages and calls, so concurrent ones do not mix. A
completion is one assistant message with the calls that name it; one that a call needs and nobody sent is empty, for a
model may call without a word. A snapshot of messages replaces what was there: what it adds is new, what it drops is an
edit of the context. States, steps and activities are the front end's and not the model's. A file may hold several
streams by name (a JSON object of lists). Refuses what holds no event.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from samework.canon.model_calls import Conversation, Message, ModelCall
from samework.decode.items import is_sent, iter_items
from samework.decode.shapes import as_dict, as_dicts, as_list, as_moment, as_name, as_text
from samework.errors import DamagedRecord
from samework.model.events import ToolCall
from samework.model.reader import Evidence
from samework.model.records import Damage, RunEnd, RunStart
from samework.model.words import EndReason, EventKind
from samework.readers.parts.chat import message_of, value_text
from samework.readers.parts.usage import usage_of
from samework.text import raw_bytes, shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.events import Usage
    from samework.model.reader import Source
    from samework.model.records import Record

_TYPES = re.compile(
    rb'"type"\s*:\s*"(?:RUN_STARTED|TEXT_MESSAGE_(?:START|CONTENT|CHUNK)|TOOL_CALL_(?:START|CHUNK)|MESSAGES_SNAPSHOT)"'
)
_FRONT_END = frozenset(
    {
        "STATE_SNAPSHOT", "STATE_DELTA", "STEP_STARTED", "STEP_FINISHED", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA",
        "CUSTOM", "RAW", "TEXT_MESSAGE_END", "TOOL_CALL_END", "REASONING_START", "REASONING_END",
        "REASONING_MESSAGE_START", "REASONING_MESSAGE_END", "THINKING_START", "THINKING_END",
        "THINKING_TEXT_MESSAGE_START", "THINKING_TEXT_MESSAGE_END",
    }
)  # fmt: skip
_REASONING = frozenset(
    {
        "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CHUNK", "THINKING_TEXT_MESSAGE_CONTENT", "THINKING_CONTENT",
    }
)  # fmt: skip


class AgUi:
    """Reader of AG-UI events."""

    name = "ag_ui"
    title = "AG-UI event streams"
    detects = "events such as RUN_STARTED and TEXT_MESSAGE_START; a list, JSON Lines or server-sent events"
    proven = True
    evidence = Evidence(
        text="yes", actions="yes", raw_arguments="yes", observations="yes", reuse="of runs with one model call"
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """0.9 for a stream of such events."""
        if source.is_dir:
            return 0.0
        begins = head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))
        return 0.9 if (begins or is_sent(head)) and _TYPES.search(head) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield one run for each pair of RUN_STARTED and its end.

        Raises: DamagedRecord: no event at all.
        """
        streams = _Streams()
        for item in _events(source):
            if isinstance(item, Damage):
                yield from streams.damaged(item)
            else:
                yield from streams.event(*item)
        yield from streams.finish()
        if not streams.n_events:
            raise DamagedRecord("no event of AG-UI", place=visible(source.path))


def _events(source: Source) -> Iterator[tuple[dict[str, object], int, str] | Damage]:
    """Events with their offset and the name of their stream, "" where the file holds one."""
    for item in iter_items(source):
        if isinstance(item, Damage):
            yield item
            continue
        streams = {name: events for name, events in item.value.items() if isinstance(events, list)}
        if "type" in item.value or not streams:
            yield item.value, item.offset, ""
            continue
        for name, events in streams.items():
            for event in events:
                yield (event, item.offset, name) if isinstance(event, dict) else Damage(item.offset, 0, "no event")


class _Streams:
    """Runs of a file, as events go by."""

    def __init__(self) -> None:
        self.n_events = 0
        self.n_runs = 0
        self.stream = ""
        self.run: _Run | None = None
        self.last_of_thread: dict[str, str] = {}

    def damaged(self, damage: Damage) -> Iterator[Record]:
        """Damage inside a run is the run's."""
        if self.run is None:
            yield from self._begin({}, damage.offset)
        yield damage

    def event(self, event: dict[str, object], offset: int, stream: str) -> Iterator[Record]:
        """One event."""
        kind = as_text(event.get("type"))
        if kind is None:
            yield from self.damaged(Damage(offset, 0, "an event without a type"))
            return
        self.n_events += 1
        if stream != self.stream:
            yield from self.finish()
            self.stream = stream
        if kind == "RUN_STARTED":
            yield from self.finish()
            yield from self._begin(event, offset)
            return
        if self.run is None:
            yield from self._begin({}, offset)
        if self.run is not None:
            yield from self.run.event(kind, event, offset)

    def _begin(self, event: dict[str, object], offset: int) -> Iterator[Record]:
        thread, run_id = as_name(event.get("threadId")), as_name(event.get("runId"))
        parent = as_name(event.get("parentRunId")) or self.last_of_thread.get(thread or "")
        self.run = _Run()
        key = f"{self.stream}\0{thread}\0{run_id}\0{self.n_runs}"
        yield RunStart(
            layout="ag-ui",
            native_id=run_id,
            parent_native_id=parent if parent != run_id else None,
            content_sha256=hashlib.sha256(raw_bytes(key)).hexdigest() if self.n_runs or self.stream else None,
            started=as_moment(event.get("timestamp")),
            extra={"thread": thread} if thread else None,
        )
        self.n_runs += 1
        if thread and run_id:
            self.last_of_thread[thread] = run_id
        given = as_dict(event.get("input")).get("messages")
        if isinstance(given, list):
            yield from self.run.snapshot(given, offset)

    def finish(self) -> Iterator[Record]:
        """End the run that is open."""
        if self.run is not None:
            yield from self.run.end()
            self.run = None


class _Run:
    """Messages and calls of one run as their deltas come in."""

    def __init__(self) -> None:
        self.conversation = Conversation()
        self.texts: dict[str, list[str]] = {}
        self.roles: dict[str, str] = {}
        self.calls: dict[str, list[str]] = {}
        self.call_facts: dict[str, tuple[str, str | None]] = {}
        self.order: list[tuple[str, str]] = []
        self.reasoning: list[str] = []
        self.hidden = False
        self.reason = EndReason.LOG_TRUNCATED
        self.detail: str | None = "the stream ends without RUN_FINISHED"
        self.usage: Usage | None = None  # of the whole run, so of its one model call or of none
        self.time: str | None = None
        self.offset = 0

    def event(self, kind: str, event: dict[str, object], offset: int) -> Iterator[Record]:
        """One event inside of the run."""
        self.offset = offset
        self.time = as_moment(event.get("timestamp")) or self.time
        if kind.startswith("TEXT_MESSAGE_") and kind != "TEXT_MESSAGE_END":
            yield from self._text(event)
        elif kind in {"TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_CHUNK"}:
            self._call(event)
        elif kind == "TOOL_CALL_RESULT":
            yield from self._flush()
            call_id = as_name(event.get("toolCallId"))
            message = Message(EventKind.OBSERVATION, value_text(event.get("content")), call_id=call_id)
            yield from self.conversation.answer(message, self.time, offset)
        elif kind == "MESSAGES_SNAPSHOT":
            yield from self._flush()
            yield from self.snapshot(as_list(event.get("messages")), offset)
        elif kind in _REASONING:
            self.reasoning.append(as_text(event.get("delta")) or as_text(event.get("content")) or "")
        elif kind == "REASONING_ENCRYPTED_VALUE":
            self.hidden = True
        elif kind in {"RUN_FINISHED", "RUN_ERROR"}:
            self._ended(kind, event)
        elif kind not in _FRONT_END:
            yield Damage(offset, 0, f"an event of the unknown type {shortened(kind, 60)!r}", code="unknown-record")

    def _text(self, event: dict[str, object]) -> Iterator[Record]:
        key = as_name(event.get("messageId")) or (self.order[-1][1] if self.order else "")
        if key not in self.texts:
            if self.call_facts:  # a message after calls begins another completion
                yield from self._flush()
            self.texts[key] = []
            self.roles[key] = as_text(event.get("role")) or "assistant"
            self.order.append(("text", key))
        self.texts[key].append(as_text(event.get("delta")) or "")

    def _call(self, event: dict[str, object]) -> None:
        key = as_name(event.get("toolCallId")) or (self.order[-1][1] if self.order else "")
        if key not in self.calls:
            self.calls[key] = []
            self.order.append(("call", key))
            self.call_facts[key] = (as_name(event.get("toolCallName")) or "", as_name(event.get("parentMessageId")))
        self.calls[key].append(as_text(event.get("delta")) or "")

    def _flush(self) -> Iterator[Record]:
        """Completions out of what came in: a message each, calls with the message that they name or with the last."""
        made: list[tuple[str, str, list[ToolCall]]] = []
        holders: dict[str | None, tuple[str, str, list[ToolCall]]] = {}
        for kind, key in self.order:
            if kind == "text":
                made.append((key, "".join(self.texts[key]), []))
                holders.setdefault(key, made[-1])
                continue
            name, parent = self.call_facts[key]
            call = ToolCall(name, "".join(self.calls[key]), key or None)
            holder = holders.get(parent) or (made[-1] if made else None)
            if holder is None:
                holder = holders[parent or ""] = (parent or "", "", [])
                made.append(holder)
            holder[2].append(call)
        for key, text, calls in made:
            role = self.roles.get(key, "assistant")
            if role != "assistant":
                for message in message_of({"role": role, "content": text}):
                    yield from self.conversation.answer(message, self.time, self.offset)
                continue
            reply = Message(
                EventKind.COMPLETION,
                text,
                calls=tuple(calls),
                reasoning="".join(self.reasoning) or None,
                reasoning_hidden=self.hidden,
            )
            self.reasoning, self.hidden = [], False
            usage = self.usage if self.conversation.n_steps == 0 and len(made) == 1 else None
            yield from self.conversation.add(ModelCall(reply=reply, usage=usage, time=self.time, offset=self.offset))
        self.order, self.texts, self.calls, self.call_facts = [], {}, {}, {}

    def snapshot(self, given: list[object], offset: int) -> Iterator[Record]:
        """All messages of the conversation at a moment."""
        messages: list[Message] = []
        for one in as_dicts(given):
            call_id = one.get("toolCallId")
            messages += message_of({**one, "tool_call_id": call_id} if call_id is not None else one)
        yield from self.conversation.restate(tuple(messages), offset)

    def _ended(self, kind: str, event: dict[str, object]) -> None:
        if kind == "RUN_ERROR":
            self.reason, self.detail = EndReason.ERROR, shortened(as_text(event.get("message")) or "error", 200)
        elif self.reason is not EndReason.ERROR:
            self.reason, self.detail = EndReason.FINISHED, None
            given = as_list(event.get("usage"))
            self.usage = usage_of(given[0]) if len(given) == 1 else None

    def end(self) -> Iterator[Record]:
        """What is left, and the end."""
        yield from self._flush()
        if self.reasoning or self.hidden:
            reply = Message(
                EventKind.COMPLETION, reasoning="".join(self.reasoning) or None, reasoning_hidden=self.hidden
            )
            yield from self.conversation.add(ModelCall(reply=reply, time=self.time, offset=self.offset))
        yield from self.conversation.finish()
        yield RunEnd(self.reason, self.detail, ended=self.time)


READER = AgUi()
