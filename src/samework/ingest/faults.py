"""Call a reader, which may be of another package: what it raises unexpectedly costs its one source, not the others.

Refuses with code `reader-fault`. What samework raises on purpose passes, and so do a full memory and a full disk, which
are no fault of the reader's.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from samework.errors import InputError, SameworkError
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Reader, Source
    from samework.model.records import Record

_FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT})


def sureness(reader: Reader, head: bytes, source: Source) -> float:
    """How sure a reader is that `source` is of its format. Raises InputError where it fails on it."""
    try:
        return float(reader.sniff(head, source))
    except Exception as error:
        if _is_meant(error):
            raise
        raise _refusal(reader, source, error) from error


def records(reader: Reader, source: Source) -> Iterator[Record]:
    """The records that a reader finds. Raises InputError where it refuses the source or fails on it."""
    try:
        yield from reader.read(source)
    except Exception as error:
        if _is_meant(error):
            raise
        raise _refusal(reader, source, error) from error


def _is_meant(error: Exception) -> bool:
    is_full_disk = isinstance(error, OSError) and error.errno in _FULL_DISK
    return is_full_disk or isinstance(error, SameworkError | MemoryError)


def _refusal(reader: Reader, source: Source, error: Exception) -> InputError:
    said = f": {error}" if str(error) else ""
    return InputError(
        f"the reader {shortened(reader.name, 60)} failed: {shortened(f'{type(error).__name__}{said}', 200)}",
        place=visible(source.path, one_line=True),
        hint="This is a fault of the reader: please report it, with the file, to whoever made it.",
        code="reader-fault",
    )
