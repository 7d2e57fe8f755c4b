"""What the readers of coding agents have in common: a completion that is put together from parts, text of contents.

No format is known here. Refuses to guess: what is no text becomes a mark with its digest, what is unknown is counted.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import msgspec
import orjson

from samework.decode import strict_json
from samework.decode.elements import iter_parts
from samework.decode.jsonl import Line, iter_lines, mended
from samework.decode.shapes import as_count, as_text, compact
from samework.decode.strict_json import NotJson
from samework.model.events import Event, ToolCall, Usage
from samework.model.records import Damage
from samework.model.words import EventKind
from samework.text import raw_bytes, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_MAX_WORDS = 1000


class Step:
    """One completion that is being put together, and what follows it in the record until the next one begins.

    key: what its parts have in common, None where nothing does. held: observations and other events after it.
    """

    def __init__(self, key: str | None, offset: int, time: str | None) -> None:
        self.key = key
        self.offset = offset
        self.time = time
        self.prose: list[str] = []
        self.reasoning: list[str] = []
        self.is_hidden = False
        self.calls: list[ToolCall] = []
        self.usage: Usage | None = None
        self.tree: str | None = None
        self.held: list[Event] = []

    @property
    def open_calls(self) -> int:
        """Calls that no held observation answers."""
        answered = {event.call_id for event in self.held if event.kind is EventKind.OBSERVATION}
        return sum(call.call_id not in answered for call in self.calls)

    def completion(self) -> Event:
        """The completion as it stands."""
        return Event(
            EventKind.COMPLETION,
            "\n".join(self.prose),
            reasoning="\n".join(self.reasoning) if self.reasoning else None,
            reasoning_hidden=self.is_hidden,
            calls=tuple(self.calls),
            usage=self.usage,
            time=self.time,
            offset=self.offset,
            workspace_tree_oid=self.tree,
        )

    def events(self) -> Iterator[Event]:
        """The completion, then what follows it, in the order of the record."""
        yield self.completion()
        yield from self.held


class StepByStep:
    """A reader's state while one completion is open. step: it, None between completions."""

    step: Step | None = None

    def _flush(self) -> Iterator[Event]:
        """The open completion with what it holds; none is open then."""
        if self.step is not None:
            step, self.step = self.step, None
            yield from step.events()

    def _later(self, event: Event) -> Iterator[Event]:
        """An event after the open completion, which may have more parts to come."""
        if self.step is None:
            yield event
        else:
            self.step.held.append(event)


class Unknowns:
    """Counts records that a reader does not know, by word; each word is one finding at the end."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.first: dict[str, int] = {}

    def add(self, word: object, offset: int) -> None:
        """Count one. Words beyond the thousandth are counted together."""
        name = shortened(str(word), 60)
        if name not in self.counts and len(self.counts) >= _MAX_WORDS:
            name = "(other)"
        self.counts[name] = self.counts.get(name, 0) + 1
        self.first.setdefault(name, offset)

    def findings(self) -> Iterator[Damage]:
        """One finding a word; none of them taints the run, for the record itself was read."""
        for word, count in sorted(self.counts.items()):
            reason = f"{count} records of the unknown type {word}, kept in the source only"
            yield Damage(self.first[word], 0, reason, code="unknown-record", taints_run=False)


def quick_records(source: Source) -> Iterator[Line | Damage]:
    """Records for a pass that only looks at words and ids: as `iter_records`, without its care for long numbers.

    Raises: InputError: the source cannot be opened.
    """
    for line in iter_lines(source):
        if isinstance(line, Damage):
            yield line
            continue
        offset, number, raw, is_cut = line
        try:
            yield Line(offset, number, orjson.loads(raw), raw)
        except orjson.JSONDecodeError:
            try:
                yield Line(offset, number, strict_json.loads(raw), raw)
            except NotJson as error:
                yield from mended(offset, number, raw, error, is_cut=is_cut)


def told_messages(
    source: Source, name: str, tell: Callable[[dict[str, object], int, int], Iterator[Record]]
) -> Iterator[Record]:
    """Tell the objects of the list `name` of a document one by one.

    Args:
        source: a JSON document.
        name: key of the list.
        tell: called with each object, its offset and its length in bytes.

    Yields: what it tells, damage in its place; damage of the document taints the run.
    """
    for part in iter_parts(source, frozenset({name})):
        if isinstance(part, Damage):
            yield msgspec.structs.replace(part, taints_run=True)
        elif part.index is not None and isinstance(part.value, dict):
            yield from tell(part.value, part.offset, len(part.raw))
        elif part.index is not None:
            yield Damage(part.offset, len(part.raw), f"message {part.index + 1}: no object")


def note(offset: int, reason: str, code: str) -> Damage:
    """A finding that does not taint the run."""
    return Damage(offset, 0, reason, code=code, taints_run=False)


def content_of(given: object) -> str:
    r"""Text of a content: a string, one part or a list of parts, a line each; what is no text becomes a mark.

    >>> content_of([{"type": "text", "text": "a"}, "b"])
    'a\nb'
    """
    if isinstance(given, str):
        return given
    parts = given if isinstance(given, list) else [] if given is None else [given]
    return "\n".join(part_text(part) for part in parts)


def part_text(part: object) -> str:
    """Text of one part; a part of another kind is named with a digest, so that two of them can be told apart."""
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    kind = as_text(part.get("type")) if isinstance(part, dict) else None
    return f"<{kind or 'part'} sha256 {hashlib.sha256(raw_bytes(compact(part))).hexdigest()[:16]}>"


def summed(*counts: object) -> int | None:
    """Sum of counts where the first is one; later ones that are missing add nothing.

    >>> summed(10, None, 5), summed(None, 5)
    (15, None)
    """
    total = as_count(counts[0]) if counts else None
    if total is None:
        return None
    for count in counts[1:]:
        total += as_count(count) or 0
    return total


def largest(one: Usage | None, other: Usage | None) -> Usage | None:
    """Counts of one reply that was reported more than once: they only grow while it streams, so the largest stand."""
    if one is None or other is None:
        return one or other
    grown = {
        name: max((count for count in (getattr(one, name), getattr(other, name)) if count is not None), default=None)
        for name in _COUNTED
    }
    return msgspec.structs.replace(other, **grown)


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""As `decode.shapes.compact`, made once: a call is written for every step of a run."""
_COUNTED = ("prompt_tokens", "cached_tokens", "cache_write_tokens", "completion_tokens", "reasoning_tokens")


def is_counted(usage: Usage) -> bool:
    """True where any count is above zero: a record of zeros is a placeholder, not a call of no tokens."""
    return any(getattr(usage, name) for name in _COUNTED)


def object_call(name: object, arguments: object, call_id: object) -> ToolCall:
    """A call of a format that holds its arguments decoded, or as text where a format does."""
    is_text = isinstance(arguments, str)
    text = str(arguments) if is_text else _COMPACT({} if arguments is None else arguments)
    return ToolCall(as_text(name) or "", text, as_text(call_id), exact=is_text)
