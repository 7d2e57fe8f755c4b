"""Runs out of the spans of a trace file, for the readers of tracing formats; each says what its spans mean.

A run is a conversation where the spans name one, else a trace; an agent inside another is a run of its own (rules:
canon/span_tree). Of model calls only the innermost counts. Spans are taken in the order in which they began, where all
say so. A damaged span may have been of any run, so it leaves each incomplete.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

from samework.canon.model_calls import Conversation, Message, ModelCall
from samework.canon.span_tree import Group, Node, groups_of
from samework.decode.shapes import as_name, content_bytes
from samework.decode.spans import Span, iter_spans, time_of
from samework.errors import DamagedRecord
from samework.model.records import Damage, ManifestFact, RunEnd, RunStart
from samework.model.words import EndReason, FieldSource
from samework.readers.parts.chat import END_REASONS
from samework.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from samework.model.events import ToolCall
    from samework.model.reader import Source
    from samework.model.records import Record

_SAMPLING = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "stop": "stop",
    "stop_sequences": "stop",
    "reasoning_effort": "reasoning_effort",
}


class Dialect(Protocol):
    """What a format's spans mean."""

    layout: str

    def role(self, span: Span) -> str:
        """`model`, `agent`, `tool` or nothing."""
        ...

    def call(self, span: Span) -> ModelCall:
        """The model call of a span."""
        ...

    def tool(self, span: Span) -> tuple[ToolCall, Message | None]:
        """The tool call of a span and its result."""
        ...

    def conversation(self, span: Span) -> str | None:
        """The conversation that a span names."""
        ...

    def told(self, span: Span) -> dict[str, object]:
        """Facts of a model call: `model`, `model_requested`, `provider`, `agent`, `finish`, and `sampling` (a map)."""
        ...


def read_runs(source: Source, dialect: Dialect) -> Iterator[Record]:
    """Yield the runs of a trace file.

    Raises: DamagedRecord: no span of a model, an agent or a tool.
    """
    spans: list[Span] = []
    damages: list[Damage] = []
    for found in iter_spans(source):
        if isinstance(found, Damage):
            damages.append(found)
        else:
            spans.append(found)
    yield from runs_of(spans, damages, dialect, source)


def runs_of(spans: list[Span], damages: list[Damage], dialect: Dialect, source: Source) -> Iterator[Record]:
    """Yield the runs of some spans.

    Raises: DamagedRecord: no span of a model, an agent or a tool.
    """
    if spans and all(span.start for span in spans):
        spans = sorted(spans, key=lambda span: span.start)
    roles = [dialect.role(span) for span in spans]
    if not any(roles):
        reason = "no span of a model, an agent or a tool"
        raise DamagedRecord(damages[0].reason if damages and not spans else reason, place=visible(source.path))
    nodes = _nodes(spans, roles, dialect)
    groups = [group for group in groups_of(nodes) if any(roles[place] for place in group.places)]
    present = {(group.conversation, group.agent) for group in groups}
    for number, group in enumerate(groups):
        of_group = [(spans[place], roles[place]) for place in group.places]
        parent = _native(group.conversation, group.parent) if group.agent is not None else None
        has_parent = (group.conversation, group.parent) in present
        kept = [damage for damage in damages if damage.taints_run or number == 0]
        yield from _run(group, of_group, parent if has_parent else None, kept, dialect, is_one=len(groups) == 1)


def _nodes(spans: list[Span], roles: list[str], dialect: Dialect) -> list[Node]:
    named: dict[str, str] = {}
    for span in spans:
        given = dialect.conversation(span)
        if given is not None and span.trace_id:
            named.setdefault(span.trace_id, given)
    return [
        Node(
            key=f"{span.trace_id}/{span.span_id}" if span.span_id else f"#{place}",
            parent=f"{span.trace_id}/{span.parent_id}" if span.parent_id else None,
            conversation=dialect.conversation(span) or named.get(span.trace_id) or span.trace_id,
            role=role,
        )
        for place, (span, role) in enumerate(zip(spans, roles, strict=True))
    ]


def _native(conversation: str, agent: str | None) -> str | None:
    return (agent.rsplit("/", 1)[-1] if agent is not None else conversation) or None


def _run(
    group: Group,
    spans: list[tuple[Span, str]],
    parent: str | None,
    damages: list[Damage],
    dialect: Dialect,
    *,
    is_one: bool,
) -> Iterator[Record]:
    told = [dialect.told(span) for span, role in spans if role]
    resource = next((span.resource for span, _ in spans if span.resource), {})
    starts = [span.start for span, _ in spans if span.start]
    yield RunStart(
        layout=dialect.layout,
        agent=_first(told, "agent"),
        model=_first(told, "model") or _first(told, "model_requested"),
        native_id=_native(group.conversation, group.agent),
        parent_native_id=parent,
        recorder=_recorder(resource),
        started=str(min(starts)) if starts else None,
        content_sha256=None if is_one else _digest(span for span, _ in spans),
    )
    yield from damages
    yield from facts_of(told)
    conversation = Conversation()
    for span, role in spans:
        if role == "model":
            yield from conversation.add(dialect.call(span))
        elif role == "tool":
            call, result = dialect.tool(span)
            yield from conversation.tool(call.name, call, result, time_of(span), span.offset)
    yield from conversation.flush()
    yield _end(spans, told)


def _end(spans: list[tuple[Span, str]], told: list[dict[str, object]]) -> RunEnd:
    """A root or last model call that failed is an error; else the last reason that a reply gave."""
    finish = next((as_name(facts.get("finish")) for facts in reversed(told) if facts.get("finish")), None)
    ids = {span.span_id for span, _ in spans}
    roots = [span for span, role in spans if role and span.parent_id not in ids]
    if any(span.failed for span in roots):
        return RunEnd(EndReason.ERROR, finish)
    return RunEnd(END_REASONS.get(finish or "", EndReason.UNRECORDED), finish)


def facts_of(told: Iterable[dict[str, object]]) -> Iterator[ManifestFact]:
    """Facts of the manifest out of what model calls tell, each field once."""
    given: set[str] = set()
    for facts in told:
        fields = [
            ("model.id", facts.get("model"), FieldSource.MEASURED),
            ("model.id_requested", facts.get("model_requested"), FieldSource.DECLARED),
            ("routing.provider", facts.get("provider"), FieldSource.DECLARED),
        ]
        sampling = facts.get("sampling")
        for name, value in sampling.items() if isinstance(sampling, dict) else ():
            if name in _SAMPLING and value is not None:
                fields.append((f"sampling.{_SAMPLING[name]}", value, FieldSource.DECLARED))
        for field, value, how in fields:
            if value is not None and value != "" and field not in given:
                given.add(field)
                yield ManifestFact(field, value, how, where="trace")


def _recorder(resource: dict[str, object]) -> str | None:
    parts = [as_name(resource.get(name)) for name in ("service.name", "service.version", "telemetry.sdk.version")]
    return " ".join(part for part in parts if part) or None


def _first(told: list[dict[str, object]], name: str) -> str | None:
    return next((found for facts in told if (found := as_name(facts.get(name)))), None)


def _digest(spans: Iterable[Span]) -> str:
    made = hashlib.sha256()
    for span in spans:
        held = [
            span.trace_id,
            span.span_id,
            span.parent_id,
            span.name,
            span.start,
            span.end,
            span.attributes,
            span.events,
        ]
        made.update(content_bytes(held))
    return made.hexdigest()
