"""OpenAI chat completions: replies, wrappers of request and reply, and bare messages, in a document or JSON Lines.

A call whose messages go on from those seen before belongs to the same run and adds only what is new; one that goes
back to an earlier message is an edit of the context. A call that was answered with an error has no reply; one whose
reply stands twice counts once. Refuses to make token ids or margins from text: they are kept where a server gave them.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import msgspec

from samework.canon.model_calls import failed_calls, marked
from samework.decode import strict_json
from samework.decode.document import read_document
from samework.decode.jsonl import Line, iter_records
from samework.decode.shapes import as_dict, as_dicts, as_list, as_moment, as_text, compact
from samework.decode.strict_json import NotJson
from samework.errors import DamagedRecord
from samework.model.events import Event, ToolCall, Usage
from samework.model.reader import Evidence
from samework.model.records import Damage, ManifestFact, RunEnd, RunStart
from samework.model.words import Absence, EndReason, EventKind, FieldSource
from samework.readers.parts.chat import end_of_reply
from samework.readers.parts.known_replies import KnownReplies
from samework.readers.parts.token_evidence import completion_ids, prompt_ids, ranked, ranked_texts, with_reuse
from samework.text import raw_bytes, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_FAR_BYTES = 4 << 20
_ROLES = {
    "system": EventKind.SYSTEM,
    "developer": EventKind.SYSTEM,
    "user": EventKind.USER,
    "assistant": EventKind.COMPLETION,
    "tool": EventKind.OBSERVATION,
    "function": EventKind.OBSERVATION,
}
_FOREIGN_KEYS = frozenset(
    {
        "trajectory_format", "info", "history", "trajectory", "steps", "simulations", "samples", "sessionId", "uuid",
        "traj", "payload", "kind", "instance_id", "schema_version",
    }
)  # fmt: skip
_MESSAGE_KEYS = frozenset({"content", "tool_calls", "function_call", "reasoning_content"})
_SAMPLING = (
    "temperature", "top_p", "top_k", "min_p", "seed", "n", "max_tokens", "max_completion_tokens", "stop",
    "presence_penalty", "frequency_penalty", "repetition_penalty", "parallel_tool_calls", "reasoning_effort",
    "response_format", "tool_choice",
)  # fmt: skip
_HOSTED_UNOBSERVABLE = (
    "engine.name", "engine.version", "engine.build_sha", "weights.dtype", "kv.dtype", "attention.backend",
    "cache.attention_reuse.enabled", "reset.scope", "concurrency.at_request", "hw.device",
)  # fmt: skip
_LLAMA_BUILD = re.compile(r"b[0-9]+-[0-9a-z]+")
_MIN_SHARED = 2


class OpenaiChat:
    """Reader of chat completions."""

    name = "openai_chat"
    title = "OpenAI chat completions (also vLLM, SGLang, llama.cpp, LiteLLM)"
    detects = "chat.completion objects, {messages, response} wrappers, or messages with a role; JSON or JSON Lines"
    proven = True
    evidence = Evidence(
        tokens="where the server returns ids",
        text="yes",
        actions="yes",
        raw_arguments="yes",
        observations="yes",
        reuse="cached tokens of each call",
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """0.9 for a reply or a wrapper of one, 0.4 for bare messages."""
        if source.is_dir or not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
            return 0.0
        value = _first_object(head)
        if value is None and len(head) < source.size():
            value = _first_object(source.head(_FAR_BYTES))
        if value is None:
            return 0.0
        if _reply(value) is not None:
            is_named = value.get("object") == "chat.completion" or "response" in value
            return 0.9 if is_named and _FOREIGN_KEYS.isdisjoint(value) else 0.5
        if _FOREIGN_KEYS.isdisjoint(value) and (_messages(value) or _is_message(value)):
            return 0.4
        return 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield one run a conversation.

        Raises: DamagedRecord: neither a JSON document nor JSON Lines.
        """
        chat = _Chat()
        for item in _items(source):
            if isinstance(item, Damage):
                yield from chat.start_if_needed({}, {})
                yield item
            else:
                yield from chat.add(item)
        yield from chat.start_if_needed({}, {})
        yield from chat.ending()


