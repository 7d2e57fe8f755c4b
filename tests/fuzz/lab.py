"""Samples of every format, the law that each reader is held to on any bytes, and the facets that records evidence.

A sample is a file, or a directory of files, below `samples/<reader>/`; `collect.py` makes them from what the tests of
the readers write. A found fault is a file or directory below `corpus/<reader>/`.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from samework.decode.archive import expanded
from samework.decode.source import BytesSource, refuse_name
from samework.errors import InputError, LimitExceeded
from samework.ingest import registry
from samework.ingest.detect import detect
from samework.model.events import Event
from samework.model.records import (
    Damage,
    Include,
    OutcomeRecord,
    PatchRecord,
    Record,
    RunEnd,
    RunStart,
    SuiteReport,
    TreeRecord,
)
from samework.model.words import EventKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from samework.model.reader import Reader, Source

HERE = Path(__file__).resolve().parent
SAMPLES, CORPUS = HERE / "samples", HERE / "corpus"
FILE = ""
"""The name under which a sample of one file keeps its bytes."""
MAX_SECONDS = 10.0
"""Of CPU, for a sample of some kilobytes: a hang, not a slow machine."""


class MemoryDir:
    """A directory source in memory."""

    is_dir = True

    def __init__(self, path: str, files: dict[str, bytes]) -> None:
        self.path = path
        self.files = files

    def open(self) -> BinaryIO:
        raise InputError("is a directory", place=self.path)

    def head(self, n_bytes: int = 65536) -> bytes:
        return b""

    def size(self) -> int:
        return sum(map(len, self.files.values()))

    def child(self, name: str) -> Source | None:
        refuse_name(name, self.path)
        found = self.files.get(name)
        return None if found is None else BytesSource(f"{self.path}/{name}", found)

    def names(self) -> list[str]:
        return sorted(self.files)


class Sample(NamedTuple):
    """A source of `reader`'s format, by content. files: by relative name, `FILE` alone for a sample of one file."""

    reader: str
    name: str
    files: dict[str, bytes]

    @property
    def is_dir(self) -> bool:
        return FILE not in self.files

    @property
    def data(self) -> bytes:
        return self.files[FILE]

    def source(self) -> Source:
        """Raises InputError: an archive that cannot be opened."""
        return source_of(self.files)


def source_of(files: dict[str, bytes]) -> Source:
    """Raises InputError: an archive that cannot be opened."""
    return expanded(BytesSource("sample", files[FILE])) if FILE in files else MemoryDir("sample", files)


def samples(reader: str, folder: Path = SAMPLES) -> list[Sample]:
    """Samples of a reader, in order of their names."""
    return [Sample(reader, path.name, _files(path)) for path in sorted((folder / reader).glob("*"))]


def _files(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {FILE: path.read_bytes()}
    return {each.relative_to(path).as_posix(): each.read_bytes() for each in sorted(path.rglob("*")) if each.is_file()}


def write_sample(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    """Write a sample so that `samples` reads it back."""
    target = folder / name
    for inner, data in files.items():
        path = target / inner if inner else target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return target


# The law


def judged(reader: Reader, files: dict[str, bytes]) -> list[Record] | None:
    """Records of any bytes, held to the contract of readers; None where the source was refused by its name.

    Asserts: nothing but InputError is raised, and only before the first event (a bomb aside); events lie inside runs,
    damage has a place and a reason, each value has its declared type, and it ends in time.
    """
    began = time.process_time()
    try:
        source = source_of(files)
    except InputError:
        return None
    try:
        sure = reader.sniff(source.head(), source)
    except InputError:
        # The bytes themselves cannot be had (a member of an archive is damaged); no reader is asked then.
        if isinstance(source, BytesSource | MemoryDir):
            raise
        return None
    assert 0 <= sure <= 1
    records: list[Record] = []
    try:
        records.extend(reader.read(source))
    except LimitExceeded:
        return None
    except InputError:
        assert not events_of(records), "refused after events were given"
        return None
    hold(records)
    assert time.process_time() - began < MAX_SECONDS
    return records


def hold(records: Iterable[Record]) -> None:
    """Assert the order of records and the types of their values. Numbers of any size may come: an ingest tells."""
    depth = 0
    for record in records:
        depth += isinstance(record, RunStart) - isinstance(record, RunEnd)
        assert depth in {0, 1}, record
        assert depth or not isinstance(record, Event), record
        if isinstance(record, Damage):
            assert record.reason
            assert record.offset >= 0, record
            assert record.n_bytes >= 0, record
        _hold_types(record)
    assert depth == 0


def _hold_types(record: Record) -> None:
    plain = msgspec.to_builtins(record, builtin_types=(bytes,))
    back = msgspec.convert(plain, type(record), builtin_types=(bytes,))
    assert type(back) is type(record)


def events_of(records: Iterable[Record] | None) -> list[Event]:
    return [record for record in records or () if isinstance(record, Event)]


def has_damage(records: Iterable[Record]) -> bool:
    return any(isinstance(record, Damage) for record in records)


def claims(source: Source) -> dict[str, float]:
    """How sure each reader is of the source, the others left out."""
    head = source.head()
    found = {name: reader.sniff(head, source) for name, reader in registry.readers().items()}
    return {name: sure for name, sure in found.items() if sure > 0}


# Evidence


def facets_of(reader: Reader, source: Source) -> set[str]:
    """Facets of `model.reader.Evidence` that the source's records hold, files that they include among them."""
    found: set[str] = set()
    for record in reader.read(source):
        found.update(_facets(record))
        if isinstance(record, Include) and record.role in {"transcript", "tests"}:
            with contextlib.suppress(InputError):  # a part that nobody can read evidences nothing
                child = source.child(record.path)
                if child is not None:
                    child = expanded(child)
                    found |= facets_of(detect(child), child)
        elif isinstance(record, Include) and record.role == "patch":
            found.add("patch")
    return found


def _facets(record: Record) -> Iterator[str]:
    if isinstance(record, Event):
        yield from _facets_of_event(record)
    elif isinstance(record, TreeRecord):
        if record.base or record.commit:
            yield "base_commit"
    elif isinstance(record, RunStart):
        if record.base_commit:
            yield "base_commit"
    elif isinstance(record, PatchRecord):
        yield from ["patch"] * (record.patch is not None) + ["base_commit"] * bool(record.base_commit)
    elif isinstance(record, SuiteReport) and record.outcomes:
        yield "tests"
    elif isinstance(record, OutcomeRecord):
        yield "outcome"


def _facets_of_event(event: Event) -> Iterator[str]:
    if event.token_ids is not None or event.token_ids_sha256 is not None:
        yield "tokens"
    if event.kind is EventKind.COMPLETION and event.text:
        yield "text"
    if event.calls:
        yield "actions"
    if any(call.exact for call in event.calls):
        yield "raw_arguments"
    if event.kind is EventKind.OBSERVATION and event.text:
        yield "observations"
    if event.usage is not None and event.usage.cached_tokens is not None:
        yield "reuse"
