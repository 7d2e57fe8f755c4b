"""llama.cpp's own `/completion`: replies, wrappers of request and reply, and streamed chunks.

A reply's text is the model's raw output, with the ids of its tokens where the request asked for them. A prompt that
goes on from the one before and its reply belongs to the same run and adds only its end. Reuse is `timings.cache_n`;
what is called `tokens_cached` there is how full the slot was afterwards. The settings are those that the server used.
Refuses what holds no reply.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

from samework.canon.model_calls import failed_calls
from samework.decode.items import Item, first_object, iter_items
from samework.decode.shapes import (
    as_count,
    as_dict,
    as_dicts,
    as_list,
    as_name,
    as_text,
    as_token_ids,
    content_bytes,
)
from samework.errors import DamagedRecord
from samework.model.events import Event, Usage
from samework.model.reader import Evidence
from samework.model.records import Damage, ManifestFact, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, FieldSource, RunKind
from samework.readers.parts.token_evidence import ranked, with_reuse
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_KEYS = frozenset(
    {"generation_settings", "tokens_predicted", "tokens_evaluated", "stop_type", "stopped_eos", "timings"}
)
_OF_CHUNK = frozenset({"tokens", "id_slot", "slot_id"})
_SAMPLING = {
    name: f"sampling.{name}"
    for name in (
        "temperature", "top_k", "top_p", "min_p", "seed", "repeat_penalty", "presence_penalty", "frequency_penalty",
        "mirostat", "typical_p", "samplers",
    )
}  # fmt: skip
_MEASURED, _DECLARED = FieldSource.MEASURED, FieldSource.DECLARED
_CUT = "a stream ends before its reply is complete"
_ENDS = {"eos": EndReason.FINISHED, "word": EndReason.FINISHED, "limit": EndReason.LIMIT}


class Llamacpp:
    """Reader of llama.cpp's completions."""

    name = "llamacpp"
    title = "llama.cpp /completion"
    detects = "objects with `content` and `tokens_predicted`, `generation_settings` or `timings`"
    proven = False
    evidence = Evidence(tokens="where `return_tokens` was asked for", text="yes", reuse="timings.cache_n of each call")

    def sniff(self, head: bytes, source: Source) -> float:
        """0.9 for a reply or a wrapper of one."""
        if source.is_dir or b'"content"' not in head:
            return 0.0
        return 0.9 if _reply(as_dict(first_object(head, source))) is not None else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield one run for each chain of prompts.

        Raises: DamagedRecord: no reply, or neither a JSON document nor JSON Lines.
        """
        reading = _Reading()
        for item in iter_items(source):
            if isinstance(item, Damage):
                yield from reading.damaged(item)
            else:
                yield from reading.add(item)
        yield from reading.finish()
        if not reading.n_read:
            raise DamagedRecord("no reply of llama.cpp's /completion", place=visible(source.path))


READER = Llamacpp()


def _reply(value: dict[str, object]) -> dict[str, object] | None:
    """The reply in a record, None where there is none; a chunk of a stream is one, too."""
    for found in (value, as_dict(value.get("response"))):
        is_chunk = isinstance(found.get("stop"), bool) and not _OF_CHUNK.isdisjoint(found)
        is_whole = not _KEYS.isdisjoint(found) or is_chunk
        if isinstance(found.get("content"), str) and is_whole and "choices" not in found and "role" not in found:
            return found
    return None


def _error(value: dict[str, object]) -> str | None:
    """What the server answered instead of a reply, None where a record tells of no error."""
    for holder in (value, as_dict(value.get("response"))):
        if error := as_dict(holder.get("error")):
            return shortened(as_text(error.get("message")) or as_name(error.get("type")) or "error", 200)
    return None


class _Reading:
    """Runs of a file."""

    def __init__(self) -> None:
        self.n_runs = 0
        self.n_read = 0
        self.is_open = False
        self.said = ""
        self.facts: set[str] = set()
        self.end: tuple[EndReason, str | None] = (EndReason.UNRECORDED, None)
        self.failed: list[int] = []
        self.streams: dict[int, _Stream] = {}

    def damaged(self, damage: Damage) -> Iterator[Record]:
        """Damage inside a run is the run's."""
        yield from self._begin({}, None)
        yield damage

    def add(self, item: Item) -> Iterator[Record]:
        """One record."""
        reply = _reply(item.value)
        if reply is None and (error := _error(item.value)) is not None:
            yield from self._begin({}, item)
            self.end = (EndReason.ERROR, error)
            self.failed.append(item.offset)
            return
        if reply is None:
            keys = visible(", ".join(list(item.value)[:4]))
            reason = f"no reply: an object with {keys}"
            yield from self.damaged(Damage(item.offset, item.n_bytes, reason, "unknown-record"))
            return
        self.n_read += 1
        request = as_dict(item.value.get("request")) if reply is not item.value else {}
        of_prompt = as_count(reply.get("index")) or 0  # prompts of one request are answered in turns
        stream = self.streams.get(of_prompt)
        if stream is not None and not stream.goes_on(request, reply):
            del self.streams[of_prompt]
            yield from self._cut(stream)
            stream = None
        if _is_chunk(reply):
            stream = stream or self.streams.setdefault(of_prompt, _Stream(request))
            stream.add(reply, item)
            return
        if stream is not None:
            del self.streams[of_prompt]
            reply = _joined([*stream.chunks, reply])
            value = {**item.value, "response": reply} if "response" in item.value else reply
            item = Item(value, item.offset, item.n_bytes)
        yield from self._call(request, reply, item)

    def _cut(self, stream: _Stream) -> Iterator[Record]:
        """What came of a reply before its stream was cut, by which the run ends."""
        reply = _joined(stream.chunks)
        yield from self._call(stream.request, reply, Item(reply, stream.offset, stream.n_bytes))
        self.end = (EndReason.LOG_TRUNCATED, _CUT)
        yield Damage(stream.offset, stream.n_bytes, _CUT, code="cut-tail")
        yield from self._close()

    def _call(self, request: dict[str, object], reply: dict[str, object], item: Item) -> Iterator[Record]:
        given = reply.get("prompt") if isinstance(reply.get("prompt"), str) else request.get("prompt")
        prompt = as_text(given) or ""
        if self.is_open and not (self.said and prompt.startswith(self.said)):
            yield from self._close()
        yield from self._begin(reply, item)
        yield from self._new_facts(request, reply)
        if asked := prompt[len(self.said) :]:
            yield Event(EventKind.USER, asked, offset=item.offset)
        content = as_text(reply.get("content")) or ""
        self.said = prompt + content
        margins, pairs = ranked(as_dicts(reply.get("completion_probabilities")))
        tokens = as_token_ids(reply.get("tokens"))
        usage = with_reuse(_usage(reply), {}, reply)
        yield Event(
            EventKind.COMPLETION,
            content,
            is_raw_text=True,
            token_ids=tokens,
            prompt_token_ids=as_token_ids(request.get("prompt")),
            n_prompt_tokens=usage.prompt_tokens if usage else None,
            margins=margins if tokens is None or (margins is not None and len(margins) == len(tokens)) else None,
            margin_unit=None if margins is None else "nats",
            top2=pairs if pairs is not None and tokens is not None and len(pairs) == len(tokens) else None,
            usage=usage,
            offset=item.offset,
        )
        self.end = _end(reply)

    def _begin(self, reply: dict[str, object], item: Item | None) -> Iterator[Record]:
        if self.is_open:
            return
        self.is_open, self.said, self.facts = True, "", set()
        self.end, self.failed = (EndReason.UNRECORDED, None), []
        digest = None if item is None or self.n_runs == 0 else hashlib.sha256(content_bytes(item.value)).hexdigest()
        self.n_runs += 1
        model = as_name(reply.get("model"))
        yield RunStart(
            kind=RunKind.TEXT,
            layout="llamacpp",
            model=None if model is None else model.replace("\\", "/").rsplit("/", 1)[-1],
            content_sha256=digest,
        )

    def _new_facts(self, request: dict[str, object], reply: dict[str, object]) -> Iterator[ManifestFact]:
        for field, value, source, where in _facts(request, reply):
            if field not in self.facts:
                self.facts.add(field)
                yield ManifestFact(field, value, source, where=where)

    def finish(self) -> Iterator[Record]:
        """End the run that is open."""
        if self.streams:
            self.streams = {}
            yield from self.damaged(Damage(0, 0, _CUT, code="cut-tail"))
        yield from self._close()

    def _close(self) -> Iterator[Record]:
        if self.is_open:
            self.is_open = False
            yield from failed_calls(self.failed[:-1] if self.end[0] is EndReason.ERROR else self.failed)
            yield RunEnd(*self.end)


