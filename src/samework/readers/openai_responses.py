"""OpenAI Responses: replies, wrappers of request and reply, and stream events, in a document or JSON Lines.

A reply that names the one before it (`previous_response_id`), or a conversation that the provider keeps, goes on from
it; two that name the same one are branches: the later is a run of its own, linked to the reply where it left. A request
that repeats its whole input goes on where that begins with what was said before. Of a stream, the last event holds the
whole reply; one that has none was cut, and keeps what its events told. Arguments of calls are the model's own text.
What a tool of the provider answered stands in its item: it is an observation. A reply that is queued counts when it has
come; a request that was refused is a call that failed, and one that asks the same again goes on from it. Refuses what
holds no reply.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

from samework.canon.model_calls import Conversation, Message, ModelCall, marked
from samework.decode.items import Item, first_object, iter_items
from samework.decode.shapes import as_dict, as_dicts, as_moment, as_name, as_number, as_text, compact, content_bytes
from samework.errors import DamagedRecord
from samework.model.events import Event
from samework.model.reader import Evidence
from samework.model.records import Damage, ManifestFact, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, FieldSource
from samework.readers.parts.chat import (
    has_open_items,
    items_reply,
    items_results,
    message_of,
    replied,
    result_text,
)
from samework.readers.parts.known_replies import repeated_replies
from samework.readers.parts.usage import usage_of
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_NEAR_BYTES = 4096
_MANY = 20  # damages of the file that each of its runs repeats
_STREAM_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.done"})
_SAMPLING = ("temperature", "top_p", "max_output_tokens", "parallel_tool_calls", "seed", "top_logprobs", "tool_choice")
_ENDS = {
    "completed": EndReason.FINISHED,
    "incomplete": EndReason.LIMIT,
    "failed": EndReason.ERROR,
    "cancelled": EndReason.CANCELLED,
}
_KNOWN = frozenset({"message", "reasoning", "tool_search_output"})
# Events that tell an item piece by piece: the type of the item, and the field that the pieces make.
_PIECES = {
    "output_text": ("message", "text"),
    "refusal": ("message", "refusal"),
    "reasoning_summary_text": ("reasoning", "summary"),
    "reasoning_text": ("reasoning", "content"),
    "function_call_arguments": ("function_call", "arguments"),
    "custom_tool_call_input": ("custom_tool_call", "input"),
    "mcp_call_arguments": ("mcp_call", "arguments"),
    "code_interpreter_call_code": ("code_interpreter_call", "code"),
}
_WHOLE = ("text", "refusal", "arguments", "input", "code")  # what the event that ends such pieces holds


class OpenaiResponses:
    """Reader of Responses."""

    name = "openai_responses"
    title = "OpenAI Responses API"
    detects = "objects with `object: response` and `output`, wrappers of them, or their stream events"
    proven = False
    evidence = Evidence(
        text="yes", actions="yes", raw_arguments="yes", observations="where requests or a chain are kept",
        reuse="cached tokens of each call",
    )  # fmt: skip

    def sniff(self, head: bytes, source: Source) -> float:
        """0.92 for a reply, a wrapper of one, or a stream event with one."""
        is_wrapper = b'"request"' in head[:_NEAR_BYTES] and source.size() > len(head)
        if source.is_dir or not (is_wrapper or (b'"output"' in head and b'"response' in head)):
            return 0.0
        return 0.92 if _reply(as_dict(first_object(head, source))) is not None else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield one run for each chain of replies.

        Raises: DamagedRecord: no reply, or neither a JSON document nor JSON Lines.
        """
        chains = _Chains()
        for item in iter_items(source):
            if isinstance(item, Damage):
                chains.damages.append(item)
            else:
                chains.add(item)
        chains.cut()
        if not chains.runs:
            raise DamagedRecord("no reply of the Responses API", place=visible(source.path))
        first, *others = chains.runs
        yield from first.records(chains.damages, is_one=not others)
        shared = _few([damage for damage in chains.damages if damage.taints_run])
        for run in others:
            yield from run.records(shared, is_one=False)


READER = OpenaiResponses()


