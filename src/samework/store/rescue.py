"""The blocks of the database that a checkpoint may overwrite in place, kept beside it while one is at work.

DuckDB writes data to free blocks and then changes to them by a header, but shares one block between old and new
metadata and rewrites it whole (measured with 2.0.1). Ended in the middle of that write, the block belongs to neither
state and the database does not open. The copy, a few hundred kilobytes, brings back the state before the checkpoint;
the log, still there, brings back what was committed since.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from samework.store import files, held
from samework.store.sources import sync_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb

RESCUE_NAME: Final = "checkpoint.blocks"
_PAGE: Final = 4096
_HEAD_BYTES: Final = 1 << 24
_HEADERS: Final = 3 * _PAGE  # the file's header, then two headers of the database that take turns
_METADATA_BLOCKS: Final = "SELECT DISTINCT block_id FROM pragma_metadata_info(?) ORDER BY block_id"
_BLOCK_SIZE: Final = "SELECT block_size FROM pragma_database_size() WHERE database_name = ?"


@contextmanager
def kept(db: duckdb.DuckDBPyConnection, database: Path, descriptor: int, attached: str) -> Iterator[None]:
    """Keep a copy while at most one checkpoint of a database is written.

    The copy stays where the work did not end well; after one that did it does no harm.

    Args:
        db: a connection to it.
        database: its file.
        descriptor: of the file, to read with.
        attached: the name under which the connection has it.

    Raises: OSError: it cannot be written; nothing was begun.
    """
    block_size = int(db.execute(_BLOCK_SIZE, [attached]).fetchall()[0][0])
    blocks = [int(row[0]) for row in db.execute(_METADATA_BLOCKS, [attached]).fetchall()]
    places = [(0, _HEADERS), *((_HEADERS + block * block_size, block_size) for block in blocks)]
    parts = [(place, data) for place, size in places if (data := os.pread(descriptor, size, place))]
    _write(database, parts)
    yield
    with suppress(OSError):
        drop(database)


def drop(database: Path) -> None:
    """Forget the copy: the checkpoint that it was made for is over."""
    for name in (RESCUE_NAME, f"{RESCUE_NAME}.tmp"):
        database.with_name(name).unlink(missing_ok=True)


def is_kept(database: Path) -> bool:
    """True where a checkpoint was begun and did not end, or is at work."""
    return database.with_name(RESCUE_NAME).exists()


def restore(database: Path) -> None:
    """Put the kept blocks back where the checkpoint did not reach its header, and forget the copy.

    A header that is another one says that the checkpoint ended: the copy is of an older state and must not come back.
    Nothing is done while this process has the file open, or another one: whoever has it is at work on it.
    """
    with held.alone(database) as is_alone:
        found = _read(database) if is_alone else None
        if found is None:
            return
        with suppress(OSError), database.open("r+b") as file:  # held by another process, or not ours to write
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if file.read(_HEADERS) == found[0][1]:
                for place, data in found:
                    file.seek(place)
                    file.write(data)
                file.flush()
                os.fsync(file.fileno())
            drop(database)


def _write(database: Path, parts: list[tuple[int, bytes]]) -> None:
    target = database.with_name(RESCUE_NAME)
    aside = target.with_name(f"{RESCUE_NAME}.tmp")
    body = b"".join(data for _, data in parts)
    head = {"parts": [[place, len(data)] for place, data in parts], "sha256": hashlib.sha256(body).hexdigest()}
    with aside.open("wb") as out:
        out.write(json.dumps(head, separators=(",", ":")).encode() + b"\n" + body)
        out.flush()
        os.fsync(out.fileno())
    aside.replace(target)
    sync_directory(target.parent)


def _read(database: Path) -> list[tuple[int, bytes]] | None:
    """(place, bytes) of each part, the headers first; None where there is no whole copy."""
    try:
        most = database.stat().st_size + _HEAD_BYTES  # its parts are of the database
        line, _, body = files.read_small(database.with_name(RESCUE_NAME), most).partition(b"\n")
        head = files.decoded(line)
        sizes = [(int(place), int(size)) for place, size in head["parts"]]
        is_whole = hashlib.sha256(body).hexdigest() == head["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not is_whole or not sizes or sizes[0] != (0, _HEADERS) or sum(size for _, size in sizes) != len(body):
        return None
    found, start = [], 0
    for place, size in sizes:
        found.append((place, body[start : start + size]))
        start += size
    return found
