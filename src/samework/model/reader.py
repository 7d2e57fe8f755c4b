"""The contract between readers and the pipeline. A reader knows its format and nothing of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Protocol, runtime_checkable

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.records import Record


class Evidence(msgspec.Struct, frozen=True):
    """What a format can ever evidence, by facet: "yes", "no", or a short qualification ("text only").

    Shown by `samework formats`; a test holds each reader to it.
    """

    tokens: str = "no"
    text: str = "no"
    actions: str = "no"
    raw_arguments: str = "no"
    observations: str = "no"
    reuse: str = "no"
    base_commit: str = "no"
    patch: str = "no"
    tests: str = "no"
    outcome: str = "no"


class Source(Protocol):
    """Bytes with a name. `path` is for display; identity is the sha256 of the bytes."""

    path: str
    is_dir: bool

    def open(self) -> BinaryIO:
        """A fresh binary stream of the whole source. Raises InputError where it cannot be opened."""
        ...

    def head(self, n_bytes: int = 65536) -> bytes:
        """The first bytes (empty for a directory)."""
        ...

    def size(self) -> int:
        """Length in bytes."""
        ...

    def child(self, name: str) -> Source | None:
        """A file below a directory source, None where there is none. Refuses names that leave it."""
        ...

    def names(self) -> list[str]:
        """Relative names below a directory source, sorted; empty for a file."""
        ...


@runtime_checkable
class Reader(Protocol):
    """One format.

    name: slug. title: one line. detects: how it is recognised, for `samework formats`. proven: a real or tool-written
    sample was read. evidence: what it can give.
    """

    name: str
    title: str
    detects: str
    proven: bool
    evidence: Evidence

    def sniff(self, head: bytes, source: Source) -> float:
        """Confidence in [0, 1] that `source` is of this format, from its content. Never raises on bad bytes."""
        ...

    def read(self, source: Source) -> Iterator[Record]:
        """Yield records in order, damage as `Damage`; raises InputError only if nothing can be read."""
        ...
