"""Messages and replies as OpenAI, Anthropic, Google, LangChain and the OpenTelemetry conventions write them.

For the readers of traces and APIs, whose records hold each other's messages. Refuses to make text of parts that are
none: they become a mark with a digest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from samework.canon.model_calls import Message, marked
from samework.decode.flat_names import spelled
from samework.decode.shapes import as_dict, as_dicts, as_list, as_name, as_text, compact, decoded
from samework.model.events import ToolCall
from samework.model.words import EndReason, EventKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

T = TypeVar("T")
ROLES = {
    "system": EventKind.SYSTEM,
    "developer": EventKind.SYSTEM,
    "user": EventKind.USER,
    "human": EventKind.USER,
    "assistant": EventKind.COMPLETION,
    "ai": EventKind.COMPLETION,
    "model": EventKind.COMPLETION,
    "tool": EventKind.OBSERVATION,
    "function": EventKind.OBSERVATION,
}
END_REASONS = {
    "stop": EndReason.FINISHED,
    "end_turn": EndReason.FINISHED,
    "stop_sequence": EndReason.FINISHED,
    "completed": EndReason.FINISHED,
    "STOP": EndReason.FINISHED,
    "length": EndReason.LIMIT,
    "max_tokens": EndReason.LIMIT,
    "MAX_TOKENS": EndReason.LIMIT,
    "model_context_window_exceeded": EndReason.LIMIT,
    "content_filter": EndReason.ERROR,
    "refusal": EndReason.ERROR,
    "error": EndReason.ERROR,
}
"""Of a run whose last reply gave this reason; one that calls a tool waits for its result, and is no end."""
_ALSO_OF_CALLS = frozenset({"STOP"})
"""Reasons that a provider gives whether a reply calls a tool or not."""
_LANGCHAIN = {"human": "user", "ai": "assistant", "aimessagechunk": "assistant", "chat": "user"}
_CALLS = frozenset({"tool_use", "tool_call", "tool-call", "server_tool_use", "mcp_tool_use", "function_call"})
_RESULTS = frozenset({"tool_result", "tool_call_response", "tool-result", "function_call_output"})
_REASONING = frozenset({"thinking", "reasoning"})
_OF_GOOGLE = (("function_call", "functionCall"), ("function_response", "functionResponse"))
_HIDDEN = frozenset({"redacted_thinking", "encrypted"})
_SERVED = ("output", "outputs", "result", "results", "error")
"""Where an item of a tool that the provider runs holds what the tool answered."""
_ASIDE = frozenset({"item_reference", "mcp_approval_request", "mcp_list_tools", "tool_search_output"})
"""Items that may stand inside a reply and say nothing of it themselves."""
_SAID_OF_ITEMS = frozenset({"output_text", "refusal"})
_SAID = _SAID_OF_ITEMS | {"text"}
_BESIDE = frozenset(
    {
        "tool_calls", "toolCalls", "additional_kwargs", "function_call", "reasoning", "reasoning_content", "refusal",
        "parts", "kwargs", "message",
    }
)  # fmt: skip
"""What a message of other APIs holds beside its content."""


def end_of_reply(word: str | None, *, has_calls: bool) -> EndReason:
    """How a run ended, by the reason of its last reply and whether that calls a tool.

    >>> str(end_of_reply("stop", has_calls=False)), str(end_of_reply("STOP", has_calls=True))
    ('finished', 'unrecorded')
    """
    if has_calls and word in _ALSO_OF_CALLS:
        return EndReason.UNRECORDED
    return END_REASONS.get(word or "", EndReason.UNRECORDED)


class Converted:
    """Messages of the prompts of one trace, each converted once: a call of a model repeats the conversation before it.

    A message is known again by exact bytes, in which 1, 1.0 and true are three values, and NaN is none of the others;
    one that has no such bytes (halves of characters, integers beyond 64 bits) is converted whenever it is met.
    """

    def __init__(self) -> None:
        self._known: dict[bytes | tuple[str, ...], tuple[Message, ...]] = {}
        self._n_held = 0
        self._bytes_of = msgspec.msgpack.Encoder().encode

    def message(self, given: dict[str, object]) -> Sequence[Message]:
        """As `message_of`."""
        return self._once(given, message_of)

    def reply(self, items: list[dict[str, object]]) -> Sequence[Message]:
        """As `replied`; a list has other bytes than a message."""
        return self._once(items, replied)

    def element(self, given: tuple[object, ...]) -> Sequence[Message]:
        """As `message_of`, of names and values in turns (decode.flat_names.FlatLists)."""
        key = tuple(each for each in given if type(each) is str)
        if len(key) < len(given):
            return message_of(as_dict(spelled(given)))
        return self._known.get(key) or self._put(key, message_of(as_dict(spelled(given))))

    def _once(self, given: T, convert: Callable[[T], list[Message]]) -> Sequence[Message]:
        try:
            key = self._bytes_of(given)
        except (ValueError, OverflowError, RecursionError):
            return convert(given)
        return self._known.get(key) or self._put(key, convert(given))

    def _put(self, key: bytes | tuple[str, ...], messages: list[Message]) -> tuple[Message, ...]:
        if self._n_held >= _MAX_HELD or len(self._known) >= _MAX_KNOWN:
            self._known.clear()
            self._n_held = 0
        self._n_held += len(key) if isinstance(key, bytes) else sum(map(len, key))
        made = self._known[key] = tuple(messages)
        return made


_MAX_KNOWN = 10_000
_MAX_HELD = 32 << 20  # bytes or characters of what was converted; the messages hold about as many again


def messages_of(given: object, converted: Converted | None = None) -> list[Message]:
    """Messages of a prompt; text alone is a user's. converted: what is known of the same trace."""
    convert, convert_reply = (message_of, replied) if converted is None else (converted.message, converted.reply)
    value = decoded(given)
    if isinstance(value, str):
        return [Message(EventKind.USER, value)] if value else []
    found: list[Message] = []
    if isinstance(value, dict) and "messages" not in value and "role" not in value and value.get("contents"):
        found, value = _instruction(value), value["contents"]  # Google's request
        if not isinstance(value, list):
            return [*found, *messages_of(value)]
    elif isinstance(value, dict):
        value = value.get("messages", [value])
    listed: Iterable[object] = list(_flat(as_list(value)))
    if any(isinstance(one, dict) and "type" in one for one in listed):  # items have a type; most messages have none
        listed = _whole_replies(listed)
    for one in listed:
        if isinstance(one, str):
            found.append(Message(EventKind.USER, one))
        elif isinstance(one, _Items):
            found += convert_reply(one)
        elif isinstance(one, dict):
            found += convert(one)
    return found


