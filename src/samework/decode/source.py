"""Bytes with a name: files, directories and bytes in memory, behind `model.reader.Source`.

Refuses names that leave their directory, links that do, and anything that is not a regular file (a pipe would hang).
"""

from __future__ import annotations

import io
import os
import stat
from abc import ABC, abstractmethod
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from samework.decode.limits import DEFAULT, Limits
from samework.errors import InputError, LimitExceeded
from samework.text import shortened, visible

if TYPE_CHECKING:
    from samework.model.reader import Source

_SHOWN = 500
_BUFFER_BYTES = 1 << 20  # each refill lets other threads in, and costs a turn of theirs


class SingleFile:
    """What every source that is one file has in common: nothing lies below it."""

    is_dir = False

    def child(self, name: str) -> Source | None:  # noqa: ARG002 (the protocol's)
        """A file has none."""
        return None

    def names(self) -> list[str]:
        """A file has none."""
        return []


class Folder(ABC):
    """What every source that is a tree of files has in common: no bytes of its own."""

    is_dir = True
    path: str

    def open(self) -> BinaryIO:
        """Raises InputError: a directory has no bytes of its own."""
        raise InputError("is a directory", place=visible(self.path))

    def head(self, n_bytes: int = 65536) -> bytes:  # noqa: ARG002 (the protocol's)
        """Empty."""
        return b""

    def size(self) -> int:
        """Bytes of all its files."""
        return sum(found.size() for name in self.names() if (found := self.child(name)) is not None)

    @abstractmethod
    def child(self, name: str) -> Source | None:
        """The file of that relative name, None where there is none."""

    @abstractmethod
    def names(self) -> list[str]:
        """Relative names of its files, sorted."""


class FileSource(SingleFile):
    """One regular file."""

    def __init__(self, path: str | os.PathLike[str], label: str | None = None) -> None:
        """Name a file; nothing is opened yet. label: what to show instead of the path."""
        self.file = Path(path)
        self.path = label or str(path)

    def open(self) -> BinaryIO:
        """A fresh stream of the file. Raises InputError where it cannot be opened or is no regular file."""
        try:
            stream = open(self.file, "rb", _BUFFER_BYTES, opener=_without_waiting)  # noqa: SIM115 (pathlib has no opener)
        except OSError as error:
            raise _unreadable(self.path, error) from error
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            stream.close()
            raise InputError("not a regular file", place=visible(self.path))
        return stream

    def head(self, n_bytes: int = 65536) -> bytes:
        """The first bytes."""
        with self.open() as stream:
            return stream.read(n_bytes)

    def size(self) -> int:
        """Length, bytes. Raises InputError where the file is gone."""
        try:
            return self.file.stat().st_size
        except OSError as error:
            raise _unreadable(self.path, error) from error


class BytesSource(SingleFile):
    """Bytes in memory, with a label for messages."""

    def __init__(self, path_label: str, data: bytes) -> None:
        """Hold `data`; `path_label` is only shown."""
        self.path = path_label
        self.data = data

    def open(self) -> BinaryIO:
        """A fresh stream of the bytes."""
        return io.BytesIO(self.data)

    def head(self, n_bytes: int = 65536) -> bytes:
        """The first bytes."""
        return self.data[:n_bytes]

    def size(self) -> int:
        """Length, bytes."""
        return len(self.data)


class DirSource(Folder):
    """A directory: a tree of files that its readers may name, and no more."""

    def __init__(self, path: str | os.PathLike[str], limits: Limits = DEFAULT) -> None:
        """Name a directory; nothing is listed yet."""
        self.folder = Path(path)
        self.path = str(path)
        self.limits = limits

    def child(self, name: str) -> FileSource | None:
        """The file of that relative name, None where there is none.

        Raises: InputError: the name, or a link on its way, leaves the directory.
        """
        return None if (found := self.place(name)) is None or not found.is_file() else FileSource(found)

    def place(self, name: str) -> Path | None:
        """Where a relative name lies, None where nothing does. Raises InputError as `child`."""
        refuse_name(name, self.path)
        found = self.folder / name
        try:
            is_linked = _has_link(self.folder, name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unreadable(f"{self.path}/{shortened(name, 200)}", error) from error
        if is_linked and not self._holds(found):
            return None
        return found

    def _holds(self, found: Path) -> bool:
        """Whether what links lead to exists. Raises InputError where it lies outside of the directory."""
        try:
            inside = found.resolve(strict=True).is_relative_to(self.folder.resolve(strict=True))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except (OSError, RuntimeError) as error:  # a loop of links
            raise _unreadable(str(found), error) from error
        if not inside:
            name = shortened(str(found.relative_to(self.folder)), 200)
            raise InputError(f"{name} leaves the directory through a link", place=visible(self.path))
        return True

    def names(self) -> list[str]:
        """Relative names of its regular files, sorted. Hidden directories are skipped, links to directories too.

        Raises: LimitExceeded: more names than `max_members`, or directories below one another than `max_levels`.
        """
        names: list[str] = []
        for folder, folders, files in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            below = Path(folder).relative_to(self.folder)
            if len(below.parts) > self.limits.max_levels:
                raise too_deep(folder, self.limits)
            names.extend((below / name).as_posix() for name in files if (Path(folder) / name).is_file())
            if len(names) > self.limits.max_members:
                raise LimitExceeded(f"more than {self.limits.max_members} files", place=visible(self.path))
        return sorted(names)


def too_deep(folder: str | os.PathLike[str], limits: Limits = DEFAULT) -> LimitExceeded:
    """The error of a directory that lies below too many others."""
    return LimitExceeded(
        f"it lies more than {limits.max_levels} directories deep", place=shortened(visible(str(folder)), _SHOWN)
    )


def refuse_name(name: str, where: str) -> None:
    """Raise InputError for a name that is empty, absolute, has `..`, a NUL or a backslash."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name or "\\" in name:
        raise InputError(
            f"the name {shortened(name, 200)!r} does not stay inside its directory",
            place=visible(where),
            code="unsafe-name",
        )


def _has_link(folder: Path, name: str) -> bool:
    """Whether a step of a relative name is a link; asked first, for resolving a path looks at every step from the root.

    Raises: OSError: a step does not exist, or cannot be looked at.
    """
    at = str(folder)
    for part in PurePosixPath(name).parts:
        at = f"{at}/{part}"
        if stat.S_ISLNK(os.lstat(at).st_mode):
            return True
    return False


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))


def _unreadable(path: str, error: BaseException) -> InputError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(f"cannot be read: {visible(reason)}", place=visible(path))