def _few(damages: list[Damage]) -> list[Damage]:
    """Damages as every later run repeats them: so many, for there may be as many runs as damages."""
    if len(damages) <= _MANY:
        return damages
    reason = f"{len(damages) - _MANY} more places of the file are damaged, as its first run tells"
    return [*damages[:_MANY], Damage(damages[_MANY].offset, 0, reason, code=damages[_MANY].code)]


def _reply(value: dict[str, object]) -> dict[str, object] | None:
    """The reply in a record, None where there is none."""
    response = as_dict(value.get("response"))
    for found in (value, response, as_dict(response.get("body"))):
        if found.get("object") == "response" and isinstance(found.get("output"), list):
            return found
    return None


def _refused(value: dict[str, object]) -> dict[str, object] | None:
    """A reply that stands for the error that a request was answered with, None where a record is none."""
    request, response = as_dict(value.get("request")), as_dict(value.get("response"))
    request = as_dict(request.get("body")) or request
    error = as_dict(response.get("error")) or as_dict(as_dict(response.get("body")).get("error"))
    if not error or "input" not in request:
        return None
    return {"object": "response", "status": "failed", "output": [], "error": error}


class _Stream:
    """One reply as its events come in, for where its last one does not. own: its id. offset: of the last event."""

    def __init__(self, response: dict[str, object]) -> None:
        self.response = response
        self.own = as_name(response.get("id"))
        self.offset = self.place = 0
        self.items: dict[int, dict[str, object]] = {}
        self.pieces: dict[int, dict[tuple[str, str, int], list[str]]] = {}

    def event(self, kind: str, event: dict[str, object]) -> None:
        """One event inside of the stream."""
        index = event.get("output_index")
        is_next = kind == "response.output_item.added" and bool(self.items)
        self.place = place = index if isinstance(index, int) else self.place + is_next
        item = event.get("item")
        if isinstance(item, dict):
            self.items[place] = item
            if kind == "response.output_item.done":
                self.pieces.pop(place, None)
            return
        word, _, step = kind.removeprefix("response.").rpartition(".")
        if word not in _PIECES or step not in {"delta", "done"}:
            return
        part = next((n for name in ("content_index", "summary_index") if isinstance(n := event.get(name), int)), 0)
        held = self.pieces.setdefault(place, {}).setdefault((*_PIECES[word], part), [])
        if step == "delta":
            held.append(as_text(event.get("delta")) or "")
        else:
            held[:] = next(([text] for name in _WHOLE if (text := as_text(event.get(name))) is not None), held)

    def reply(self, error: dict[str, object] | None) -> dict[str, object]:
        """What had come. error: that ended it."""
        places = sorted({*self.items, *self.pieces})
        output = [_pieced(self.items.get(place, {}), self.pieces.get(place, {})) for place in places]
        ended = {"status": "in_progress"} if error is None else {"status": "failed", "error": error}
        return {**self.response, "object": "response", **ended, "output": output}


def _pieced(item: dict[str, object], pieces: dict[tuple[str, str, int], list[str]]) -> dict[str, object]:
    """An item with what came of it piece by piece."""
    made = dict(item)
    parts: dict[str, list[dict[str, str]]] = {}
    for (kind, name, _), texts in pieces.items():
        made.setdefault("type", kind)
        text = "".join(texts)
        if kind == "message":
            parts.setdefault("content", []).append(
                {"type": "refusal" if name == "refusal" else "output_text", name: text}
            )
        elif kind == "reasoning":
            parts.setdefault(name, []).append({"type": f"{name}_text", "text": text})
        else:
            made[name] = text
    return {**made, **parts}