class _Stream:
    """The chunks of a reply so far, and the request that they answer, where it is kept beside them."""

    def __init__(self, request: dict[str, object]) -> None:
        self.request = request
        self.chunks: list[dict[str, object]] = []
        self.offset = self.n_bytes = 0
        self.n_made = 0

    def add(self, chunk: dict[str, object], item: Item) -> None:
        """One more chunk."""
        self.offset = self.offset if self.chunks else item.offset
        self.n_bytes = item.offset + item.n_bytes - self.offset
        self.chunks.append(chunk)
        self.n_made = _n_made(chunk) or self.n_made

    def goes_on(self, request: dict[str, object], reply: dict[str, object]) -> bool:
        """Whether a record is of the same reply: the tokens made so far only grow, and one chunk has the first."""
        if request != self.request or (reply.get("stop") is False and not _is_chunk(reply)):
            return False
        n_made = _n_made(reply)
        return not n_made or n_made > self.n_made or (n_made == self.n_made and not (n_made == 1 and _is_chunk(reply)))


def _is_chunk(reply: dict[str, object]) -> bool:
    """Whether a record is a part of a reply; a whole one tells its prompt or its settings."""
    return reply.get("stop") is False and "generation_settings" not in reply and "prompt" not in reply


def _n_made(reply: dict[str, object]) -> int:
    """Tokens made so far, 0 where it is not told."""
    told = as_count(reply.get("tokens_predicted"))
    return (as_count(as_dict(reply.get("timings")).get("predicted_n")) if told is None else told) or 0


