"""Anthropic Messages: replies, wrappers of request and reply, request bodies, and stream events.

One run is one conversation: a request repeats what was said, so only what is new counts, and one that leaves it is an
edit of the context; a request that shares no message with the one before begins another run. Usage counts what was read
from and written to the cache apart from the input; here they are part of the prompt. Arguments are decoded objects,
except in a stream, where the model's own text is put together from its deltas. What a tool of the provider answered
stands in the reply: it is an observation after it. A request that was answered with an error has no reply. A stream
that was cut, or that an error ended, keeps what had come of its reply. Refuses what holds no message.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from samework.canon.model_calls import Conversation, Message, ModelCall
from samework.decode.items import Item, first_object, is_sent, iter_items
from samework.decode.shapes import as_dict, as_dicts, as_list, as_name, as_number, as_text, compact, content_bytes
from samework.errors import DamagedRecord
from samework.model.events import Event
from samework.model.reader import Evidence
from samework.model.records import Damage, ManifestFact, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, FieldSource
from samework.readers.parts.chat import END_REASONS, message_of, result_text
from samework.readers.parts.known_replies import KnownReplies
from samework.readers.parts.usage import usage_of
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_NEAR_BYTES = 4096
_STREAM = frozenset(
    {
        "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
        "message_stop", "ping",
    }
)  # fmt: skip
_OF_REPLY = frozenset({"content_block_start", "content_block_delta", "message_delta"})
_BLOCKS = {"partial_json": "tool_use", "thinking": "thinking"}  # of a delta whose block did not begin
_SAMPLING = ("temperature", "top_p", "top_k", "max_tokens", "stop_sequences", "tool_choice")
_CUT = "a stream ends before its reply is complete"
_FOREIGN = frozenset({"sessionId", "uuid", "session_id", "payload", "trajectory_format", "history", "parentUuid"})


class AnthropicMessages:
    """Reader of Messages."""

    name = "anthropic_messages"
    title = "Anthropic Messages API"
    detects = "replies with `type: message`, wrappers of them, requests with tool blocks, or their stream events"
    proven = False
    evidence = Evidence(
        text="yes", actions="yes", raw_arguments="of streams", observations="where requests are kept",
        reuse="tokens read from and written to the cache",
    )  # fmt: skip

    def sniff(self, head: bytes, source: Source) -> float:
        """0.92 for a reply, a wrapper or a stream; 0.6 for a request with blocks of tools."""
        begins = head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")) or is_sent(head)
        if source.is_dir or not begins:
            return 0.0
        is_wrapper = b'"request"' in head[:_NEAR_BYTES] and source.size() > len(head)
        if not is_wrapper and b'"role"' not in head and b'"message_start"' not in head:
            return 0.0
        first = as_dict(first_object(head, source))
        if not _FOREIGN.isdisjoint(first):
            return 0.0
        if _reply(first) is not None or (first.get("type") == "message_start" and first.get("message")):
            return 0.92
        messages = as_dicts(_request(first).get("messages"))
        has_blocks = any(
            as_text(part.get("type")) in {"tool_use", "tool_result", "thinking"}
            for one in messages
            for part in as_dicts(one.get("content"))
        )
        return 0.6 if has_blocks or "anthropic_version" in _request(first) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield one run for each conversation.

        Raises: DamagedRecord: no message, or neither a JSON document nor JSON Lines.
        """
        reading = _Reading()
        for item in iter_items(source):
            if isinstance(item, Damage):
                yield from reading.damaged(item)
            else:
                yield from reading.add(item)
        yield from reading.finish()
        if not reading.n_read:
            raise DamagedRecord("no message of the Messages API", place=visible(source.path))


READER = AnthropicMessages()


def _reply(value: dict[str, object]) -> dict[str, object] | None:
    """The reply in a record, None where there is none."""
    response = as_dict(value.get("response"))
    for found in (value, response, as_dict(response.get("body"))):
        if (
            found.get("type") == "message"
            and found.get("role") == "assistant"
            and isinstance(found.get("content"), list)
        ):
            return found
    return None


def _request(value: dict[str, object]) -> dict[str, object]:
    request = as_dict(value.get("request"))
    return as_dict(request.get("body")) or as_dict(request.get("json")) or request or value


