"""Model calls to events: what each call adds to the conversation, tools answered outside of it, replies.

A call repeats the conversation that it goes on from; only what is new becomes events, and one that leaves it is an edit
of the context. A tool's result that its own record gives counts once, whether a later prompt repeats it or not. A reply
whose content nobody recorded keeps its usage, and leaves the run incomplete: it is no empty reply. A call that failed
left none, and is told of at the end.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from samework.canon.conversation import continuation
from samework.model.events import Event, ToolCall, Usage
from samework.model.records import Damage
from samework.model.words import EventKind
from samework.text import counted, raw_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message of a prompt, or a reply. call_id: of an observation, the call that it answers."""

    kind: EventKind
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    reasoning: str | None = None
    reasoning_hidden: bool = False
    exit_status: int | None = None

    @property
    def told(self) -> tuple[object, ...]:
        """What makes two records of one message the same: a call's id stands for its arguments."""
        calls = tuple([(call.name, call.call_id or call.arguments) for call in self.calls]) if self.calls else ()
        return self.kind, self.text, calls, self.call_id


class ModelCall(msgspec.Struct, frozen=True, gc=False):
    """One call of a model. messages: its prompt, None where it is not recorded. reply: None where it is not recorded.

    tools: the tool definitions as text. failed: the call ended in an error, so there is no reply to record.
    """

    messages: tuple[Message, ...] | None = None
    reply: Message | None = None
    tools: str | None = None
    usage: Usage | None = None
    time: str | None = None
    offset: int = 0
    token_ids: tuple[int, ...] | None = None
    prompt_token_ids: tuple[int, ...] | None = None
    failed: bool = False


