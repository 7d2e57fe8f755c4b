"""Reads what a test wrote as an agent's record, run by run, and counts it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from samework.decode.source import BytesSource, FileSource
from samework.model.events import Event, ToolCall
from samework.model.records import Damage, ManifestFact, RunEnd, RunStart
from samework.model.words import EventKind

if TYPE_CHECKING:
    from pathlib import Path

    from samework.model.reader import Reader, Source


class Run(msgspec.Struct):
    """One run as it was read."""

    start: RunStart
    events: list[Event] = []
    damage: list[Damage] = []
    facts: dict[str, Any] = {}
    end: RunEnd = RunEnd()

    def of(self, kind: EventKind) -> list[Event]:
        return [event for event in self.events if event.kind is kind]

    @property
    def steps(self) -> list[Event]:
        return self.of(EventKind.COMPLETION)

    @property
    def calls(self) -> list[ToolCall]:
        return [call for event in self.steps for call in event.calls]

    @property
    def codes(self) -> list[str]:
        return [one.code for one in self.damage]

    @property
    def kinds(self) -> list[str]:
        return [event.kind.value for event in self.events]

    @property
    def texts(self) -> list[str]:
        return [event.text for event in self.events]

    def tokens(self, name: str) -> int:
        return sum(getattr(event.usage, name) or 0 for event in self.events if event.usage)


def runs_of(reader: Reader, source: Source) -> list[Run]:
    """Runs of a source; the order of its records is checked."""
    found: list[Run] = []
    is_open = False
    for record in reader.read(source):
        if isinstance(record, RunStart):
            assert not is_open
            found.append(Run(record))
            is_open = True
        elif isinstance(record, RunEnd):
            assert is_open
            found[-1].end = record
            is_open = False
        else:
            assert is_open
            run = found[-1]
            if isinstance(record, Event):
                run.events.append(record)
            elif isinstance(record, Damage):
                assert record.offset >= 0
                assert record.reason
                run.damage.append(record)
            elif isinstance(record, ManifestFact):
                run.facts[record.field] = record.value
    assert not is_open
    return found


def read_lines(reader: Reader, *records: object, sure: float | None = 0.8) -> list[Run]:
    """Runs of JSON Lines; sure: the least that the reader must say of their format, None where it need not."""
    data = b"".join(json.dumps(one).encode() + b"\n" for one in records)
    return read_bytes(reader, data, sure=sure)


def read_bytes(reader: Reader, data: bytes, sure: float | None = None) -> list[Run]:
    source = BytesSource("record", data)
    assert sure is None or reader.sniff(source.head(), source) > sure
    return runs_of(reader, source)


def read_file(reader: Reader, path: Path) -> list[Run]:
    source = FileSource(path)
    assert reader.sniff(source.head(), source) > 0.4
    return runs_of(reader, source)