class _Stream:
    """One reply as its events come in. offset: of the last one."""

    def __init__(self, message: dict[str, object]) -> None:
        self.message = dict(message)
        self.offset = 0
        self.blocks: dict[int, dict[str, object]] = {}
        self.texts: dict[int, list[str]] = {}

    def event(self, event: dict[str, object]) -> None:
        """One event."""
        kind, index = event.get("type"), event.get("index")
        is_start = kind == "content_block_start"
        place = index if isinstance(index, int) else max(len(self.blocks) - (not is_start), 0)
        if is_start:
            self.blocks[place] = dict(as_dict(event.get("content_block")))
        elif kind == "content_block_delta":
            delta = as_dict(event.get("delta"))
            for name in ("text", "partial_json", "thinking", "content"):
                if isinstance(delta.get(name), str):
                    self.blocks.setdefault(place, {"type": _BLOCKS.get(name, "text")})
                    self.texts.setdefault(place, []).append(str(delta[name]))
        elif kind == "message_delta":
            self.message |= as_dict(event.get("delta"))
            usage = {name: value for name, value in as_dict(event.get("usage")).items() if value is not None}
            self.message["usage"] = {**as_dict(self.message.get("usage")), **usage}

    def reply(self) -> dict[str, object]:
        """The whole reply; arguments of calls stay text."""
        content: list[object] = []
        for place, block in sorted(self.blocks.items()):
            said = "".join(self.texts.get(place, []))
            kind = as_text(block.get("type"))
            if kind in {"tool_use", "server_tool_use", "mcp_tool_use"} and said:
                block["input"] = said
            elif kind == "compaction" and said:
                block["content"] = said
            elif kind == "thinking":
                block["thinking"] = (as_text(block.get("thinking")) or "") + said
            elif kind == "text":
                block["text"] = (as_text(block.get("text")) or "") + said
            content.append(block)
        return {**self.message, "content": content}


class _Reading:
    """Conversations of a file. served: calls of the provider's own tools whose results were told with the reply."""

    def __init__(self) -> None:
        self.n_runs = self.n_read = 0
        self.conversation: Conversation | None = None
        self.seen: list[tuple[object, ...]] = []
        self.facts: set[str] = set()
        self.finish_word: str | None = None
        self.served: set[str | None] = set()
        self.stream: _Stream | None = None
        self.replies = KnownReplies()

    def damaged(self, damage: Damage) -> Iterator[Record]:
        """Damage inside a run is the run's."""
        if self.conversation is None:
            yield from self._begin({}, {}, None)
        yield damage

    def add(self, item: Item) -> Iterator[Record]:
        """One record."""
        value = item.value
        kind = as_text(value.get("type")) or ""
        if kind in _STREAM:
            yield from self._streamed(kind, item)
            return
        reply_or_none = _reply(value)
        request = {} if reply_or_none is value else _request(value)
        if kind == "error" and self.stream is not None:
            error = as_dict(value.get("error"))
            told = as_name(error.get("type")) or as_name(error.get("message")) or "of no name"
            yield from self._cut(f"a stream ends in an error before its reply is complete: {shortened(told, 60)}")
            self.finish_word = "error"
            return
        if reply_or_none is None and not as_list(request.get("messages")) and not _is_error(value):
            if as_text(value.get("role")) and "content" in value:
                yield from self._cut(_CUT)
                yield from self._single(value, item)
            else:
                keys = visible(", ".join(list(value)[:4]))
                yield from self.damaged(
                    Damage(item.offset, item.n_bytes, f"no message: an object with {keys}", "unknown-record")
                )
            return
        yield from self._cut(_CUT)
        yield from self._call(request, reply_or_none, item)

    def _streamed(self, kind: str, item: Item) -> Iterator[Record]:
        """One event of a stream."""
        if kind == "message_start":
            yield from self._cut(_CUT)
            self.stream = _Stream(as_dict(item.value.get("message")))
        elif self.stream is None and kind in _OF_REPLY:
            self.stream = _Stream({})
            yield from self.damaged(Damage(item.offset, 0, "a stream has no beginning", code="unknown-record"))
        if self.stream is None:
            return
        self.stream.offset = item.offset
        if kind == "message_stop":
            reply, self.stream = self.stream.reply(), None
            yield from self._call({}, reply, item)
        else:
            self.stream.event(item.value)

    def _cut(self, reason: str) -> Iterator[Record]:
        """End the stream that is open: what had come of its reply is kept, and that it was cut is told."""
        if self.stream is None:
            return
        reply, offset, self.stream = self.stream.reply(), self.stream.offset, None
        if reply["content"]:
            yield from self._call({}, reply, Item(reply, offset, 0))
        else:
            self.finish_word = as_name(reply.get("stop_reason"))
        yield from self.damaged(Damage(offset, 0, reason, code="cut-tail"))

    def _single(self, message: dict[str, object], item: Item) -> Iterator[Record]:
        """A message of its own in a list of them."""
        self.n_read += 1
        if self.conversation is None:
            yield from self._begin({}, {}, item)
        if self.conversation is not None:
            for one in _told(message):
                self.finish_word = None
                if one.kind is EventKind.COMPLETION:
                    yield from self.conversation.add(ModelCall(reply=one, offset=item.offset))
                else:
                    yield from self.conversation.answer(one, None, item.offset)

    def _call(self, request: dict[str, object], reply: dict[str, object] | None, item: Item) -> Iterator[Record]:
        self.n_read += 1
        if reply is not None and self.replies.is_again(reply, item.offset):
            return
        messages = self._asked(request)
        told = [message.told for message in messages]
        users = [one for one in told if one[0] is not EventKind.SYSTEM]
        if self.conversation is not None and users and self.seen and users[0] != self.seen[0]:
            yield from self.finish()
        if self.conversation is None:
            yield from self._begin(request, reply or {}, item)
        self.seen = users or self.seen
        for fact in _facts(request, reply or {}):
            if fact.field not in self.facts:
                self.facts.add(fact.field)
                yield fact
        if self.conversation is None:
            return
        if reply is not None:
            yield from self._replied(self.conversation, request, reply, messages, item)
        elif _is_error(item.value):
            prompt = tuple(messages) or None
            yield from self.conversation.add(ModelCall(messages=prompt, offset=item.offset, failed=True))
            self.finish_word = "error"
        else:
            for event in self.conversation.restate(tuple(messages), item.offset):
                self.finish_word = None
                yield event

    def _asked(self, request: dict[str, object]) -> list[Message]:
        """Messages of a request, without results that were told with the reply."""
        messages = [*_system(request.get("system"))]
        for one in as_dicts(request.get("messages")):
            messages += [told for told in _told(one) if told.call_id is None or told.call_id not in self.served]
        return messages

    def _replied(
        self,
        conversation: Conversation,
        request: dict[str, object],
        reply: dict[str, object],
        messages: list[Message],
        item: Item,
    ) -> Iterator[Record]:
        """A call that was answered."""
        self.replies.add(reply)
        tools = request.get("tools")
        self.finish_word = as_name(reply.get("stop_reason"))
        own, *results = [*_told({**reply, "role": "assistant"}), Message(EventKind.COMPLETION)]
        yield from conversation.add(
            ModelCall(
                messages=tuple(messages) or None,
                reply=own,
                tools=compact(tools) if tools else None,
                usage=usage_of(reply.get("usage")),
                offset=item.offset,
            )
        )
        for result in results[:-1]:
            self.served.add(result.call_id)
            yield Event(
                result.kind, result.text, call_id=result.call_id, exit_status=result.exit_status, offset=item.offset
            )

    def _begin(self, request: dict[str, object], reply: dict[str, object], item: Item | None) -> Iterator[Record]:
        self.conversation, self.facts, self.finish_word, self.seen = Conversation(), set(), None, []
        self.served, self.replies = set(), KnownReplies()
        digest = None if item is None or self.n_runs == 0 else hashlib.sha256(content_bytes(item.value)).hexdigest()
        self.n_runs += 1
        yield RunStart(
            layout="anthropic-messages",
            model=as_name(reply.get("model")) or as_name(request.get("model")),
            native_id=as_name(reply.get("id")),
            content_sha256=digest,
        )

    def finish(self) -> Iterator[Record]:
        """End the run that is open."""
        is_cut = self.stream is not None
        yield from self._cut(_CUT)
        if self.conversation is not None:
            yield from self.conversation.finish()
            yield from self.replies.findings()
            unsaid = EndReason.LOG_TRUNCATED if is_cut else EndReason.UNRECORDED
            yield RunEnd(END_REASONS.get(self.finish_word or "", unsaid), self.finish_word)
            self.conversation = None


