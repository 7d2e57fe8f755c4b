"""OpenHands logs of model calls, a file a call: one file, or the files of one model in a directory, in order of time.

Rules of this reader. A call repeats the conversation; what is new in it counts. A call that shares no message with the
one before begins another run. Where the model was asked without native tools, the record holds the messages before and
after they were turned into text; the ones before are read, for the reply is told in the same form. The exact prompt of
such a call is then not in the run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from samework.canon.conversation import continuation
from samework.canon.messages import content_text
from samework.decode.document import read_document
from samework.decode.shapes import as_count, as_dict, as_dicts, as_moment, as_name, as_number, as_text, compact
from samework.errors import DamagedRecord, InputError
from samework.model.events import Event, ToolCall, Usage
from samework.model.reader import Evidence
from samework.model.records import Damage, ManifestFact, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, FieldSource, RunKind
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_KEYS = (b'"response"', b'"latency_sec"', b'"messages"')
_FAR_BYTES = 4 << 20
_KINDS = {"system": EventKind.SYSTEM, "user": EventKind.USER, "tool": EventKind.OBSERVATION}
_SAMPLING = ("temperature", "top_p", "top_k", "seed", "max_completion_tokens", "max_tokens", "stop", "reasoning_effort")
_ENDS = {"length": EndReason.LIMIT, "content_filter": EndReason.ERROR}
_ASKS = frozenset({"tool_calls", "tool_use", "function_call"})
_Key = tuple[object, ...]


class OpenhandsLlmLog:
    """Reader of logs of model calls."""

    name = "openhands_llm_log"
    title = "OpenHands log of model calls"
    detects = "a JSON object with messages, response, cost, timestamp and latency_sec, or several of one model"
    proven = True
    evidence = Evidence(
        text="yes", actions="yes", raw_arguments="yes", observations="yes", reuse="cached tokens of each call"
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for a call, or for files of calls by the first of them."""
        found: Source | None = source
        try:
            if source.is_dir:
                names = source.names()
                found = source.child(names[0]) if names and all(name.endswith(".json") for name in names) else None
            start = head if found is source else b"" if found is None else found.head()
            if found is None or not re.match(
                rb'\s*\{\s*"(?:messages|instructions|context_window|tools|kwargs)"', start
            ):
                return 0.0
            whole = start if found.size() <= len(start) else found.head(_FAR_BYTES)
        except InputError:
            return 0.0
        return 0.95 if all(key in whole for key in _KEYS) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield a run a conversation.

        Raises: DamagedRecord: not one call could be read.
        """
        calls, damage = _calls(source)
        if not calls:
            reason = damage[0].reason if damage else "no call of a model"
            raise DamagedRecord(reason, place=visible(source.path))
        conversation = _Conversation()
        for call in calls:
            yield from conversation.add(call)
            yield from damage
            damage = []
        yield conversation.end()


def _calls(source: Source) -> tuple[list[dict[str, object]], list[Damage]]:
    """Calls in order of time, and what could not be read."""
    calls: list[dict[str, object]] = []
    damage: list[Damage] = []
    for name in source.names() if source.is_dir else [""]:
        found = source.child(name) if name else source
        try:
            value = None if found is None else read_document(found)
        except InputError as error:
            where = f"{shortened(name, 120)}: " if name else ""
            damage.append(Damage(0, 0, f"{where}{error.message}", code=error.code))
            continue
        if isinstance(value, dict) and as_dicts(as_dict(value.get("response")).get("choices")):
            calls.append(value)
        else:
            damage.append(Damage(0, 0, f"{shortened(name, 120) or 'the file'}: no call with its reply"))
    return sorted(calls, key=lambda call: as_number(call.get("timestamp")) or 0), damage


class _Conversation:
    """State of the conversation that is being read."""

    def __init__(self) -> None:
        self.is_open = False
        self.seen: list[_Key] = []
        self.open_calls: list[str] = []
        self.tools: str | None = None
        self.stop: str | None = None
        self.has_finished = False
        self.n_runs = 0

    def add(self, call: dict[str, object]) -> Iterator[Record]:
        """Records of one call."""
        messages = as_dicts(call.get("raw_messages")) or as_dicts(call.get("messages"))
        keys = [_key(message) for message in messages]
        n_kept, first_new = continuation(self.seen, keys)
        if self.is_open and not n_kept:
            yield self.end()
            self.__init__()  # type: ignore[misc]
            n_kept, first_new = 0, 0
        time = as_moment(call.get("timestamp"))
        if not self.is_open:
            self.is_open = True
            yield from _start(call)
        elif n_kept < len(self.seen):
            said = [f"the conversation goes on from its first {n_kept} messages"]
            said += [f"{key[0]}: {key[1]}" for key in keys[n_kept:first_new]]
            yield Event(EventKind.CONTEXT_EDIT, "\n".join(said), time=time)
        tools = call.get("tools") or as_dict(call.get("kwargs")).get("tools")
        if tools and (text := compact(tools)) != self.tools:
            self.tools = text
            yield Event(EventKind.TOOLS, text, time=time)
        for message in messages[first_new:]:
            yield from self._message(message)
        yield from self._reply(call, keys, time)

    def _message(self, message: dict[str, object]) -> Iterator[Record]:
        role = as_text(message.get("role"))
        if role == "assistant":
            yield self._completion(message, {}, None)
            return
        kind = _KINDS.get(role or "")
        if kind is None:
            yield Damage(0, 0, f"a message of the unknown role {shortened(str(role), 40)!r}", code="unknown-record")
            return
        call_id = as_name(message.get("tool_call_id")) if kind is EventKind.OBSERVATION else None
        yield Event(kind, content_text(message.get("content")), call_id=call_id if call_id in self.open_calls else None)

    def _reply(self, call: dict[str, object], keys: list[_Key], time: str | None) -> Iterator[Record]:
        response = as_dict(call.get("response"))
        choices = as_dicts(response.get("choices"))
        message = as_dict(choices[0].get("message")) | {"role": "assistant"}
        if len(choices) > 1:
            reason = f"{len(choices) - 1} further choices of a reply are not part of the run"
            yield Damage(0, 0, reason, code="other-choices", taints_run=False)
        yield self._completion(message, as_dict(response.get("usage")), time)
        self.seen = [*keys, _key(message)]
        self.stop = as_text(choices[0].get("finish_reason"))
        asked = (as_dict(call.get("function")).get("name") for call in as_dicts(message.get("tool_calls")))
        self.has_finished = "finish" in asked

    def _completion(self, message: dict[str, object], told: dict[str, object], time: str | None) -> Event:
        calls = [_call(call) for call in as_dicts(message.get("tool_calls"))]
        self.open_calls = [call.call_id for call in calls if call.call_id is not None]
        usage = _usage(told) if told else None
        reasoning = as_text(message.get("reasoning_content"))
        return Event(
            EventKind.COMPLETION,
            content_text(message.get("content")),
            reasoning=reasoning or None,
            reasoning_hidden=not reasoning and usage is not None and bool(usage.reasoning_tokens),
            calls=tuple(calls),
            usage=usage,
            n_prompt_tokens=usage.prompt_tokens if usage else None,
            time=time,
        )

    def end(self) -> RunEnd:
        """The end of the run, by its last reply; one that calls a tool ends it only where that is how an agent ends."""
        if self.stop in _ASKS and not self.has_finished:
            return RunEnd(EndReason.UNRECORDED, self.stop)
        return RunEnd(_ENDS.get(self.stop or "", EndReason.FINISHED if self.stop else EndReason.UNRECORDED), self.stop)


def _start(call: dict[str, object]) -> Iterator[Record]:
    response, kwargs = as_dict(call.get("response")), as_dict(call.get("kwargs"))
    model = as_name(response.get("model"))
    yield RunStart(
        kind=RunKind.CODING,
        layout="openhands",
        agent="openhands",
        model=model,
        native_id=as_name(response.get("id")),
        recorder="openhands-sdk (unknown version)",
        started=as_moment(call.get("timestamp")),
    )
    if model:
        yield ManifestFact("model.id", model, FieldSource.MEASURED, where="response.model")
    if as_name(response.get("system_fingerprint")):
        yield ManifestFact(
            "routing.system_fingerprint", response["system_fingerprint"], FieldSource.MEASURED, where="response"
        )
    for name in _SAMPLING:
        if kwargs.get(name) is not None:
            yield ManifestFact(f"sampling.{name}", kwargs[name], FieldSource.DECLARED, where="kwargs")


def _key(message: dict[str, object]) -> _Key:
    """What makes two records of a message the same; call ids do not: a converter makes new ones."""
    calls = as_dicts(message.get("tool_calls"))
    told = tuple(
        (as_text(as_dict(call.get("function")).get("name")), compact(as_dict(call.get("function")).get("arguments")))
        for call in calls
    )
    return as_text(message.get("role")), content_text(message.get("content")), told


def _call(call: dict[str, object]) -> ToolCall:
    function = as_dict(call.get("function"))
    arguments = function.get("arguments")
    is_text = isinstance(arguments, str)
    return ToolCall(
        as_text(function.get("name")) or "",
        str(arguments) if is_text else compact(arguments),
        as_name(call.get("id")),
        exact=is_text,
    )


def _usage(told: dict[str, object]) -> Usage:
    details = as_dict(told.get("prompt_tokens_details"))
    cached = (
        as_count(each)
        for each in (
            details.get("cached_tokens"),
            told.get("cache_read_input_tokens"),
            told.get("prompt_cache_hit_tokens"),
        )
    )
    return Usage(
        as_count(told.get("prompt_tokens")),
        next((each for each in cached if each is not None), None),
        as_count(told.get("cache_creation_input_tokens")),
        as_count(told.get("completion_tokens")),
        as_count(as_dict(told.get("completion_tokens_details")).get("reasoning_tokens")),
    )


READER = OpenhandsLlmLog()
