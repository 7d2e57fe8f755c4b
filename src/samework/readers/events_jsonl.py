"""Native events: one event a line, decoded straight into the model, arguments byte for byte.

A first line of kind `meta` may say whose run it is. Text that the fast decoder refuses (lone surrogates, NaN, glued
lines) goes through the slow one; a field that cannot be used is dropped and reported. Refuses to invent events.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated

import msgspec

from samework.decode import strict_json
from samework.decode.jsonl import Line, iter_lines, mended
from samework.decode.strict_json import NotJson
from samework.model.events import Event, ToolCall, Usage
from samework.model.reader import Evidence
from samework.model.records import Damage, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, RunKind
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_KINDS = "|".join([*EventKind, "meta"])
_FIRST_KEY = re.compile(rb'[\xef\xbb\xbf\s]*\{\s*"kind"\s*:\s*"(?:%s)"' % _KINDS.encode())
_ANY_KEY = re.compile(
    rb'\{"(?:text|call_id|time|tool_calls|token_ids|usage)"\s*:.{0,60000}?"kind"\s*:\s*"(?:%s)"' % _KINDS.encode()
)
_EVENT_KINDS = frozenset(kind.value for kind in EventKind)
_RUN_KINDS = {kind.value: kind for kind in RunKind}
_END_REASONS: dict[str, EndReason] = {reason.value: reason for reason in EndReason}

_TokenId = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class _Margins(msgspec.Struct, gc=False):
    values: tuple[float, ...]
    unit: str | None = None


class _Call(msgspec.Struct, gc=False):
    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"")
    id: str | None = None
    is_json: bool = True


class _NativeLine(msgspec.Struct, gc=False):
    """One line as it is written; see `samework.model.events.Event` for what the fields mean."""

    kind: EventKind
    text: str | None = None
    reasoning: str | None = None
    reasoning_hidden: bool = False
    tool_calls: list[_Call] | None = None
    call_id: str | None = None
    exit_status: int | None = None
    token_ids: tuple[_TokenId, ...] | None = None
    prompt_token_ids: tuple[_TokenId, ...] | None = None
    token_ids_sha256: str | None = None
    prompt_ids_sha256: str | None = None
    n_prompt_tokens: int | None = None
    margins: tuple[float, ...] | _Margins | None = None
    margin_unit: str | None = None
    usage: Usage | None = None
    time: str | int | float | None = None
    is_raw_text: bool = False
    truncated_by_recorder: bool = False
    workspace_tree_oid: str | None = None
    # Plain int: msgspec 0.23 crashes on a constrained one inside a fixed tuple; the fold checks the range.
    top2: tuple[int | tuple[int, int] | None, ...] | None = None


_HINTS = {field.name: field.type for field in msgspec.structs.fields(_NativeLine)}
_CONTENT = frozenset({"text", "tool_calls", "call_id", "kind"})
_decode = msgspec.json.Decoder(_NativeLine).decode
_decode_text = msgspec.json.Decoder(str).decode


class EventsJsonl:
    """Reader of native `events.jsonl`."""

    name = "events_jsonl"
    title = "samework events (JSON Lines)"
    detects = "JSON Lines whose objects have `kind`: system, tools, user, context_edit, completion, observation, end"
    proven = True
    evidence = Evidence(
        tokens="yes",
        text="yes",
        actions="yes",
        raw_arguments="yes, where given as text",
        observations="yes",
        reuse="yes",
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """0.9 where the first line is an object with a known `kind`."""
        if source.is_dir:
            return 0.0
        if _FIRST_KEY.match(head):
            return 0.9
        first = head.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n", 1)[0]
        return 0.8 if _ANY_KEY.match(first) and b'"payload"' not in first[:200] else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield a run: its start, its events in order, damage in its place, its end.

        Raises: InputError: the source cannot be opened.
        """
        end = RunEnd()
        is_started = False
        for item in iter_lines(source):
            if isinstance(item, Damage):
                damage_or_event: Iterator[Record] = iter((item,))
            else:
                offset, number, raw, is_cut = item
                if not is_started and (meta := _meta(raw)) is not None:
                    is_started = True
                    yield _start(meta)
                    continue
                try:
                    line = _decode(raw)
                    event = _event(line, offset)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # arguments are decoded last
                    damage_or_event = _odd_line(offset, number, raw, is_cut=is_cut)
                else:
                    if is_started and line.kind is not EventKind.END:
                        yield event
                        continue
                    damage_or_event = iter((event,))
            if not is_started:
                is_started = True
                yield _start({})
            for record in damage_or_event:
                end = _later_end(end, record)
                yield record
        if not is_started:
            yield _start({})
        yield end


def _later_end(end: RunEnd, record: Record) -> RunEnd:
    if isinstance(record, Damage) and record.code == "cut-tail":
        return RunEnd(EndReason.LOG_TRUNCATED, record.reason)
    if isinstance(record, Event) and record.kind is EventKind.END:
        reason = _END_REASONS.get(record.text, EndReason.UNRECORDED)
        return RunEnd(reason, record.text or None, record.time)
    return end