def _instruction(request: dict[str, object]) -> list[Message]:
    """The system's message of one of Google's requests."""
    for holder in (request, as_dict(request.get("config"))):
        for name in ("system_instruction", "systemInstruction"):
            given = holder.get(name)
            if given:
                return [Message(EventKind.SYSTEM, _Parts(as_dict(given).get("parts", given)).text)]
    return []


def _flat(items: list[object]) -> Iterator[object]:
    """LangChain keeps a list of prompts, each a list of messages."""
    for item in items:
        if isinstance(item, list) and len(items) == 1:
            yield from item
        else:
            yield item


class _Items(list[dict[str, object]]):
    """Items of one of OpenAI's Responses."""


def _whole_replies(items: Iterable[object]) -> Iterator[object]:
    """Items of OpenAI's Responses that follow each other are one reply; other messages of an assistant stay apart."""
    pending = _Items()
    for item in items:
        told = as_dict(item)
        has_role = "role" in told
        kind = "" if has_role else as_text(told.get("type")) or ""
        if _is_said(told) if has_role else _is_item(told) or (kind in _ASIDE and not told.get("call_id")):
            pending.append(told)
            continue
        if pending:
            yield from _grouped(pending)
            pending = _Items()
        if kind.endswith("_output"):
            call_id = as_name(told.get("call_id")) or as_name(told.get("id"))
            yield {"role": "tool", "tool_call_id": call_id, "content": told.get("output", told.get("tools"))}
        else:
            yield item
    yield from _grouped(pending)