def _joined(chunks: list[dict[str, object]]) -> dict[str, object]:
    """One reply out of the chunks of a stream."""
    if len(chunks) == 1:
        return chunks[0]
    joined = dict(chunks[-1])
    joined["content"] = "".join(as_text(chunk.get("content")) or "" for chunk in chunks)
    for name in ("tokens", "completion_probabilities"):
        joined[name] = [one for chunk in chunks for one in as_list(chunk.get(name))]
    return joined


def _usage(reply: dict[str, object]) -> Usage | None:
    prompt, made = as_count(reply.get("tokens_evaluated")), as_count(reply.get("tokens_predicted"))
    return None if prompt is None and made is None else Usage(prompt, None, None, made)


def _end(reply: dict[str, object]) -> tuple[EndReason, str | None]:
    word = as_name(reply.get("stop_type"))
    if word is None:
        word = next((name for name in _ENDS if reply.get(f"stopped_{name}") is True), None)
    return _ENDS.get(word or "", EndReason.UNRECORDED), word


def _facts(request: dict[str, object], reply: dict[str, object]) -> Iterator[tuple[str, object, FieldSource, str]]:
    """Facts of one call: field, value, how it is known, and where it stands."""
    yield "engine.name", "llama.cpp", _MEASURED, "the reply's form"
    settings = as_dict(reply.get("generation_settings"))
    for name, field in _SAMPLING.items():
        if name in settings and _is_told(settings[name]):
            yield field, settings[name], _MEASURED, "generation_settings"
        elif name in request and _is_told(request[name]):
            yield field, request[name], _DECLARED, "request"
    if isinstance(request.get("cache_prompt"), bool):
        yield "cache.attention_reuse.enabled_requested", request["cache_prompt"], _DECLARED, "request.cache_prompt"
    if reply.get("truncated") is True:
        yield "context.truncated", True, _MEASURED, "response.truncated"


def _is_told(value: object) -> bool:
    return value is not None and (type(value) is not float or math.isfinite(value))