def _event(line: _NativeLine, offset: int) -> Event:
    given, unit = line.margins, line.margin_unit
    margins: tuple[float, ...] | None
    if isinstance(given, _Margins):
        margins, unit = given.values, given.unit or unit
    else:
        margins = given
    time = line.time
    calls = line.tool_calls
    return Event(
        line.kind,
        line.text or "",
        line.reasoning,
        line.reasoning_hidden,
        tuple([_call(call) for call in calls]) if calls else (),
        line.call_id,
        line.exit_status,
        line.token_ids,
        line.prompt_token_ids,
        line.token_ids_sha256,
        line.prompt_ids_sha256,
        line.n_prompt_tokens,
        margins,
        unit,
        line.usage,
        time if time is None or isinstance(time, str) else str(time),
        line.is_raw_text,
        line.truncated_by_recorder,
        offset,
        line.workspace_tree_oid,
        None if line.top2 is None else _top2(line.top2, line.token_ids or ()),
    )


def _top2(given: tuple[int | tuple[int, int] | None, ...], ids: tuple[int, ...]) -> tuple[tuple[int, int] | None, ...]:
    """Pairs of ids; one id alone is the rival of the token itself, which was then the likeliest."""
    own: list[int | None] = [*ids, *[None] * (len(given) - len(ids))]
    pairs: list[tuple[int, int] | None] = []
    for one, token in zip(given, own, strict=False):
        if isinstance(one, int):
            pairs.append(None if token is None else (token, one))
        else:
            pairs.append(one)
    return tuple(pairs)


def _call(call: _Call) -> ToolCall:
    """Arguments given as text are the model's bytes; given as an object, they are the recorder's."""
    raw = bytes(call.arguments)
    if raw.startswith(b'"'):
        return ToolCall(call.name, _decode_text(raw), call.id, is_json=call.is_json)
    return ToolCall(call.name, raw.decode("utf-8"), call.id, exact=False, is_json=call.is_json)


def _odd_line(offset: int, number: int, raw: bytes, *, is_cut: bool) -> Iterator[Record]:
    """A line that the fast decoder refused, through the one policy for JSON."""
    try:
        value = strict_json.loads(raw)
    except NotJson as error:
        for piece in mended(offset, number, raw, error, is_cut=is_cut):
            if isinstance(piece, Line):
                yield from _odd_value(piece.value, piece.offset, number, len(piece.raw))
            else:
                yield piece
        return
    yield from _odd_value(value, offset, number, len(raw))


def _odd_value(value: object, offset: int, number: int, n_bytes: int) -> Iterator[Record]:
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(kind, str):
        yield Damage(offset, n_bytes, f"line {number}: no event, `kind` is missing")
        return
    if kind not in _EVENT_KINDS:
        is_meta = kind == "meta"
        reason = "`meta` is not the first line" if is_meta else f"unknown kind {shortened(kind, 40)!r}"
        yield Damage(offset, n_bytes, f"line {number}: {reason}", code="unknown-record", taints_run=not is_meta)
        return
    fields: dict[str, object] = {}
    for name, given in value.items():
        if name == "tool_calls" or name not in _HINTS:
            continue
        try:
            fields[name] = msgspec.convert(given, _HINTS[name])
        except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the latter of half a surrogate pair
            yield _unusable(offset, number, name, str(error))
    calls: tuple[ToolCall, ...] = ()
    try:
        calls = _odd_calls(value.get("tool_calls"))
    except (TypeError, KeyError):
        yield _unusable(offset, number, "tool_calls", "not a list of calls with a name")
    yield msgspec.structs.replace(_event(_NativeLine(**fields), offset), calls=calls)  # type: ignore[arg-type]


def _odd_calls(given: object) -> tuple[ToolCall, ...]:
    """Calls of a line that was decoded the slow way. Raises TypeError or KeyError where they are none."""
    if given is None:
        return ()
    if not isinstance(given, list) or not all(
        isinstance(call, dict) and isinstance(call["name"], str) for call in given
    ):
        raise TypeError
    calls = []
    for call in given:
        arguments, call_id = call.get("arguments", ""), call.get("id")
        is_text = isinstance(arguments, str)
        calls.append(
            ToolCall(
                call["name"],
                arguments if is_text else json.dumps(arguments, separators=(",", ":")),
                call_id if isinstance(call_id, str) else None,
                exact=is_text and "arguments" in call,
                is_json=call.get("is_json") is not False,
            )
        )
    return tuple(calls)


def _unusable(offset: int, number: int, name: str, why: str) -> Damage:
    return Damage(
        offset,
        0,
        f"line {number}: `{name}` cannot be used: {shortened(why, 120)}",
        code="unusable-field",
        taints_run=name in _CONTENT,
    )


def _meta(raw: bytes) -> dict[str, object] | None:
    """The first line as a dictionary if it is of kind `meta`."""
    if b'"meta"' not in raw[:4096]:
        return None
    try:
        value = strict_json.loads(raw)
    except NotJson:
        return None
    return value if isinstance(value, dict) and value.get("kind") == "meta" else None


_META_FIELDS = frozenset(
    {
        "task", "arm", "repeat", "agent", "agent_version", "model", "native_id", "recorder", "tokenizer", "base_commit",
        "repo", "started", "ended", "run_id",
    }
)  # fmt: skip


def _start(meta: dict[str, object]) -> RunStart:
    known = {name: str(meta[name]) for name in _META_FIELDS if isinstance(meta.get(name), str | int)}
    word = meta.get("run_kind")
    kind = _RUN_KINDS.get(word, RunKind.CODING) if isinstance(word, str) else RunKind.CODING
    extra = {name: value for name, value in meta.items() if name not in known and name not in {"kind", "run_kind"}}
    return RunStart(kind=kind, layout="bundle", extra=extra or None, **known)  # type: ignore[arg-type]


READER = EventsJsonl()