def _grouped(pending: _Items) -> Iterator[object]:
    """One reply where the items show that it is one of Responses, else what there is, one by one."""
    if len(pending) == 1 and "role" in pending[0]:
        yield pending[0]
    elif _are_reply(pending):
        yield pending
    else:
        yield from (item for item in pending if "role" in item)


def _are_reply(items: list[dict[str, object]]) -> bool:
    """Whether objects are the items of one reply: any that is no message tells, and so do several typed messages."""
    messages = [item for item in items if "role" in item]
    return any(map(_is_item, items)) or (
        len(messages) > 1 and all("type" in item and _is_said(item) for item in messages)
    )


def _is_item(told: dict[str, object]) -> bool:
    """Whether an object is an item of a reply, which is no message. OpenTelemetry has parts called `tool_call`."""
    kind = None if "role" in told else told.get("type")
    return isinstance(kind, str) and (kind == "reasoning" or (kind.endswith("_call") and kind != "tool_call"))


def _is_said(told: dict[str, object]) -> bool:
    """Whether a message of an assistant may be an item: it holds text alone, in its content."""
    if told.get("role") != "assistant" or told.get("type", "message") != "message" or not _BESIDE.isdisjoint(told):
        return False
    content = told.get("content")
    kinds = _SAID if "type" not in told else _SAID_OF_ITEMS
    return isinstance(content, str) or (
        bool(content) and isinstance(content, list) and all(as_dict(part).get("type") in kinds for part in content)
    )


def replied(items: list[dict[str, object]]) -> list[Message]:
    """A reply that a prompt repeats item by item, and what the provider's own tools answered in it; nothing of none."""
    if not items:
        return []
    told = [item if "type" in item else {**item, "type": "message"} for item in items]
    return [items_reply(told, apart=True), *items_results(told)]


def message_of(given: dict[str, object]) -> list[Message]:
    """A message: one event, and one for each tool result in it (Anthropic keeps several in a user's turn)."""
    given = _plain(given)
    role = given.get("role")
    kind = ROLES.get(role.lower()) if isinstance(role, str) else None
    if kind is None:
        return []
    parts = given.get("parts", given.get("content", given.get("contents")))
    told = _Parts(parts.get("parts", parts) if isinstance(parts, dict) else parts)
    calls = [*told.calls, *calls_of(given)]
    reasoning = [*told.reasoning, *(text for name in _REASONS if (text := as_text(given.get(name))))]
    results = [Message(EventKind.OBSERVATION, text, call_id=call_id) for call_id, text in told.results]
    if kind is EventKind.OBSERVATION and not results:
        call_id = as_name(given.get("tool_call_id")) or as_name(given.get("id")) or as_name(given.get("toolCallId"))
        return [Message(kind, told.text, call_id=call_id)]
    if results and not told.text and not calls:
        return results
    own = Message(
        EventKind.USER if kind is EventKind.OBSERVATION else kind,
        told.text or as_text(given.get("refusal")) or "",
        calls=tuple(calls) if kind is EventKind.COMPLETION else (),
        reasoning="\n".join(reasoning) or None,
        reasoning_hidden=told.is_hidden,
    )
    return [*results, own]


_REASONS = ("reasoning_content", "reasoning")


def _plain(given: dict[str, object]) -> dict[str, object]:
    """A message of LangChain or in a wrapper (`message`), as one with a role."""
    if "role" in given and "kwargs" not in given:
        return given
    inner = given.get("message")
    if "role" not in given and isinstance(inner, dict):
        given = inner
    kwargs = as_dict(given.get("kwargs"))
    named = as_list(given.get("id"))
    if kwargs and named and isinstance(named[-1], str):
        word = named[-1].lower().removesuffix("chunk").removesuffix("message")
        return {"role": _LANGCHAIN.get(word, word), **kwargs}
    kind = as_text(given.get("type"))
    if "role" not in given and kind is not None:
        data = as_dict(given.get("data"))
        return {"role": _LANGCHAIN.get(kind.lower(), kind.lower()), **given, **data}
    return given