class _Item(msgspec.Struct, frozen=True, gc=False):
    """One record: its value, where it is (0 within a document), and the digest that tells it from others."""

    value: dict[str, object]
    offset: int
    raw: bytes | None


def _items(source: Source) -> Iterator[_Item | Damage]:
    """Records of a JSON document or of JSON Lines, whichever the source is."""
    first = next(iter(iter_records(source)), None)
    if not isinstance(first, Damage) and first is not None and isinstance(first.value, dict):
        yield from _lines(source)
        return
    try:
        document = read_document(source)
    except DamagedRecord:
        if not any(isinstance(item, Line) and isinstance(item.value, dict) for item in iter_records(source)):
            raise
        yield from _lines(source)
        return
    for value in document if isinstance(document, list) else [document]:
        if isinstance(value, dict):
            yield _Item(value, 0, None)
        else:
            yield Damage(0, 0, "an element is neither a message nor a reply")


def _lines(source: Source) -> Iterator[_Item | Damage]:
    for item in iter_records(source):
        if isinstance(item, Damage):
            yield item
        elif isinstance(item.value, dict):
            yield _Item(item.value, item.offset, item.raw)
        else:
            yield Damage(item.offset, len(item.raw), f"line {item.number}: no object")


class _Chat:
    """State of the conversation that is being read."""

    def __init__(self) -> None:
        self.n_runs = 0
        self.reset()

    def reset(self) -> None:
        """Forget the conversation; the next record begins another run."""
        self.is_open = False
        self.seen: list[tuple[object, ...]] = []
        self.tools: str | None = None
        self.n_steps = 0
        self.unanswered: list[str] = []
        self.finish: str | None = None
        self.error: str | None = None
        self.failed: list[int] = []
        self.replies = KnownReplies()
        self.facts_given: set[str] = set()

    def add(self, item: _Item) -> Iterator[Record]:
        """Records of one message, conversation, or call."""
        value = item.value
        reply = _reply(value)
        if reply is None and _is_message(value):
            yield from self.start_if_needed({}, {})
            yield from self._message(value, item.offset)
            return
        request = _request(value)
        messages = _messages(request)
        error = _error(value) if reply is None else None
        if reply is None and not messages and error is None:
            yield from self.start_if_needed({}, {})
            keys = shortened(", ".join(map(str, value)), 80)
            yield Damage(item.offset, len(item.raw or b""), f"neither a message nor a reply: an object with {keys}")
            return
        if reply is not None and self.replies.is_again(reply, item.offset):
            return
        yield from self._place(item, request, reply, messages, is_call=reply is not None or error is not None)
        if reply is not None:
            yield from self._reply(reply, item.offset)
        elif error is not None:
            self.error = error
            self.failed.append(item.offset)

    def _place(
        self,
        item: _Item,
        request: dict[str, object],
        reply: dict[str, object] | None,
        messages: list[dict[str, object]],
        *,
        is_call: bool,
    ) -> Iterator[Record]:
        """Begin a run or go on with it, and yield the messages that are new."""
        told = [_told(message) for message in messages]
        n_shared = _n_shared(self.seen, told)
        goes_on = not messages or n_shared == len(self.seen)
        goes_back = is_call and (n_shared >= _MIN_SHARED or n_shared == len(told))
        if self.is_open and not goes_on and not goes_back:
            yield from self.ending()
            self.reset()
            self.n_runs += 1
        yield from self.start_if_needed(request, reply or {}, item)
        if messages and not goes_on and goes_back and self.seen:
            text = f"the conversation goes on from its first {n_shared} messages"
            yield Event(EventKind.CONTEXT_EDIT, text, offset=item.offset)
            self.seen = self.seen[:n_shared]
        tools = request.get("tools") or request.get("functions")
        if tools and (text := compact(tools)) != self.tools:
            self.tools = text
            yield Event(EventKind.TOOLS, text, offset=item.offset)
        for message in messages[len(self.seen) :]:
            yield from self._message(message, item.offset)

    def start_if_needed(
        self, request: dict[str, object], reply: dict[str, object], item: _Item | None = None
    ) -> Iterator[Record]:
        """The start of a run, once, and the facts that a request or reply adds."""
        if not self.is_open:
            self.is_open = True
            yield RunStart(
                layout="openai-chat",
                model=as_text(reply.get("model")) or as_text(request.get("model")),
                native_id=as_text(reply.get("id")),
                content_sha256=_digest(item) if item and (self.n_runs or not reply) else None,
            )
        for fact in _facts(request, reply):
            if fact.field not in self.facts_given:
                self.facts_given.add(fact.field)
                yield fact

    def ending(self) -> Iterator[Record]:
        """Findings on the run, and its end: an error of the last call, or the reason of the last reply."""
        yield from self.replies.findings()
        if self.error is not None:
            yield from failed_calls(self.failed[:-1])
            yield RunEnd(EndReason.ERROR, self.error)
        else:
            yield from failed_calls(self.failed)
            yield RunEnd(end_of_reply(self.finish, has_calls=bool(self.unanswered)), self.finish)

    def _message(self, message: dict[str, object], offset: int) -> Iterator[Record]:
        self.seen.append(_told(message))
        self.finish = None
        kind = _ROLES.get(str(message.get("role")))
        if kind is None:
            role = shortened(str(message.get("role")), 40)
            yield Damage(offset, 0, f"a message of the unknown role {role!r}", code="unknown-record")
        elif kind is EventKind.COMPLETION:
            yield self._completion(message, {}, {}, offset)
        elif kind is EventKind.OBSERVATION:
            call_id = as_text(message.get("tool_call_id")) or (self.unanswered[0] if self.unanswered else None)
            if call_id in self.unanswered:
                self.unanswered.remove(call_id)
            yield Event(kind, _content(message.get("content")), call_id=call_id, time=_time(message), offset=offset)
        else:
            yield Event(kind, _content(message.get("content")), time=_time(message), offset=offset)

    def _reply(self, reply: dict[str, object], offset: int) -> Iterator[Record]:
        choices = [choice for choice in as_list(reply.get("choices")) if isinstance(choice, dict)]
        choice = choices[0] if choices else {}
        message = as_dict(choice.get("message"))
        if len(choices) > 1:
            reason = f"{len(choices) - 1} further choices of a reply are not part of the run"
            yield Damage(offset, 0, reason, code="other-choices", taints_run=False)
        if not message:
            yield Damage(offset, 0, "a reply without a message")
            return
        self.finish = as_text(choice.get("finish_reason"))
        self.replies.add(reply)
        self.seen.append(_told({"role": "assistant"} | message))
        yield self._completion(message, choice, reply, offset)

    def _completion(
        self, message: dict[str, object], choice: dict[str, object], reply: dict[str, object], offset: int
    ) -> Event:
        self.n_steps += 1
        self.error = None
        calls = tuple(_calls(message, self.n_steps))
        self.unanswered = [call.call_id for call in calls if call.call_id is not None]
        usage = with_reuse(_usage(reply.get("usage")), choice, reply)
        reasoning = _reasoning(message)
        margins, texts = ranked_texts(choice.get("logprobs"))
        token_ids = completion_ids(choice, reply)
        _, pairs = ranked(as_dicts(as_dict(choice.get("logprobs")).get("content")))
        return Event(
            EventKind.COMPLETION,
            _content(message.get("content")) or as_text(message.get("refusal")) or "",
            reasoning=reasoning,
            reasoning_hidden=reasoning is None and usage is not None and bool(usage.reasoning_tokens),
            calls=calls,
            token_ids=token_ids,
            prompt_token_ids=prompt_ids(choice, reply),
            n_prompt_tokens=usage.prompt_tokens if usage else None,
            margins=margins,
            margin_unit="nats" if margins is not None else None,
            top2=pairs if pairs is not None and token_ids is not None and len(pairs) == len(token_ids) else None,
            top2_texts=texts,
            usage=usage,
            time=_time(reply) or _time(message),
            offset=offset,
        )


