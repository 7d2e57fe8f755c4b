"""The databases that this process has open, each under one descriptor that is closed last.

A process loses all of its locks on a file as soon as it closes any descriptor of it, whoever opened that one (POSIX).
So whoever reads a database besides DuckDB asks here, and a second opening that DuckDB would refuse is refused before.
"""

from __future__ import annotations

import io
import os
import stat
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from samework.decode.placed import Placed
from samework.errors import StoreLocked
from samework.store.files import not_regular
from samework.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Identity = tuple[int, int]


class _File:
    """One file that is open. n: who has it. is_written: by the one who has it."""

    def __init__(self, descriptor: int, *, is_written: bool) -> None:
        self.descriptor = descriptor
        self.is_written = is_written
        self.n = 1


_lock = threading.RLock()
_files: dict[Identity, _File] = {}


def _identity(state: os.stat_result) -> Identity:
    return state.st_dev, state.st_ino


def _opened(file: Path) -> tuple[int, Identity]:
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode):
        os.close(descriptor)
        raise not_regular(file)
    return descriptor, _identity(state)


def take(database: Path, *, read_only: bool) -> Identity:
    """Note that a database is about to be opened; give it back with `release` when DuckDB has closed it.

    Raises: StoreLocked: this process writes it, or is to write it while it reads. OSError: it cannot be read.
    """
    with _lock:
        found = _files.get(_identity(database.stat()))
        if found is None:
            descriptor, identity = _opened(database)
            _files[identity] = _File(descriptor, is_written=not read_only)
            return identity
        if found.is_written or not read_only:
            raise StoreLocked(
                f"this process (pid {os.getpid()}) holds the store already{'' if read_only else ' in another mode'}",
                place=visible(str(database.parent), one_line=True),
                hint="Close the other handle first.",
            )
        found.n += 1
        return _identity(database.stat())


def release(identity: Identity) -> None:
    """Give back what `take` gave; the last one closes the descriptor."""
    with _lock:
        found = _files[identity]
        found.n -= 1
        if not found.n:
            del _files[identity]
            os.close(found.descriptor)


def descriptor_of(identity: Identity) -> int:
    """The descriptor of a file that was taken, to read at places with."""
    with _lock:
        return _files[identity].descriptor


@contextmanager
def alone(database: Path) -> Iterator[bool]:
    """True where nobody in this process has the file open, and nobody gets it meanwhile."""
    with _lock:
        yield _identity(database.stat()) not in _files


@contextmanager
def reading(file: Path) -> Iterator[BinaryIO]:
    """The bytes of a file from its beginning, whoever else in this process has it open. Raises: OSError."""
    with _lock:
        state = file.stat()
        identity = _identity(state)
        found = _files.get(identity)
        if found is None:
            descriptor, identity = _opened(file)
            found = _files[identity] = _File(descriptor, is_written=False)
        else:
            found.n += 1
    try:
        yield io.BufferedReader(Placed(found.descriptor), 1 << 20)
    finally:
        release(identity)
