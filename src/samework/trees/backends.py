"""Reading objects by id, one way per object format, with nothing but the object directory.

sha1 is read by libgit2. libgit2 as it is released knows no sha256, so those objects are kept loose and inflated here;
what is not loose (a file beyond Git's big-file limit) is asked of Git. Refuses nothing: a missing or damaged object
is an error with its id.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Protocol

import pygit2

from samework.errors import GitInputError
from samework.trees.neutral_git import NeutralGit

if TYPE_CHECKING:
    from pathlib import Path


_HEAD_BYTES = 64
_FIRST_BYTES = 4096


class Backend(Protocol):
    """Objects of one format."""

    def has(self, oid: str) -> bool:
        """True where the object is held."""

    def read(self, oid: str) -> bytes:
        """Content of an object; GitInputError where it is missing or damaged."""

    def n_bytes(self, oid: str) -> int:
        """Length of its content; GitInputError where it is missing or damaged."""


class Sha1Objects:
    """Objects of the sha1 format, loose or packed."""

    def __init__(self, objects_path: Path) -> None:
        odb = pygit2.Odb(str(objects_path))
        self.has = odb.exists
        self._read = odb.read
        self._read_header = odb.read_header

    def read(self, oid: str) -> bytes:
        """Content of an object."""
        try:
            return self._read(oid)[1]
        except (KeyError, pygit2.GitError) as error:
            raise missing_object(oid) from error

    def n_bytes(self, oid: str) -> int:
        """Length of an object's content."""
        try:
            return int(self._read_header(oid)[1])
        except (KeyError, pygit2.GitError) as error:
            raise missing_object(oid) from error


class Sha256Objects:
    """Objects of the sha256 format, loose but for very large ones."""

    def __init__(self, objects_path: Path) -> None:
        self._path = objects_path

    def has(self, oid: str) -> bool:
        """True where the object is held."""
        return self._loose(oid).is_file() or (self._has_packs() and self._asked(oid) is not None)

    def read(self, oid: str) -> bytes:
        """Content of an object."""
        try:
            data = zlib.decompress(self._loose(oid).read_bytes())
        except FileNotFoundError as error:
            found = self._asked(oid) if self._has_packs() else None
            if found is None:
                raise missing_object(oid) from error
            return found
        except zlib.error as error:
            raise missing_object(oid) from error
        return data.partition(b"\0")[2]

    def n_bytes(self, oid: str) -> int:
        """Length of an object's content."""
        try:
            with self._loose(oid).open("rb") as file:
                head = zlib.decompressobj().decompress(file.read(_FIRST_BYTES), _HEAD_BYTES)
        except FileNotFoundError:
            return len(self.read(oid))
        except zlib.error as error:
            raise missing_object(oid) from error
        kind_and_size, end, _ = head.partition(b"\0")
        return int(kind_and_size.rpartition(b" ")[2]) if end else len(self.read(oid))

    def _loose(self, oid: str) -> Path:
        return self._path / oid[:2] / oid[2:]

    def _has_packs(self) -> bool:
        return next((self._path / "pack").glob("*.idx"), None) is not None

    def _asked(self, oid: str) -> bytes | None:
        with NeutralGit("sha256", objects_path=self._path) as git:
            told = git.run("cat-file", "--batch", stdin=f"{oid}\n".encode())
        head, _, data = told.partition(b"\n")
        return None if head.endswith(b" missing") else data[:-1]


def missing_object(oid: str) -> GitInputError:
    """The error of an object that cannot be read."""
    return GitInputError(f"object {oid} is missing or damaged", code="git-failed")