class _Chains:
    """Runs of a file: chains of replies."""

    def __init__(self) -> None:
        self.runs: list[_Run] = []
        self.damages: list[Damage] = []
        self.by_reply: dict[str, _Run] = {}
        self.by_conversation: dict[str, _Run] = {}
        self.stream: _Stream | None = None

    def add(self, item: Item) -> None:
        """One record."""
        kind = as_text(item.value.get("type")) or ""
        if kind.startswith("response.") and kind not in _STREAM_ENDS:
            self._streamed(kind, item)
            return
        reply = _reply(item.value) or _refused(item.value)
        if reply is None and kind == "error" and self.stream is not None:
            self.cut(as_dict(item.value.get("error")) or item.value)
            return
        if reply is None:
            keys = ", ".join(list(item.value)[:4])
            self.damages.append(
                Damage(item.offset, item.n_bytes, f"no reply: an object with {visible(keys)}", "unknown-record")
            )
            return
        own = as_name(reply.get("id"))
        if self.stream is not None:
            is_unnamed = kind in _STREAM_ENDS and None in {own, self.stream.own}
            if is_unnamed or (own is not None and own == self.stream.own):
                self.stream = None
            else:
                self.cut()
        request = as_dict(item.value.get("request"))
        self._enter(as_dict(request.get("body")) or request, reply, item.offset)

    def _streamed(self, kind: str, item: Item) -> None:
        """One event of a stream that is not its last."""
        given = item.value.get("response")
        response = as_dict(given)
        own = as_name(response.get("id"))
        is_other = own is not None and self.stream is not None and self.stream.own not in {None, own}
        if kind == "response.created" or is_other:
            self.cut()
        if self.stream is None:
            if kind != "response.created" and not any(name in item.value for name in ("response", "item", "delta")):
                return  # nothing of a reply
            self.stream = _Stream(response)
        elif self.stream.own is None and own is not None:
            self.stream.response, self.stream.own = response, own
        self.stream.offset = item.offset
        self.stream.event(kind, item.value)

    def cut(self, error: dict[str, object] | None = None) -> None:
        """End the stream that is open: what had come of its reply is kept, and that it was cut is told."""
        if self.stream is None:
            return
        stream, self.stream = self.stream, None
        reply = stream.reply(error)
        how = (
            "a stream ends before its reply is complete" if error is None else "an error ends a stream before its reply"
        )
        damage = Damage(stream.offset, 0, how, code="cut-tail")
        if stream.own is None and not reply["output"]:
            self.damages.append(damage)
            return
        key = _key(reply, stream.offset)
        run = self.by_reply.get(stream.own or "")
        if run is None:
            run = self._enter({}, reply, stream.offset)
            run.partial.add(key)
        else:  # the same reply again: of a whole one there is nothing to add
            run.came(key, reply, stream.offset, is_partial=True)
        run.cut[key] = damage

    def _enter(self, request: dict[str, object], reply: dict[str, object], offset: int) -> _Run:
        """Put a reply into the run that it belongs to."""
        previous = as_name(reply.get("previous_response_id")) or as_name(request.get("previous_response_id"))
        own = as_name(reply.get("id"))
        if own is not None and own in self.by_reply:
            held = self.by_reply[own]
            if held.came(own, reply, offset) or held.holds(own, reply, offset):
                return held
        kept = _conversation(request, reply)
        run = self.by_conversation.get(kept or "") or self._run_of(previous, tuple(_input(request.get("input"))))
        if kept is not None:
            self.by_conversation[kept] = run
        run.replies.append((request, reply, offset))
        if own is not None:
            self.by_reply[own] = run
            run.last = own
            run.places[own] = len(run.replies) - 1
        return run

    def _run_of(self, previous: str | None, given: tuple[Message, ...]) -> _Run:
        before = self.by_reply.get(previous or "")
        if before is not None and before.last == previous:
            return before
        last = self.runs[-1] if self.runs else None
        if previous is None and last is not None and given and last.goes_on(given):
            last.said = given
            return last
        run = _Run(previous)
        run.said = given
        self.runs.append(run)
        return run


