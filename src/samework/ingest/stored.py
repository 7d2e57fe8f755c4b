"""Sources that are read again from the store's own copies, under the names that they once had. Refuses to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from samework.decode.document import read_document
from samework.decode.source import Folder, SingleFile, refuse_name
from samework.errors import InputError, NotFound
from samework.text import visible

if TYPE_CHECKING:
    from samework.store.sources import SourceStore


class StoredSource(SingleFile):
    """One file whose bytes the store holds."""

    def __init__(self, path: str, sha256: str, sources: SourceStore) -> None:
        """Name a kept file. path: where it once lay, for messages and for what lay beside it."""
        self.path = path
        self.sha256 = sha256
        self._sources = sources

    def open(self) -> BinaryIO:
        """A fresh stream of the bytes. Raises InputError where they are not held."""
        try:
            return self._sources.open(self.sha256)
        except NotFound as error:
            raise InputError("its bytes are not held", place=visible(self.path), code="source-missing") from error

    def head(self, n_bytes: int = 65536) -> bytes:
        """The first bytes."""
        with self.open() as stream:
            return stream.read(n_bytes)

    def size(self) -> int:
        """Length, bytes."""
        n_bytes = 0
        with self.open() as stream:
            while part := stream.read(1 << 20):
                n_bytes += len(part)
        return n_bytes


class StoredBundle(Folder):
    """A directory of kept files, as the document that lists them tells."""

    def __init__(self, path: str, sha256: str, sources: SourceStore) -> None:
        """Read the list of files. Raises InputError where it is not held or is no such list."""
        document = read_document(StoredSource(f"{path} (files)", sha256, sources))
        try:
            self._files = {str(each["name"]): str(each["sha256"]) for each in document["files"]}  # type: ignore[index]
        except (TypeError, KeyError) as error:
            raise InputError("no list of a bundle's files", place=visible(path)) from error
        self.path = path
        self._sources = sources

    def child(self, name: str) -> StoredSource | None:
        """The file of that name, None where there was none."""
        refuse_name(name, self.path)
        sha256 = self._files.get(name)
        return None if sha256 is None else StoredSource(f"{self.path}/{name}", sha256, self._sources)

    def names(self) -> list[str]:
        """Names of its files, sorted."""
        return sorted(self._files)
