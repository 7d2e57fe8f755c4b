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
from samework.readers.parts.chat import end_of_reply
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

    def call(self, span: Span) -> tuple[ModelCall, dict[str, object]]:
        """The model call of a span, and facts of it.

        Facts: `model`, `model_requested`, `provider`, `agent`, `sampling` (a map), and what `finish` needs.
        """
        ...

    def finish(self, span: Span, facts: dict[str, object]) -> object:
        """Why the reply of a model call ended, in the provider's word; asked of the last calls alone."""
        ...

    def tool(self, span: Span) -> tuple[ToolCall, Message | None]:
        """The tool call of a span and its result."""
        ...

    def conversation(self, span: Span) -> str | None:
        """The conversation that a span names."""
        ...

    def agent(self, span: Span, role: str) -> object:
        """The name of an agent that a span which is no model call gives."""
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
    given = [dialect.conversation(span) for span in spans]
    named: dict[str, str] = {}
    for span, conversation in zip(spans, given, strict=True):
        if conversation is not None and span.trace_id:
            named.setdefault(span.trace_id, conversation)
    return [
        Node(
            key=f"{span.trace_id}/{span.span_id}" if span.span_id else f"#{place}",
            parent=f"{span.trace_id}/{span.parent_id}" if span.parent_id else None,
            conversation=given[place] or named.get(span.trace_id) or span.trace_id,
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
    calls = [dialect.call(span) if role == "model" else None for span, role in spans]
    told = [
        call[1] if call else {"agent": dialect.agent(span, role)}
        for (span, role), call in zip(spans, calls, strict=True)
        if role
    ]
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
    for (span, role), call in zip(spans, calls, strict=True):
        if call:
            yield from conversation.add(call[0])
        elif role == "tool":
            asked, result = dialect.tool(span)
            yield from conversation.tool(asked.name, asked, result, time_of(span), span.offset)
    yield from conversation.finish()
    yield _end(spans, calls, dialect)


def _end(
    spans: list[tuple[Span, str]], calls: list[tuple[ModelCall, dict[str, object]] | None], dialect: Dialect
) -> RunEnd:
    """An agent at the root, a last root or a last model call that failed is an error; else a reply's last reason."""
    backwards = zip(reversed(spans), reversed(calls), strict=True)
    asked = [(span, call) for (span, _), call in backwards if call]
    finishes = (dialect.finish(span, facts) for span, (_, facts) in asked)
    finish = next((as_name(found) for found in finishes if found), None)
    if _has_failed(spans) or (asked and asked[0][1][0].failed):
        return RunEnd(EndReason.ERROR, finish)
    reply = next((call.reply for _, (call, _) in asked if call.reply is not None), None)
    return RunEnd(end_of_reply(finish, has_calls=reply is not None and bool(reply.calls)), finish)


def _has_failed(spans: list[tuple[Span, str]]) -> bool:
    own = {span.span_id for span, _ in spans}
    roots = [(span, role) for span, role in spans if role and span.parent_id not in own]
    return any(span.failed and role == "agent" for span, role in roots) or (bool(roots) and roots[-1][0].failed)


def facts_of(told: Iterable[dict[str, object]]) -> Iterator[ManifestFact]:
    """Facts of the manifest out of what model calls tell, each field once."""
    given: set[str] = set()
    sampled: object = None
    for facts in told:
        for name, field, how in _FIELDS:
            value = facts.get(name)
            if value is not None and value != "" and field not in given:
                given.add(field)
                yield ManifestFact(field, value, how, where="trace")
        sampling = facts.get("sampling")
        if not isinstance(sampling, dict) or sampling is sampled:  # the very map of the call before says nothing new
            continue
        sampled = sampling
        for name in sampling:
            field = _SAMPLING.get(name, "")
            value = sampling[name]
            if field and value is not None and value != "" and field not in given:
                given.add(field)
                yield ManifestFact(f"sampling.{field}", value, FieldSource.DECLARED, where="trace")


_FIELDS = (
    ("model", "model.id", FieldSource.MEASURED),
    ("model_requested", "model.id_requested", FieldSource.DECLARED),
    ("provider", "routing.provider", FieldSource.DECLARED),
)


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