class _Run:
    """One chain. parent: the reply that it leaves from, where that is another run's or not in the file.

    places: of replies, by id. partial: keys of those that were cut and did not come whole. cut: the damage of each that
    was cut.
    """

    def __init__(self, parent: str | None) -> None:
        self.parent = parent
        self.last: str | None = None
        self.said: tuple[Message, ...] = ()
        self.replies: list[tuple[dict[str, object], dict[str, object], int]] = []
        self.places: dict[str, int] = {}
        self.partial: set[str] = set()
        self.cut: dict[str, Damage] = {}
        self.repeated: list[int] = []

    def goes_on(self, given: tuple[Message, ...]) -> bool:
        """Whether an input repeats this run's last one and goes on, or asks again what was refused."""
        n_said = len(self.said)
        n_least = n_said if self.replies and _is_refused(self.replies[-1][1]) else n_said + 1
        return (
            n_said > 0
            and n_least <= len(given)
            and all(one.told == other.told for one, other in zip(self.said, given, strict=False))
        )

    def came(self, own: str, reply: dict[str, object], offset: int, *, is_partial: bool = False) -> bool:
        """Put a reply in the place of the record that it is queued or was cut; False where there is none."""
        place = self.places[own]
        request, held, _ = self.replies[place]
        if not _is_queued(held) and (own not in self.partial or is_partial):
            return False
        self.replies[place] = (request, reply, offset)
        if is_partial:
            self.partial.add(own)
        else:
            self.partial.discard(own)
            self.cut.pop(own, None)
        return True

    def holds(self, own: str, reply: dict[str, object], offset: int) -> bool:
        """Whether the run has this reply already: one of the same id and content."""
        if self.replies[self.places[own]][1] != reply:
            return False
        self.repeated.append(offset)
        return True

    def records(self, damages: list[Damage], *, is_one: bool) -> Iterator[Record]:
        """The records of the run."""
        _, first, _ = self.replies[0]
        yield RunStart(
            layout="openai-responses",
            model=as_name(first.get("model")),
            native_id=as_name(first.get("id")),
            parent_native_id=self.parent,
            started=as_moment(first.get("created_at")),
            content_sha256=None if is_one else _digest(self.replies),
        )
        yield from damages
        yield from self.cut.values()
        given: set[str] = set()
        served: set[str | None] = set()
        conversation = Conversation()
        refused: dict[str, object] | None = None
        for request, reply, offset in self.replies:
            for fact in _facts(request, reply):
                if fact.field not in given:
                    given.add(fact.field)
                    yield fact
            is_chained = bool(
                reply.get("previous_response_id")
                or request.get("previous_response_id")
                or _conversation(request, reply)
            )
            is_again = refused is not None and refused.get("input") == request.get("input")
            is_new = not (is_chained and is_again)
            yield from _call(conversation, request, reply, offset, served, is_chained=is_chained, is_new=is_new)
            refused = request if _is_refused(reply) else None
        yield from conversation.finish()
        yield from repeated_replies(self.repeated)
        _, last, offset = self.replies[-1]
        status = as_name(last.get("status"))
        detail = as_name(as_dict(last.get("incomplete_details")).get("reason"))
        detail = detail or as_text(as_dict(last.get("error")).get("message")) or status
        reason = EndReason.LOG_TRUNCATED if _key(last, offset) in self.partial else EndReason.UNRECORDED
        if not (status == "completed" and has_open_items(as_dicts(last.get("output")))):
            reason = _ENDS.get(status or "", reason)
        yield RunEnd(reason, shortened(detail, 200) if detail else None)


def _conversation(request: dict[str, object], reply: dict[str, object]) -> str | None:
    """The conversation that the provider keeps, None where a request stands by itself."""
    held = [given for holder in (request, reply) if (given := holder.get("conversation")) is not None]
    return next((name for given in held if (name := as_name(given) or as_name(as_dict(given).get("id")))), None)


def _key(reply: dict[str, object], offset: int) -> str:
    """The id of a reply; its place where it has none, which no id looks like."""
    return as_name(reply.get("id")) or f"\0{offset}"


def _is_refused(reply: dict[str, object]) -> bool:
    """Whether a call failed before anything came."""
    return reply.get("status") == "failed" and not as_dicts(reply.get("output"))


def _is_queued(reply: dict[str, object]) -> bool:
    return as_text(reply.get("status")) in {"queued", "in_progress"} and not reply.get("output")