def _first_object(head: bytes) -> dict[str, object] | None:
    """The first object of the text, or of the array that it begins with; None where it is not whole."""
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "ignore")
    start = len(text) - len(text.lstrip())
    if text[start : start + 1] == "[":
        start += 1
        start += len(text[start:]) - len(text[start:].lstrip())
    try:
        value, _ = strict_json.first_value(text, start)
    except NotJson:
        return None
    return value if isinstance(value, dict) else None


def _reply(value: dict[str, object]) -> dict[str, object] | None:
    """The chat completion in a record, None where there is none."""
    for found in (value, as_dict(value.get("response")), as_dict(as_dict(value.get("response")).get("body"))):
        choices = as_list(found.get("choices"))
        if choices and isinstance(choices[0], dict) and isinstance(choices[0].get("message"), dict):
            return found
    return None


def _error(value: dict[str, object]) -> str | None:
    """What a call was answered with instead of a reply, None where that was no error."""
    response = as_dict(value.get("response"))
    for holder in (response, as_dict(response.get("body")), value):
        if error := holder.get("error"):
            told = as_text(as_dict(error).get("message")) or as_text(error) or compact(error)
            return shortened(told, 200)
    return None


def _request(value: dict[str, object]) -> dict[str, object]:
    """The request's fields: those of the record itself, of `kwargs` and of `request`."""
    if "choices" in value:
        return {}
    merged = {key: given for key, given in value.items() if key not in {"response", "request", "kwargs"}}
    for part in ("kwargs", "request"):
        merged |= as_dict(value.get(part))
    if isinstance(as_dict(value.get("request")).get("body"), dict):
        merged |= as_dict(as_dict(value["request"])["body"])
    return merged