class _Parts:
    """Parts of a content: text, calls, results, reasoning."""

    __slots__ = ("calls", "is_hidden", "reasoning", "results", "text")

    def __init__(self, given: object) -> None:
        self.calls: list[ToolCall] = []
        self.results: list[tuple[str | None, str]] = []
        self.reasoning: list[str] = []
        self.is_hidden = False
        if given is None or isinstance(given, str):
            self.text = given or ""
            return
        texts = [self._text(part) for part in ([given] if isinstance(given, dict) else as_list(given))]
        self.text = "\n".join(text for text in texts if text is not None)

    def _text(self, part: object) -> str | None:
        if isinstance(part, str):
            return part
        inner = as_dict(part)
        value = as_dict(inner.get("message_content")) or inner
        kind = as_text(value.get("type")) or ""
        if not kind and self._is_of_google(value):
            return None
        if value.get("thought") is True and isinstance(value.get("text"), str):
            self.reasoning.append(str(value["text"]))
        elif kind in _CALLS:
            self.calls.append(_part_call(value))
        elif kind in _RESULTS:
            call_id = as_name(value.get("tool_use_id")) or as_name(value.get("call_id")) or as_name(value.get("id"))
            self.results.append((call_id or as_name(value.get("toolCallId")), result_text(value)))
        elif kind in _REASONING:
            self._reason(value)
        elif kind in _HIDDEN:
            self.is_hidden = True
        else:
            for name in ("text", "content", "refusal"):
                if isinstance(value.get(name), str):
                    return str(value[name])
            return marked(kind or "part", compact(part)) if part is not None else None
        return None

    def _is_of_google(self, part: dict[str, object]) -> bool:
        """Take a part that has no type, but a call or a result under its name."""
        call, result = (as_dict(part.get(old)) or as_dict(part.get(new)) for old, new in _OF_GOOGLE)
        if call:
            self.calls.append(_part_call(call))
        elif result:
            self.results.append((as_name(result.get("id")), result_text(result)))
        return bool(call or result)

    def _reason(self, value: dict[str, object]) -> None:
        told = [as_text(value.get(name)) for name in ("thinking", "content", "text", "reasoning")]
        told += [as_text(part.get("text")) for part in as_dicts(value.get("summary"))]
        told += [as_text(part.get("text")) for part in as_dicts(value.get("content"))]
        found = [text for text in told if text]
        self.reasoning += found
        self.is_hidden |= not found


def result_text(value: dict[str, object]) -> str:
    """Text of a tool's result, whatever its record calls it."""
    for name in ("content", "response", "result", "output"):
        given = value.get(name)
        if given is not None:
            return value_text(given)
    return ""


def value_text(given: object) -> str:
    """Text as it is; text parts joined; anything else as JSON."""
    if isinstance(given, str):
        return given
    parts = as_list(given)
    if parts and all(isinstance(as_dict(part).get("text"), str) for part in parts):
        return "\n".join(str(as_dict(part)["text"]) for part in parts)
    return "" if given is None else compact(given)


def _part_call(part: dict[str, object]) -> ToolCall:
    names = ("input", "arguments", "args")
    arguments = next((part[name] for name in names if part.get(name) is not None), None)
    name = as_name(part.get("name")) or as_name(part.get("toolName")) or ""
    return call_of(
        name, arguments, as_name(part.get("id")) or as_name(part.get("toolCallId")) or as_name(part.get("call_id"))
    )


def call_of(name: str, arguments: object, call_id: str | None) -> ToolCall:
    """A call; arguments that are text are the model's own."""
    if isinstance(arguments, str):
        return ToolCall(name, arguments, call_id)
    return ToolCall(name, "" if arguments is None else compact(arguments), call_id, exact=False)


