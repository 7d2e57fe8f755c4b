"""Who a source is: the digests of its bytes, the parts of it to keep, and how to see that it changed meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.decode.source import BytesSource, FileSource
from samework.errors import InputError, LimitExceeded
from samework.ingest import bundle_files
from samework.ingest.identity import SourceIdentity
from samework.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from samework.ingest.layouts import Unit
    from samework.ingest.settings import IngestSettings
    from samework.model.reader import Reader, Source

Parts = list[tuple["Source", str]]


def identified(
    unit: Unit, reader: Reader, settings: IngestSettings, *, worktree_oid: Callable[[Source], str | None]
) -> tuple[SourceIdentity, Parts]:
    """Who the source is, and the parts of it to keep with their digests.

    Args:
        unit: the source.
        reader: that will read it.
        settings: what the user says of it.
        worktree_oid: the tree of a bundle's working tree: it is part of what the bundle is, though no file of it is.

    Raises: InputError: it cannot be read.
    """
    parts: Parts = []
    content: str | None = None
    if unit.source.is_dir and (unit.stored.is_dir or reader.name == "bundle"):
        tree = worktree_oid(unit.source) if reader.name == "bundle" else None
        listed = bundle_files.files(unit.source)
        document = bundle_files.contents(listed, tree, lambda source, digest: parts.append((source, digest)))
        content = bundle_files.document_sha256(document)
        if unit.stored.is_dir:
            parts.append((BytesSource(f"{unit.path} (files)", document), content))
            return _identity(unit, reader, settings, (content, content, len(document))), parts
    elif unit.source is not unit.stored:  # compressed: the same content as the plain file beside it
        content = _content(unit)
    digest, n_bytes = bundle_files.hashed(unit.stored)
    return _identity(unit, reader, settings, (digest, content or digest, n_bytes)), [(unit.stored, digest)]


def _content(unit: Unit) -> str | None:
    """sha256 of what a compressed file holds, hex; None where it is cut or damaged: its own bytes identify it then.

    Raises: LimitExceeded: it expands to too much.
    """
    try:
        return bundle_files.hashed(unit.source)[0]
    except LimitExceeded:
        raise
    except InputError:
        return None


def _identity(unit: Unit, reader: Reader, settings: IngestSettings, digests: tuple[str, str, int]) -> SourceIdentity:
    """digests: sha256 of the bytes and of what is inside them, hex, and their length."""
    sha256, content, n_bytes = digests
    return SourceIdentity(
        bytes.fromhex(sha256),
        bytes.fromhex(content),
        n_bytes,
        unit.path,
        unit.folder,
        reader.name,
        settings.given(unit.fields),
        is_bundle=reader.name == "bundle",
        is_folder=unit.stored.is_dir,
    )


def size_of(unit: Unit) -> int:
    """Bytes of a source; 0 where it cannot be read, for reading it will say so."""
    try:
        if unit.stored.is_dir:
            return sum(source.size() for _, source in bundle_files.files(unit.stored))
        return unit.stored.size()
    except InputError:
        return 0


def state_of(unit: Unit) -> object:
    """What changes when someone writes to a file: length and time of the last write; None where it is gone."""
    if not isinstance(unit.stored, FileSource):
        return None
    try:
        found = unit.stored.file.stat()
    except OSError:  # opening it says why
        return None
    return found.st_size, found.st_mtime_ns


def refuse_changed(unit: Unit, before: object) -> None:
    """Raise InputError where the file is not in the state that `state_of` gave before."""
    if state_of(unit) != before:
        raise InputError(
            "the file changed while it was read; ingest it again when its writer is done",
            place=visible(unit.path),
            code="changed-while-read",
        )
