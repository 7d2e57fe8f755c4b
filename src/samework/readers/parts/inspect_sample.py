"""One sample of an Inspect log: its conversations, put together from its model calls.

Each model call repeats its input, as messages or as references into a pool; long strings stand apart as attachments.
Calls of a scorer are no part of the run. A call inside a tool's span (or inside a tool's or subtask's own events, as
older logs have them) belongs to a sub-agent: a conversation of its own. Calls that failed left no completion. A reply
out of Inspect's own cache is part of the conversation, and no model spent its tokens.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from samework.canon.conversation import continuation
from samework.decode.shapes import as_count, as_dict, as_dicts, as_list, as_text, compact
from samework.model.events import Event
from samework.model.records import Damage
from samework.model.words import EventKind
from samework.readers.parts.inspect_reply import (
    REFERENCE,
    exact_arguments,
    served_call,
    tool_call,
    usage_of,
    with_error,
)
from samework.readers.parts.token_evidence import ranked_texts
from samework.text import counted, raw_bytes, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS = {"system": EventKind.SYSTEM, "user": EventKind.USER, "tool": EventKind.OBSERVATION}
_SCORING = frozenset({"scorer", "scorers"})
_MAX_NESTING = 50


class Told(msgspec.Struct, frozen=True):
    """One message. key: what makes two records of it the same. events: what it is, in order. native: its own id."""

    key: tuple[object, ...]
    events: tuple[Event, ...]
    native: str | None = None


class Span(msgspec.Struct, frozen=True):
    """A span of the log, or a step of an older one."""

    kind: str | None
    name: str | None
    parent: str | None


class Thread:
    """One conversation: the run's own (id ""), or a sub-agent's."""

    def __init__(self, thread_id: str, name: str, parent: str) -> None:
        self.id = thread_id
        self.name = name
        self.parent = parent
        self.records: list[Event | Damage] = []
        self.raw: list[object] = []
        self.seen: list[tuple[object, ...]] = []
        self.tools: str | None = None
        self.stop: str | None = None
        self.n_calls = 0
        self.n_cached = 0
        self.config: dict[str, object] = {}
        self.model: str | None = None

    @property
    def has_open_calls(self) -> bool:
        """Whether a call of the last reply has no result."""
        answered = {each.call_id for each in self.records if isinstance(each, Event)}
        last = next((each for each in reversed(self.records) if _is_completion(each)), None)
        return isinstance(last, Event) and any(call.call_id not in answered for call in last.calls)


class Sample:
    """The conversations of a sample. threads: the run's own first. n_scoring / n_failed: model calls left out."""

    def __init__(self, sample: dict[str, object], offset: int | None) -> None:
        """Put the conversations together. offset: of the sample in its file."""
        self.sample = sample
        self.offset = offset
        transcript = as_dict(sample.get("transcript"))
        pooled = as_dict(sample.get("events_data"))
        self.attachments = as_dict(sample.get("attachments")) | as_dict(transcript.get("content"))
        self.pool = [as_dict(each) for each in as_list(pooled.get("messages")) or as_list(sample.get("message_pool"))]
        self.in_pool = {id(message) for message in self.pool}
        self.main = Thread("", "", "")
        self.threads: dict[str, Thread] = {"": self.main}
        self.results: dict[str, dict[str, object]] = {}
        self.n_scoring = self.n_failed = 0
        self.lost: set[str] = set()
        self.makers: dict[str, str] = {}
        self._pooled: dict[int, Told] = {}
        self._spans: dict[str, Span] = {}
        self._walk(as_dicts(sample.get("events")) or as_dicts(transcript.get("events")), "", 0)
        self._finish()

    # Events of the log

    def _walk(self, events: list[dict[str, object]], inside: str, depth: int) -> None:
        """Follow events. inside: thread of the tool or subtask whose own events they are."""
        steps: list[str | None] = []
        for event in events:
            kind = as_text(event.get("event"))
            if kind == "span_begin":
                named = Span(as_text(event.get("type")), as_text(event.get("name")), as_text(event.get("parent_id")))
                self._spans[as_text(event.get("id")) or ""] = named
            elif kind == "step":
                if event.get("action") == "begin":
                    steps.append(as_text(event.get("type")))
                elif steps:
                    steps.pop()
            elif kind == "model":
                self._model(event, inside, is_scoring="scorer" in steps)
            elif kind in {"tool", "subtask"}:
                self._nested(event, inside, depth)

    def _nested(self, event: dict[str, object], inside: str, depth: int) -> None:
        call_id = as_text(event.get("id"))
        if event.get("event") == "tool" and call_id is not None:
            self.results[call_id] = event
        below = as_dicts(event.get("events"))
        if below and depth < _MAX_NESTING:
            name = as_text(event.get("function")) or as_text(event.get("name")) or "subtask"
            thread = call_id or f"{inside}/{name}"
            self.threads.setdefault(thread, Thread(thread, name, inside))
            self._walk(below, thread, depth + 1)

    def _model(self, event: dict[str, object], inside: str, *, is_scoring: bool) -> None:
        lineage = list(self._lineage(as_text(event.get("span_id"))))
        if is_scoring or any(span.kind in _SCORING for _, span in lineage):
            self.n_scoring += 1
            return
        choices = as_dicts(as_dict(event.get("output")).get("choices"))
        if not choices:
            self.n_failed += 1
            return
        self._call(self._thread(lineage, inside), event, choices)

    def _lineage(self, span_id: str | None) -> Iterator[tuple[str, Span]]:
        """The span and those around it, innermost first."""
        met: set[str] = set()
        while span_id is not None and span_id in self._spans and span_id not in met:
            met.add(span_id)
            yield span_id, self._spans[span_id]
            span_id = self._spans[span_id].parent

    def _thread(self, lineage: list[tuple[str, Span]], inside: str) -> Thread:
        """The conversation of a call: the innermost agent or tool that a tool encloses, else the run's own."""
        outermost = max((place for place, (_, span) in enumerate(lineage) if span.kind == "tool"), default=-1)
        own = [each for each in lineage[: outermost + 1] if each[1].kind in {"agent", "tool"}]
        own = [each for place, each in enumerate(own) if each[1].kind == "agent" or place == 0]
        parent = inside
        for thread_id, span in reversed(own):
            found = self.threads.setdefault(thread_id, Thread(thread_id, span.name or "agent", parent))
            parent = found.id
        return self.threads[parent]

    # Model calls

    def _call(self, thread: Thread, event: dict[str, object], choices: list[dict[str, object]]) -> None:
        time = as_text(event.get("timestamp"))
        raw = self._input(event)
        n_same = next((n for n, (a, b) in enumerate(zip(thread.raw, raw, strict=False)) if a is not b and a != b), None)
        n_same = min(len(thread.raw), len(raw)) if n_same is None else n_same
        told = [self._told(message) for message in raw[n_same:]]  # what stands as before need not be read again
        keys = thread.seen[:n_same] + [message.key for message in told]
        n_kept, first_new = continuation(thread.seen, keys)
        if n_kept < len(thread.seen):
            said = [f"the conversation goes on from its first {n_kept} messages"]
            said += [f"{each.key[0]}: {each.key[1]}" for each in told[n_kept - n_same : first_new - n_same]]
            thread.records.append(Event(EventKind.CONTEXT_EDIT, "\n".join(said), time=time, offset=self.offset))
        tools = event.get("tools")
        if tools and (text := compact(self._resolved(tools, 0))) != thread.tools:
            thread.tools = text
            thread.records.append(Event(EventKind.TOOLS, text, time=time, offset=self.offset))
        for message in told[first_new - n_same :]:
            self._add(thread, message)
        made = self._message(as_dict(choices[0].get("message")) | {"role": "assistant"}, event, choices[0])
        if made.native is not None:
            self.makers[made.native] = thread.id
        self._add(thread, made)
        if len(choices) > 1:
            reason = f"{len(choices) - 1} further choices of a reply are not part of the run"
            thread.records.append(Damage(self.offset or 0, 0, reason, code="other-choices", taints_run=False))
        thread.raw, thread.seen = [*raw, choices[0].get("message")], [*keys, made.key]
        thread.n_calls += 1
        thread.n_cached += _is_cached(event)
        thread.stop = as_text(choices[0].get("stop_reason"))
        thread.config = thread.config or as_dict(event.get("config"))
        thread.model = thread.model or as_text(as_dict(event.get("output")).get("model"))

    def _add(self, thread: Thread, message: Told) -> None:
        """Add a message; a completion that another conversation made is copied context here, and counted there."""
        if message.native is not None and self.makers.get(message.native, thread.id) != thread.id:
            said = f"{message.key[0]}: {message.key[1]}"
            thread.records.append(Event(EventKind.CONTEXT_EDIT, said, offset=self.offset))
        else:
            thread.records.extend(message.events)

    def _input(self, event: dict[str, object]) -> list[dict[str, object]]:
        """Messages of a call, as recorded; references into the pool are (start, end) pairs."""
        raw: list[dict[str, object]] = []
        for span in as_list(event.get("input_refs")):
            start, end, *_ = [*map(as_count, as_list(span)), None, None]
            if start is None or end is None or end > len(self.pool):
                self.lost.add(f"messages {shortened(compact(span), 40)} of the pool")
            else:
                raw += self.pool[start:end]
        return raw + as_dicts(event.get("input"))

    def _told(self, message: dict[str, object]) -> Told:
        """A message as read; one of the pool is read once."""
        if id(message) not in self.in_pool:
            return self._message(message)
        if id(message) not in self._pooled:
            self._pooled[id(message)] = self._message(message)
        return self._pooled[id(message)]

    def _finish(self) -> None:
        """What came after the last model call: the sample's own messages, else the results of open calls."""
        told = [self._message(message) for message in as_dicts(self.sample.get("messages"))]
        main = self.main
        keys = [message.key for message in told]
        if keys[: len(main.seen)] == main.seen:
            for message in told[len(main.seen) :]:
                self._add(main, message)
            if not main.n_calls:
                self._usage_of_last(main)
        else:
            self._open_results(main)
        for thread in self.threads.values():
            if thread is not main:
                self._open_results(thread)
            if thread.n_cached:
                reason = (
                    f"{counted(thread.n_cached, 'reply', 'replies')} out of Inspect's own cache, without tokens here"
                )
                thread.records.append(Damage(self.offset or 0, 0, reason, code="cached-reply", taints_run=False))

    def _usage_of_last(self, thread: Thread) -> None:
        """Without events the last reply alone has its usage, in the sample's output."""
        output = as_dict(self.sample.get("output"))
        choice = next(iter(as_dicts(output.get("choices"))), {})
        last = next((n for n in range(len(thread.records) - 1, -1, -1) if _is_completion(thread.records[n])), None)
        if last is None or not choice:
            return
        made = self._message(as_dict(choice.get("message")) | {"role": "assistant"}, {"output": output}, choice).events[
            0
        ]
        held = thread.records[last]
        if isinstance(held, Event) and (held.text, held.calls) == (made.text, made.calls):
            thread.records[last] = made
        thread.stop = as_text(choice.get("stop_reason"))
        thread.model = as_text(output.get("model"))

    def _open_results(self, thread: Thread) -> None:
        """Results of calls that no later message tells."""
        answered = {each.call_id for each in thread.records if isinstance(each, Event) and each.call_id is not None}
        calls = [call for each in thread.records if isinstance(each, Event) for call in each.calls]
        for call in calls:
            found = self.results.get(call.call_id or "")
            if found is not None and call.call_id not in answered and ("result" in found or found.get("error")):
                message = {
                    "role": "tool",
                    "content": found.get("result"),
                    "error": found.get("error"),
                    "tool_call_id": call.call_id,
                }
                if not isinstance(message["content"], str | list):
                    message["content"] = compact(message["content"])
                self._add(thread, self._message(message))

    # Messages

    def _message(
        self,
        message: dict[str, object],
        event: dict[str, object] | None = None,
        choice: dict[str, object] | None = None,
    ) -> Told:
        role = as_text(message.get("role")) or ""
        parts = message.get("content")
        text = self._text(parts)
        call_id = as_text(message.get("tool_call_id"))
        if role == "tool":
            text = with_error(text, as_dict(message.get("error")))
        if role == "assistant":
            return self._completion(message, text, event or {}, choice or {})
        kind = _KINDS.get(role)
        if kind is None:
            self.lost.add(f"a message of the unknown role {shortened(role, 40)!r}")
            return Told((role, text, (), call_id), ())
        made = Event(kind, text, call_id=call_id if role == "tool" else None, offset=self.offset)
        return Told((role, text, (), call_id), (made,), as_text(message.get("id")))

    def _completion(
        self, message: dict[str, object], text: str, event: dict[str, object], choice: dict[str, object]
    ) -> Told:
        exact = exact_arguments(event)
        calls = [tool_call(call, exact) for call in as_dicts(message.get("tool_calls"))]
        served = [part for part in as_dicts(message.get("content")) if part.get("type") == "tool_use"]
        calls += [served_call(part) for part in served]
        reasoning, is_hidden = self._reasoning(as_dicts(message.get("content")))
        usage = usage_of(as_dict(event.get("output")).get("usage"))
        is_hidden = is_hidden or (reasoning is None and usage is not None and bool(usage.reasoning_tokens))
        usage = None if _is_cached(event) else usage
        margins, top2_texts = ranked_texts(choice.get("logprobs"))
        made = Event(
            EventKind.COMPLETION,
            text,
            reasoning=reasoning,
            reasoning_hidden=is_hidden,
            calls=tuple(calls),
            n_prompt_tokens=usage.prompt_tokens if usage else None,
            margins=margins,
            margin_unit="nats" if margins is not None else None,
            top2_texts=top2_texts,
            usage=usage,
            time=as_text(event.get("timestamp")),
            offset=self.offset,
        )
        results = [
            Event(
                EventKind.OBSERVATION,
                self._text(part.get("result")),
                call_id=as_text(part.get("id")),
                offset=self.offset,
            )
            for part in served
        ]
        key = ("assistant", text, tuple((call.name, call.call_id) for call in calls), None)
        return Told(key, (made, *results), as_text(message.get("id")))

    def _text(self, given: object) -> str:
        if isinstance(given, str):
            return self._string(given)
        return "\n".join(shown for part in as_list(given) if (shown := self._part(part)) is not None)

    def _part(self, part: object) -> str | None:
        """Text of a part of a content; None for what stands elsewhere in the event."""
        if isinstance(part, str):
            return self._string(part)
        kind, said = as_text(as_dict(part).get("type")), as_dict(part).get("text")
        if kind in {"reasoning", "tool_use"}:
            return None
        if isinstance(said, str):
            return self._string(said)
        digest = hashlib.sha256(raw_bytes(compact(part))).hexdigest()[:16]
        return f"<{shortened(kind or 'part', 40)} sha256 {digest}>"

    def _reasoning(self, parts: list[dict[str, object]]) -> tuple[str | None, bool]:
        said, is_hidden = [], False
        for part in parts:
            if part.get("type") != "reasoning":
                continue
            is_redacted = part.get("redacted") is True
            is_hidden = is_hidden or is_redacted
            text = part.get("summary") if is_redacted else part.get("reasoning")
            if isinstance(text, str) and text:
                said.append(self._string(text))
        return "\n".join(said) or None, is_hidden

    def _string(self, text: str) -> str:
        found = REFERENCE.fullmatch(text)
        if found is None:
            return text
        held = self.attachments.get(found[1])
        if isinstance(held, str):
            return held
        self.lost.add(f"the attachment {found[1]}")
        return text

    def _resolved(self, value: object, depth: int) -> object:
        """A value with its attachments put back."""
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, dict):
            return {key: self._resolved(each, depth + 1) for key, each in value.items()}
        return [self._resolved(each, depth + 1) for each in value] if isinstance(value, list) else value


def _is_cached(event: dict[str, object]) -> bool:
    """Whether Inspect answered a call by a reply that it had kept."""
    return event.get("cache") == "read"


def _is_completion(record: object) -> bool:
    return isinstance(record, Event) and record.kind is EventKind.COMPLETION