def calls_of(message: dict[str, object]) -> Iterator[ToolCall]:
    """Calls beside the content of a message: OpenAI's, LangChain's, the flat ones of OpenInference."""
    if _CALL_HOLDERS.isdisjoint(message):
        return
    given = message.get("tool_calls", message.get("toolCalls"))
    if not isinstance(given, list):
        given = as_dict(message.get("additional_kwargs")).get("tool_calls")
    for one in as_dicts(decoded(given)):
        call = as_dict(one.get("tool_call")) or one
        function = as_dict(call.get("function"))
        custom = as_dict(call.get("custom"))
        call_id = as_name(call.get("id")) or as_name(call.get("toolCallId"))
        if custom:
            yield ToolCall(
                as_name(custom.get("name")) or "", as_text(custom.get("input")) or "", call_id, is_json=False
            )
            continue
        name = as_name(function.get("name")) or as_name(call.get("name")) or as_name(call.get("toolName")) or ""
        holder = function or call
        arguments = next((holder[key] for key in ("arguments", "args", "input") if holder.get(key) is not None), None)
        yield call_of(name, arguments, call_id)
    legacy = as_dict(message.get("function_call"))
    if legacy:
        yield call_of(as_name(legacy.get("name")) or "", legacy.get("arguments"), None)


_CALL_HOLDERS = frozenset({"tool_calls", "toolCalls", "additional_kwargs", "function_call"})


def reply_of(given: object, converted: Converted | None = None) -> tuple[Message | None, str | None]:
    """The reply in an output, and why it ended: a completion, a message, a list of them, LangChain's generations.

    converted: what is known of the same trace; the next prompt repeats the reply.
    """
    value = decoded(given)
    if isinstance(value, str):
        return Message(EventKind.COMPLETION, value), None
    if isinstance(value, list):
        if value and all(as_name(as_dict(one).get("toolName")) for one in value):  # the calls of Vercel's AI SDK
            return Message(EventKind.COMPLETION, calls=tuple(_part_call(as_dict(one)) for one in value)), None
        if _are_reply(as_dicts(value)):
            return items_reply(as_dicts(value)), None
        value = next((one for one in value if isinstance(one, dict)), value[0] if value else None)
        return reply_of(value, converted) if value is not None else (None, None)
    return _from_object(value, converted) if isinstance(value, dict) else (None, None)


def _from_object(value: dict[str, object], converted: Converted | None) -> tuple[Message | None, str | None]:
    for name in ("choices", "generations", "output_messages", "candidates"):
        listed = value.get(name)
        if listed and isinstance(listed, list):
            return _choice(listed[0], converted)
    if as_list(value.get("output")) and as_text(as_dict(as_list(value["output"])[0]).get("type")):
        items, status = as_dicts(value["output"]), as_text(value.get("status"))
        return items_reply(items), "tool_calls" if status == "completed" and has_open_items(items) else status
    if _is_item(value):
        return items_reply([value]), None
    found = _completion(value, converted)
    has_content = any(name in value for name in ("content", "parts", "tool_calls", "kwargs", "message", "toolCalls"))
    if found is not None and has_content:
        return found, finish_of(value)
    text = next((value[name] for name in ("text", "output", "completion") if isinstance(value.get(name), str)), None)
    return (Message(EventKind.COMPLETION, str(text)) if text is not None else None), finish_of(value)


def _completion(message: dict[str, object], converted: Converted | None) -> Message | None:
    """The reply that a message is; not every one names its role."""
    given = _plain(message)
    if "role" not in given:
        given = {"role": "assistant", **given}
    made = message_of(given) if converted is None else converted.message(given)
    return next((one for one in made if one.kind is EventKind.COMPLETION), None)


def _choice(choice: object, converted: Converted | None) -> tuple[Message | None, str | None]:
    if isinstance(choice, list):
        return _choice(choice[0], converted) if choice else (None, None)
    given = as_dict(choice)
    message = as_dict(given.get("message")) or as_dict(given.get("content"))
    if not message and isinstance(given.get("text"), str):
        return Message(EventKind.COMPLETION, str(given["text"])), finish_of(given)
    return _completion(message, converted) if message else None, finish_of(given)