def _call(
    conversation: Conversation,
    request: dict[str, object],
    reply: dict[str, object],
    offset: int,
    served: set[str | None],
    *,
    is_chained: bool,
    is_new: bool,
) -> Iterator[Record]:
    """One model call; a chained request holds only what is new, any other the whole conversation.

    Args: served: ids of the provider's own calls whose results were told; a later request may repeat them or not.
    is_new: the request does not ask again what was refused just before.
    """
    instructions = request.get("instructions") or reply.get("instructions")
    system = [Message(EventKind.SYSTEM, instructions)] if isinstance(instructions, str) and instructions else []
    messages = [one for one in _input(request.get("input")) if one.call_id is None or one.call_id not in served]
    if is_chained:
        for message in messages if is_new else ():
            yield from conversation.answer(message, None, offset)
        prompt: tuple[Message, ...] | None = None
    else:
        prompt = (*system, *messages) or None
    tools = request.get("tools") or reply.get("tools")
    items = as_dicts(reply.get("output"))
    is_failed = _is_refused(reply) or _is_queued(reply)
    told = items_reply(items, apart=True)
    time = as_moment(reply.get("created_at"))
    yield from conversation.add(
        ModelCall(
            messages=prompt,
            reply=None if is_failed else told,
            tools=compact(tools) if tools else None,
            usage=usage_of(reply.get("usage")),
            time=time,
            offset=offset,
            failed=is_failed,
        )
    )
    for result in items_results(items):
        served.add(result.call_id)
        yield Event(EventKind.OBSERVATION, result.text, call_id=result.call_id, time=time, offset=offset)
    kinds = Counter(as_text(item.get("type")) or "" for item in items)
    for kind in sorted(kind for kind in kinds if kind not in _KNOWN and not kind.endswith("_call")):
        reason = f"{kinds[kind]} items of the type {visible(kind)}, kept in the source only"
        yield Damage(offset, 0, reason, code="unknown-record", taints_run=False)


def _input(given: object) -> list[Message]:
    """Messages of a request's input; replies in it are one completion each, as they were."""
    if isinstance(given, str):
        return [Message(EventKind.USER, given)]
    found: list[Message] = []
    pending: list[dict[str, object]] = []
    for item in as_dicts(given):
        kind = as_text(item.get("type")) or "message"
        is_result = kind.endswith("_output") and as_name(item.get("call_id")) is not None
        if is_result or (item.get("role") is not None and item.get("role") != "assistant"):
            found += replied(pending)
            pending = []
            if is_result:
                found.append(Message(EventKind.OBSERVATION, result_text(item), call_id=as_name(item.get("call_id"))))
            elif kind == "message":
                found += message_of(item)
            else:
                found.append(Message(EventKind.SYSTEM, marked(kind, compact(item))))
        elif kind != "item_reference":
            pending.append({**item, "type": kind})
    return [*found, *replied(pending)]


def _facts(request: dict[str, object], reply: dict[str, object]) -> Iterator[ManifestFact]:
    for name in _SAMPLING:
        value = reply.get(name) if request.get(name) is None else request.get(name)
        if isinstance(value, str | bool) or as_number(value) is not None:
            field = "sampling.max_tokens" if name == "max_output_tokens" else f"sampling.{name}"
            yield ManifestFact(field, value, FieldSource.DECLARED, where="request")
    effort = as_name(as_dict(reply.get("reasoning")).get("effort"))
    named = (
        ("model.id", as_name(reply.get("model")), FieldSource.MEASURED, "response.model"),
        ("model.id_requested", as_name(request.get("model")), FieldSource.DECLARED, "request"),
        ("routing.service_tier", as_name(reply.get("service_tier")), FieldSource.MEASURED, "response"),
        ("sampling.reasoning_effort", effort, FieldSource.DECLARED, "response"),
    )
    for field, said, how, where in named:
        if said is not None:
            yield ManifestFact(field, said, how, where=where)


def _digest(replies: list[tuple[dict[str, object], dict[str, object], int]]) -> str:
    made = hashlib.sha256()
    for request, reply, _ in replies:
        made.update(content_bytes([request, reply]))
    return made.hexdigest()