class Conversation:
    """The events of one run, call by call."""

    def __init__(self) -> None:
        self.n_steps = 0
        self._seen: list[Message] = []
        self._told: list[tuple[object, ...]] = []
        self._held: tuple[Message, ...] = ()
        self._prompted: dict[int, tuple[object, ...]] = {}
        self._tools: str | None = None
        self._gaps: set[str] = set()
        self._answered: set[str] = set()
        self._claimed: set[str] = set()
        self._waiting: list[tuple[Message, str | None, int]] = []
        self._failed: list[int] = []
        self._ends_failed = False

    def add(self, call: ModelCall) -> Iterator[Event | Damage]:
        """What a call adds."""
        if call.tools and call.tools != self._tools:
            self._tools = call.tools
            yield Event(EventKind.TOOLS, call.tools, offset=call.offset)
        if call.messages:
            yield from self._prompt(call.messages, call.offset)
        if self._waiting:
            yield from self.flush()
        self._ends_failed = call.reply is None and call.failed
        if self._ends_failed:
            self._failed.append(call.offset)
            return
        if call.reply is None:
            yield from self._missing("the reply of a model call is not recorded", call.offset)
        yield from self._reply(call.reply or Message(EventKind.COMPLETION), call)

    def _prompt(self, messages: tuple[Message, ...], offset: int) -> Iterator[Event | Damage]:
        # Where readers convert a message once, prompts share it: of the one before, what it tells is known.
        known = self._prompted
        told = [known.get(id(message)) or message.told for message in messages]
        self._prompted = dict(zip(map(id, messages), told, strict=True))
        self._held = messages  # so that no other message gets an id of these
        waiting = {message.call_id for message, _, _ in self._waiting}
        n_kept, first_new = continuation(self._told, told)
        if n_kept < len(self._seen):
            text = f"the conversation goes on from its first {n_kept} messages"
            yield Event(EventKind.CONTEXT_EDIT, text, offset=offset)
            self._seen, self._told = self._seen[:n_kept], self._told[:n_kept]
        for place in range(n_kept, len(messages)):
            message = messages[place]
            self._seen.append(message)
            self._told.append(told[place])
            if place < first_new:
                continue
            if message.kind is EventKind.OBSERVATION and message.call_id in waiting:
                self._waiting = [one for one in self._waiting if one[0].call_id != message.call_id]
            yield self._event(message, None, offset)

    def _missing(self, reason: str, offset: int) -> Iterator[Damage]:
        """The first gap of its kind; it leaves the run incomplete, and there may be as many as calls."""
        if reason not in self._gaps:
            self._gaps.add(reason)
            yield Damage(offset, 0, reason, code="content-unrecorded")

    def _keep(self, message: Message) -> None:
        self._seen.append(message)
        self._told.append(message.told)

    def restate(self, messages: tuple[Message, ...], offset: int) -> Iterator[Event | Damage]:
        """The conversation as a snapshot tells it: what is new in it, and an edit where it left something out."""
        yield from self.flush()
        yield from self._prompt(messages, offset)

    def answer(self, message: Message, time: str | None, offset: int) -> Iterator[Event]:
        """A message that is no reply, on its own: a tool's result, a user's turn. A result that is known is skipped."""
        if message.kind is EventKind.OBSERVATION and message.call_id in self._answered:
            return
        self._keep(message)
        yield self._event(message, time, offset)

    def _reply(self, message: Message, call: ModelCall) -> Iterator[Event]:
        self.n_steps += 1
        self._keep(message)
        yield Event(
            EventKind.COMPLETION,
            message.text,
            reasoning=message.reasoning,
            reasoning_hidden=message.reasoning_hidden,
            calls=message.calls,
            token_ids=call.token_ids,
            prompt_token_ids=call.prompt_token_ids,
            n_prompt_tokens=call.usage.prompt_tokens if call.usage else None,
            usage=call.usage,
            time=call.time,
            offset=call.offset,
        )

    def tool(
        self, name: str, arguments: ToolCall, result: Message | None, time: str | None, offset: int
    ) -> Iterator[Event | Damage]:
        """A tool as its own record tells of it; a call that no reply holds is one of a reply that nobody recorded."""
        made = self._made_by_model(arguments, name)
        if made is None:
            yield from self.flush()
            yield from self._missing("the reply that called a tool is not recorded", offset)
            reply = Message(EventKind.COMPLETION, calls=(arguments,))
            yield from self._reply(reply, ModelCall(time=time, offset=offset))
        elif result is not None and result.call_id is None:
            result = msgspec.structs.replace(result, call_id=made.call_id)
        if result is not None and (result.call_id is None or result.call_id not in self._answered):
            self._waiting.append((result, time, offset))

    def _made_by_model(self, told: ToolCall, name: str) -> ToolCall | None:
        """The call of a reply that a tool's record is about: that of its id, else the oldest of its name still open."""
        for message in self._seen[-_RECENT:]:
            for call in message.calls:
                if told.call_id is not None:
                    if call.call_id == told.call_id:
                        return call
                elif call.name == name and self._is_open(call.call_id or ""):
                    if call.call_id is not None:
                        self._claimed.add(call.call_id)
                    return call
        return None

    def _is_open(self, call_id: str) -> bool:
        return call_id not in self._answered and call_id not in self._claimed

    def finish(self) -> Iterator[Event | Damage]:
        """What is left at the end of the run, and calls that failed; of the last one the run's end tells."""
        yield from self.flush()
        yield from failed_calls(self._failed[:-1] if self._ends_failed else self._failed)

    def flush(self) -> Iterator[Event]:
        """Results of tools that no prompt has repeated so far."""
        waiting, self._waiting = self._waiting, []
        for message, time, offset in waiting:
            if message.call_id is None or message.call_id not in self._answered:
                self._keep(message)
                yield self._event(message, time, offset)

    def _event(self, message: Message, time: str | None, offset: int) -> Event:
        if message.kind is EventKind.OBSERVATION and message.call_id is not None:
            self._answered.add(message.call_id)
        if message.kind is EventKind.COMPLETION:
            self.n_steps += 1
        return Event(
            message.kind,
            message.text,
            reasoning=message.reasoning,
            calls=message.calls,
            call_id=message.call_id,
            exit_status=message.exit_status,
            time=time,
            offset=offset,
        )


_RECENT = 200


def failed_calls(offsets: list[int]) -> Iterator[Damage]:
    """What a run says of model calls that failed, by their places."""
    if offsets:
        reason = f"{counted(len(offsets), 'model call')} failed and left no reply; what such calls counted is left out"
        yield Damage(offsets[0], 0, reason, code="failed-call", taints_run=False)


def marked(kind: str, content: str) -> str:
    """A mark for a part that is no text: its kind and a digest of what it holds.

    >>> marked("image", "x")
    '<image sha256 2d711642b726b044>'
    """
    return f"<{kind} sha256 {hashlib.sha256(raw_bytes(content)).hexdigest()[:16]}>"