def finish_of(given: dict[str, object]) -> str | None:
    """Why a reply ended, in the provider's word."""
    for holder in (given, as_dict(given.get("generation_info")), as_dict(given.get("response_metadata"))):
        for name in _FINISHES if holder else ():
            found = holder.get(name)
            if isinstance(found, dict):
                found = found.get("finish_reason")
            if found and isinstance(found, str):
                return found
    return None


_FINISHES = ("finish_reason", "stop_reason", "finishReason")


def items_reply(items: Iterable[dict[str, object]], *, apart: bool = False) -> Message:
    """One reply out of the items of OpenAI's Responses.

    Args:
        items: of the output.
        apart: results of the provider's own tools are told apart (`items_results`), not as part of their calls.
    """
    texts, calls, reasoning = [], [], []
    is_hidden = False
    for item in items:
        kind = as_text(item.get("type")) or ""
        if kind == "message":
            told = _Parts(item.get("content"))
            texts.append(told.text)
        elif kind == "reasoning":
            told = _Parts([item])
            reasoning += told.reasoning
            is_hidden |= told.is_hidden or bool(item.get("encrypted_content") and not told.reasoning)
        elif kind == "function_call":
            calls.append(call_of(as_name(item.get("name")) or "", item.get("arguments"), as_name(item.get("call_id"))))
        elif kind == "custom_tool_call":
            name, call_id = as_name(item.get("name")) or "", as_name(item.get("call_id"))
            calls.append(ToolCall(name, as_text(item.get("input")) or "", call_id, is_json=False))
        elif kind == "mcp_call":
            calls.append(call_of(as_name(item.get("name")) or kind, item.get("arguments"), as_name(item.get("id"))))
        elif kind.endswith("_call"):
            left_out = {"id", "call_id", "status", "type", *(_SERVED if apart else ())}
            body = {key: value for key, value in item.items() if key not in left_out}
            if apart and "action" in body:
                body["action"] = {key: value for key, value in as_dict(body["action"]).items() if key != "sources"}
            calls.append(call_of(kind, body, as_name(item.get("call_id")) or as_name(item.get("id"))))
    return Message(
        EventKind.COMPLETION,
        "\n".join(texts),
        calls=tuple(calls),
        reasoning="\n".join(reasoning) or None,
        reasoning_hidden=is_hidden,
    )


def has_open_items(items: Iterable[dict[str, object]]) -> bool:
    """Whether items of a reply call a tool that the client runs, or wait for its approval, and hold no answer."""
    asked: set[object] = set()
    for item in items:
        kind, call_id = as_text(item.get("type")) or "", as_name(item.get("call_id")) or as_name(item.get("id"))
        if kind in _OF_CLIENT or (kind == "tool_search_call" and item.get("execution") == "client"):
            asked.add(call_id)
        elif kind.endswith("_output"):
            asked.discard(call_id)
    return bool(asked)


_OF_CLIENT = frozenset(
    {
        "function_call", "custom_tool_call", "local_shell_call", "shell_call", "computer_call", "apply_patch_call",
        "mcp_approval_request",
    }
)  # fmt: skip


def items_results(items: Iterable[dict[str, object]]) -> list[Message]:
    """What the provider's own tools answered, where the items of a reply hold it."""
    found: list[Message] = []
    searched: str | None = None
    for item in items:
        kind = as_text(item.get("type")) or ""
        call_id = as_name(item.get("call_id")) or as_name(item.get("id"))
        searched = call_id if kind == "tool_search_call" else searched
        if kind == "tool_search_output":
            found.append(Message(EventKind.OBSERVATION, compact(item.get("tools")), call_id=searched))
        elif kind.endswith("_call"):
            told = [item.get(name) for name in _SERVED] + [as_dict(item.get("action")).get("sources")]
            texts = [value_text(value) for value in told if value not in (None, [], {})]
            if kind == "image_generation_call":
                texts = [marked("image", text) for text in texts]
            found += [Message(EventKind.OBSERVATION, "\n".join(texts), call_id=call_id)] if texts else []
    return found
