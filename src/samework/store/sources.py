"""The bytes that were ingested, zstd-compressed, by their sha256. Written once, never changed, never guessed.

A file is made aside, brought to disk and moved, so a name in `sources/` always stands for whole bytes.
"""

from __future__ import annotations

import hashlib
import io
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from errno import ENOMEM
from typing import TYPE_CHECKING, BinaryIO, Final

import zstandard

from samework.errors import NotFound, StoreDamaged, StoreError
from samework.store.files import opened, remedy, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CHUNK_BYTES: Final = 1 << 20
_LEVEL: Final = 1
_SUFFIX: Final = ".zst"
_DIGEST_DIGITS: Final = 64


class SourceStore:
    """The `sources/` directory of a store."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path_of(self, sha256: str | bytes) -> Path:
        """Where the bytes with this digest lie or would lie."""
        digits = sha256.hex() if isinstance(sha256, bytes) else sha256
        if len(digits) != _DIGEST_DIGITS or not all(digit in "0123456789abcdef" for digit in digits):
            raise ValueError("not a sha256 digest")
        return self.root / digits[:2] / f"{digits}{_SUFFIX}"

    def has(self, sha256: str | bytes) -> bool:
        """True where the bytes are held. Raises: StoreError: nobody may look."""
        try:
            return self.path_of(sha256).exists()
        except OSError as error:
            raise StoreError(unreadable(error), place=str(self.path_of(sha256)), hint=remedy(error)) from error

    def put(self, stream: BinaryIO) -> str:
        """Keep all bytes of a stream; returns their sha256 in hex. Twice the same bytes are kept once.

        Reads in chunks of 1 MiB; hashing and compression run while the next chunk is read. Memory is flat.

        Raises: OSError: the disk is full or not writable; nothing is left behind.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        name = self.root / f".put-{secrets.token_hex(8)}"
        try:
            with name.open("xb") as out:
                digits = _compress(stream, out)
                final = self.path_of(digits)
                if final.exists():
                    name.unlink()
                    return digits
                out.flush()
                os.fsync(out.fileno())
            final.parent.mkdir(exist_ok=True)
            name.replace(final)
            sync_directory(final.parent)
        except BaseException:
            name.unlink(missing_ok=True)
            raise
        return digits

    def open(self, sha256: str | bytes) -> BinaryIO:
        """A stream of the bytes as they were ingested. Content is not checked here; `verify` does that.

        Raises: NotFound: no such bytes are held. StoreDamaged: they cannot be read.
        """
        try:
            raw = opened(self.path_of(sha256))
        except FileNotFoundError as error:
            shown = sha256.hex() if isinstance(sha256, bytes) else sha256
            raise NotFound(f"the bytes of source {shown} are not held", code="source-missing") from error
        except OSError as error:
            raise StoreDamaged(unreadable(error), place=str(self.path_of(sha256))) from error
        return io.BufferedReader(
            zstandard.ZstdDecompressor().stream_reader(raw, closefd=True, read_across_frames=True), _CHUNK_BYTES
        )

    def digests(self) -> Iterator[str]:
        """The sha256 of everything held, sorted."""
        yield from (path.name.removesuffix(_SUFFIX) for path in self._files() if self._is_placed(path))

    def strays(self) -> Iterator[Path]:
        """Files that lie where no source does."""
        yield from (path for path in self._files() if not self._is_placed(path))

    def _files(self) -> list[Path]:
        return sorted(self.root.glob(f"??/*{_SUFFIX}")) if self.root.is_dir() else []

    def _is_placed(self, path: Path) -> bool:
        try:
            return self.path_of(path.name.removesuffix(_SUFFIX)) == path
        except ValueError:
            return False

    def verify(self) -> Iterator[tuple[str, str]]:
        """Re-hash every file; yields (digest, what is wrong) for those that do not hold what their name says."""
        for digits in self.digests():
            try:
                held = self.rehash(digits)
            except StoreDamaged as error:
                yield digits, error.message
                continue
            if held != digits:
                yield digits, f"its bytes hash to {held}"

    def rehash(self, sha256: str) -> str:
        """sha256 of what a file really decompresses to.

        Raises: StoreDamaged: it does not decompress.
        """
        hasher = hashlib.sha256()
        try:
            with self.open(sha256) as stream:
                while data := stream.read(_CHUNK_BYTES):
                    hasher.update(data)
        except zstandard.ZstdError as error:
            raise StoreDamaged(f"it does not decompress ({error})") from error
        return hasher.hexdigest()


def _compress(stream: BinaryIO, out: BinaryIO) -> str:
    hasher = hashlib.sha256()
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).chunker(chunk_size=_CHUNK_BYTES)

    def write(data: bytes) -> None:
        hasher.update(data)
        try:
            out.writelines(compressor.compress(data))
        except zstandard.ZstdError as error:  # of what it is given nothing can be wrong: memory ran out
            raise OSError(ENOMEM, str(error)) from error

    with ThreadPoolExecutor(1, thread_name_prefix="source") as worker:
        before = None
        while data := stream.read(_CHUNK_BYTES):
            if before is not None:
                before.result()
            before = worker.submit(write, data)
        if before is not None:
            before.result()
    out.writelines(compressor.finish())  # type: ignore[no-untyped-call]
    return hasher.hexdigest()


def sync_directory(path: Path) -> None:
    """Bring the names in a directory to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