def _messages(request: dict[str, object]) -> list[dict[str, object]]:
    given = as_list(request.get("messages"))
    messages = [message for message in given if isinstance(message, dict) and _is_message(message)]
    return messages if len(messages) == len(given) else []


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and not _MESSAGE_KEYS.isdisjoint(value)


def _told(message: dict[str, object]) -> tuple[object, ...]:
    """What makes two records of one message the same."""
    calls = tuple((call.name, call.arguments, call.call_id) for call in _calls(message, 0))
    return message.get("role"), _content(message.get("content")), calls, message.get("tool_call_id")


def _n_shared(seen: list[tuple[object, ...]], told: list[tuple[object, ...]]) -> int:
    for place, (a, b) in enumerate(zip(seen, told, strict=False)):
        if a != b:
            return place
    return min(len(seen), len(told))


def _calls(message: dict[str, object], step: int) -> Iterator[ToolCall]:
    given = [call for call in as_list(message.get("tool_calls")) if isinstance(call, dict)]
    legacy = message.get("function_call")
    if not given and isinstance(legacy, dict):
        given = [{"function": legacy}]
    for place, call in enumerate(given, 1):
        call_id = as_text(call.get("id")) or f"s{step}.{place}"
        custom = as_dict(call.get("custom"))
        if custom:
            yield ToolCall(
                as_text(custom.get("name")) or "", as_text(custom.get("input")) or "", call_id, is_json=False
            )
            continue
        function = as_dict(call.get("function"))
        arguments = function.get("arguments")
        is_text = isinstance(arguments, str)
        text = str(arguments) if is_text else "" if arguments is None else compact(arguments)
        yield ToolCall(as_text(function.get("name")) or "", text, call_id, exact=is_text)