def _is_error(value: dict[str, object]) -> bool:
    """Whether a record tells of an error in the place of a reply."""
    response = as_dict(value.get("response"))
    return any(bool(as_dict(holder.get("error"))) for holder in (value, response, as_dict(response.get("body"))))


def _told(message: dict[str, object]) -> list[Message]:
    """A message; of a reply, what the provider's own tools answered in it stands after it."""
    content = message.get("content")
    if message.get("role") != "assistant" or not isinstance(content, list):
        return message_of(message)
    served = [part for part in as_dicts(content) if _is_served(part)]
    if not served:
        return message_of(message)
    own = message_of({**message, "content": [part for part in content if not _is_served(part)]})
    return [*own, *map(_served, served)]


def _is_served(part: object) -> bool:
    return (as_text(as_dict(part).get("type")) or "").endswith("_tool_result")


def _served(part: dict[str, object]) -> Message:
    status = as_dict(part.get("content")).get("return_code")
    is_status = isinstance(status, int) and not isinstance(status, bool) and abs(status) < 1 << 31
    return Message(
        EventKind.OBSERVATION,
        result_text(part),
        call_id=as_name(part.get("tool_use_id")),
        exit_status=status if is_status and isinstance(status, int) else None,
    )


def _system(given: object) -> list[Message]:
    return message_of({"role": "system", "content": given}) if given else []


def _facts(request: dict[str, object], reply: dict[str, object]) -> Iterator[ManifestFact]:
    for name in _SAMPLING:
        value = request.get(name)
        if value is not None and (not isinstance(value, float) or as_number(value) is not None):
            field = "sampling.stop" if name == "stop_sequences" else f"sampling.{name}"
            yield ManifestFact(field, value, FieldSource.DECLARED, where="request")
    named = (
        ("model.id", as_name(reply.get("model")), FieldSource.MEASURED),
        ("model.id_requested", as_name(request.get("model")), FieldSource.DECLARED),
        ("routing.service_tier", as_name(as_dict(reply.get("usage")).get("service_tier")), FieldSource.MEASURED),
    )
    for field, said, how in named:
        if said is not None:
            yield ManifestFact(field, said, how, where="request" if how is FieldSource.DECLARED else "response")
