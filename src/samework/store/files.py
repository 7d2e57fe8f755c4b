"""The files of a store: what they are called, and how one is read that anybody may have put there.

A store is found upward from where one stands, so it may have come with a clone. Refuses to wait for a pipe, to read a
device, to read more than a file of its kind ever holds, and to write through a link.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from samework.errors import NotFound, StoreDamaged, StoreError
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DATABASE_NAME: Final = "store.duckdb"
MARKER_NAME: Final = "format"
SOURCES_NAME: Final = "sources"
OBJECTS_NAMES: Final = ("objects.git", "objects-sha256.git")
"""The Git object databases: that of the sha1 format, which stands for both, and that of the sha256 format."""

STORE_MODE: Final = 0o700
"""Of a store's directory: what was private where it was read is private here. Within, the umask decides."""

_COPY_MODE: Final = 0o600
_OBJECTS_FOLDERS: Final = ("objects/info", "objects/pack", "refs")
_SMALL_BYTES: Final = 1 << 20
_LINE_BYTES: Final = 1 << 28


def from_root(path: Path) -> Path:
    """The same from the root. Raises: NotFound: it is relative to a working directory that is gone."""
    try:
        return path.absolute()
    except FileNotFoundError as error:
        raise NotFound(
            "the directory that this was called from is gone", hint="Change to one that exists.", code="no-store"
        ) from error


def store_place(path: Path) -> Path:
    """A place for a store, from the root. Raises: NotFound: as `from_root`. StoreError: DuckDB opens no such name."""
    place = from_root(path)
    try:
        str(place).encode()
    except UnicodeEncodeError as error:
        raise StoreError(
            "the path is no UTF-8, and DuckDB opens no other",
            place=visible(str(path), one_line=True),
            hint="Name another place with --store.",
        ) from error
    return place


def opened(path: Path) -> BinaryIO:
    """Open a file to read it. Raises: OSError: it cannot be opened, or is no regular file."""
    stream = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 (pathlib has no opener)
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise not_regular(path)
    return stream


def created(path: Path) -> BinaryIO:
    """Make a file outside of a store that nobody else may read. Raises: OSError: there is one, or it cannot be made."""
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags, _COPY_MODE))


def not_regular(path: Path) -> OSError:
    """The error of a pipe, a device or a directory where a file belongs."""
    return OSError(errno.EINVAL, "it is no regular file", str(path))


def unreadable(error: OSError) -> str:
    """Why a file cannot be read, as a sentence."""
    return f"it cannot be read: {error.strerror or error}"


def remedy(error: BaseException) -> str | None:
    """What helps after the store could not be written or read, of us or of DuckDB; None where nobody knows."""
    said = str(error)
    if any(os.strerror(number) in said for number in (errno.EACCES, errno.EPERM, errno.EROFS)):
        return "Make the store readable and writable for who runs this, or use a copy of it."
    if any(os.strerror(number) in said for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)):
        return "Make room on the disk."
    return None


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def read_small(path: Path, max_bytes: int = _SMALL_BYTES) -> bytes:
    """All bytes of a file. Raises: OSError: it cannot be read. ValueError: it is longer than any of its kind."""
    with opened(path) as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueError(f"more than {max_bytes} bytes")
    return data


def lines(path: Path, max_bytes: int = _LINE_BYTES) -> Iterator[bytes]:
    """Lines of a file; none where there is no file. Each has its end but a last one that was cut by a crash.

    A line that is too long to be ours is cut off, and nothing after it is read.

    Raises: OSError: it cannot be read.
    """
    try:
        stream = opened(path)
    except FileNotFoundError:
        return
    with stream:
        while line := stream.readline(max_bytes):
            if len(line) == max_bytes and not line.endswith(b"\n"):
                yield line + b"\n"
                return
            yield line


def decoded(text: bytes) -> Any:
    """A JSON value that we wrote. Raises: ValueError: it is none, or nested more deeply than anything of ours."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def check_entries(root: Path) -> None:
    """Refuse a store in whose directory something lies that would hold or mislead who opens it by its name.

    Raises: StoreDamaged: a pipe, a device, or a link in the place of a file that is written. OSError: it is not listed.
    """
    for entry in list(os.scandir(root)):
        is_plain = entry.is_dir() or entry.is_file(follow_symlinks=entry.name == DATABASE_NAME)
        if not is_plain:
            raise StoreDamaged(
                f"{shortened(entry.name, 80)} is no regular file",
                place=visible(str(root), one_line=True),
                hint="A store has files and directories only; do not use one whose origin you do not know.",
            )


def complete_objects(root: Path) -> None:
    """Make the directories that Git asks for and no copy of files brings along: they are empty in many stores."""
    for name in OBJECTS_NAMES:
        if (root / name).is_dir():
            for folder in _OBJECTS_FOLDERS:
                (root / name / folder).mkdir(parents=True, exist_ok=True)