def _content(given: object) -> str:
    """Text of a content; parts that are no text become a mark with their digest."""
    if isinstance(given, str):
        return given
    return "\n".join(_part(part) for part in as_list(given))


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text", part.get("refusal")) if isinstance(part, dict) else None
    if isinstance(text, str):
        return text
    kind = as_text(as_dict(part).get("type")) or "part"
    return marked(kind, compact(part))


def _reasoning(message: dict[str, object]) -> str | None:
    for key in ("reasoning_content", "reasoning"):
        if isinstance(message.get(key), str) and message[key]:
            return str(message[key])
    blocks = [as_dict(block).get("thinking") for block in as_list(message.get("thinking_blocks"))]
    return "\n".join(block for block in blocks if isinstance(block, str)) or None


def _usage(given: object) -> Usage | None:
    """Counts as the server gave them; prompt_tokens includes cached ones in this format."""
    if not isinstance(given, dict):
        return None
    details, made = as_dict(given.get("prompt_tokens_details")), as_dict(given.get("completion_tokens_details"))
    cached = _count(details.get("cached_tokens"))
    written = _count(details.get("cache_write_tokens"))
    return Usage(
        prompt_tokens=_count(given.get("prompt_tokens")),
        cached_tokens=_count(given.get("cache_read_input_tokens")) if cached is None else cached,
        cache_write_tokens=_count(given.get("cache_creation_input_tokens")) if written is None else written,
        completion_tokens=_count(given.get("completion_tokens")),
        reasoning_tokens=_count(made.get("reasoning_tokens")),
    )


def _facts(request: dict[str, object], reply: dict[str, object]) -> Iterator[ManifestFact]:
    """What request and reply say of the conditions."""
    for name in _SAMPLING:
        if request.get(name) is not None:
            yield ManifestFact(f"sampling.{name}", request[name], FieldSource.DECLARED, where="request")
    asked = request.get("model") or request.get("gateway_model")
    measured = (
        ("model.id", reply.get("model"), "response.model"),
        ("routing.system_fingerprint", reply.get("system_fingerprint"), "response"),
        ("routing.service_tier", reply.get("service_tier"), "response"),
        ("routing.provider", reply.get("provider"), "response"),
    )
    declared = (("model.id_requested", asked), ("model.backing", request.get("backing_model")))
    for field, value, where in measured:
        if isinstance(value, str) and value:
            yield ManifestFact(field, value, FieldSource.MEASURED, where=where)
    for field, value in declared:
        if isinstance(value, str) and value:
            yield ManifestFact(field, value, FieldSource.DECLARED, where="request")
    yield from _engine_facts(request, reply)


def _engine_facts(request: dict[str, object], reply: dict[str, object]) -> Iterator[ManifestFact]:
    """What is known of the engine; a hosted service makes it unobservable."""
    if isinstance(request.get("cache_prompt"), bool):
        field = "cache.attention_reuse.enabled_requested"
        yield ManifestFact(field, request["cache_prompt"], FieldSource.DECLARED, where="request.cache_prompt")
    fingerprint = as_text(reply.get("system_fingerprint")) or ""
    if _LLAMA_BUILD.fullmatch(fingerprint):
        yield ManifestFact("engine.name", "llama.cpp", FieldSource.MEASURED, where="response.system_fingerprint")
        yield ManifestFact("engine.version", fingerprint, FieldSource.MEASURED, where="response.system_fingerprint")
    elif fingerprint.startswith("fp_") or (as_text(reply.get("service_tier")) and "prompt_token_ids" not in reply):
        for field in _HOSTED_UNOBSERVABLE:
            yield ManifestFact(field, absence=Absence.UNOBSERVABLE, where="a hosted service")


def _digest(item: _Item) -> str:
    return hashlib.sha256(raw_bytes(compact(item.value)) if item.raw is None else item.raw).hexdigest()


def _time(record: dict[str, object]) -> str | None:
    return as_moment(record.get("created", record.get("timestamp")))


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


READER = OpenaiChat()
