"""A checked copy of a store in one file: a tar with the digest of every member, written aside and read back."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import tarfile
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final

import msgspec

from samework.errors import InputError, StoreDamaged, StoreError
from samework.store import files, held
from samework.store.connection import STORE_NAME, open_store
from samework.store.journal import JOURNAL_NAME
from samework.store.seal import FILES_NAME, SEAL_NAME
from samework.store.verify import verify_store
from samework.store.witness import WITNESS_NAME
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from samework.store.connection import StoreHandle
    from samework.store.verify import ObjectsCheck

LIST_NAME: Final = f"{STORE_NAME}/SHA256SUMS"
_CHUNK_BYTES: Final = 1 << 20
_MOST_BYTES: Final = 1 << 24
_PLAIN_TAR: Final = "The copy is a plain tar; `tar -xf` takes out what it holds."
_PLAIN_NAMES: Final = (files.MARKER_NAME, files.DATABASE_NAME, WITNESS_NAME, JOURNAL_NAME, SEAL_NAME, FILES_NAME)
_MEMBER: Final = re.compile(
    rf"{re.escape(STORE_NAME)}/(?:SHA256SUMS|{'|'.join(map(re.escape, _PLAIN_NAMES))}"
    rf"|{files.SOURCES_NAME}/[0-9a-f]{{2}}/[0-9a-f]{{64}}\.zst"
    rf"|(?:{'|'.join(map(re.escape, files.OBJECTS_NAMES))})/(?:[A-Za-z0-9_][\w.-]*/)*[A-Za-z0-9_][\w.-]*)",
    re.ASCII,
)


class Backup(msgspec.Struct, frozen=True):
    """A backup that was written and read back. sha256: of the file, hex."""

    path: str
    n_files: int
    n_bytes: int
    sha256: str


def backup(path: Path, out: Path, *, objects_check: ObjectsCheck | None = None) -> Backup:
    """Bring the store to rest, verify it, copy it to `out` and read the copy back.

    `restore` makes a store of it again. objects_check: as in `verify_store`.

    Raises: StoreDamaged: the store does not verify; nothing is written. StoreLocked. StoreError: `out` is not writable.
    """
    shown = visible(str(path), one_line=True)
    open_store(path, read_only=False).close()
    findings = verify_store(path, objects_check=objects_check)
    if findings:
        first = findings[0]
        raise StoreDamaged(
            f"{len(findings)} findings, the first in {first.where}: {first.what}",
            place=shown,
            hint="`samework verify` lists them; no copy was written.",
        )
    aside = out.with_name(f"{out.name}.tmp-{os.getpid()}")
    try:
        with open_store(path, read_only=True) as handle:  # keeps writers out while files are copied
            sums = write_tar(handle, aside)
        if check_backup(aside) != sums:
            raise StoreDamaged("the copy does not read back as it was written", place=visible(str(out), one_line=True))
        aside.replace(out)
    except OSError as error:
        raise StoreError(
            f"the copy cannot be written: {error.strerror}",
            place=visible(str(out), one_line=True),
            hint=files.remedy(error),
        ) from error
    finally:
        with suppress(OSError):  # where it could not be made, it need not go
            aside.unlink()
    return Backup(str(out), len(sums), out.stat().st_size, _sha256_of_file(out))


def restore(file: Path, path: Path, *, objects_check: ObjectsCheck | None = None) -> Backup:
    """Make a store at `path` from a backup, checked member by member, verified before it is moved into place.

    Only names that a store has are written, as plain files, into a new directory. objects_check: as in `verify_store`.

    Raises: InputError: it is no backup of samework, or a member differs or has a name that no store has. StoreError:
    there is a store already, or the disk is full. StoreDamaged: what was restored does not verify.
    """
    path = files.store_place(path)
    shown = visible(str(path), one_line=True)
    if path.exists():
        raise StoreError("there is something already", place=shown, hint="Name a new directory.", code="store-exists")
    sums = check_backup(file)
    aside = path.with_name(f"{path.name}.restore-{os.getpid()}")
    try:
        aside.parent.mkdir(parents=True, exist_ok=True)
        aside.mkdir(mode=files.STORE_MODE)
        _write_store(file, aside, sums)
        findings = verify_store(aside, objects_check=objects_check)
        if findings:
            first = findings[0]
            raise StoreDamaged(
                f"what was restored does not verify: {first.where}: {first.what}", place=shown, hint=_PLAIN_TAR
            )
        aside.rename(path)
    except tarfile.TarError as error:
        raise InputError("the backup changed while it was read", place=visible(str(file), one_line=True)) from error
    except OSError as error:
        hint = files.remedy(error)
        raise StoreError(f"the store cannot be restored: {error.strerror}", place=shown, hint=hint) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return Backup(str(path), len(sums), file.stat().st_size, _sha256_of_file(file))


def _write_store(file: Path, store: Path, sums: dict[str, str]) -> None:
    shown = visible(str(file), one_line=True)
    for name, stream in _members(file, shown):
        if name == LIST_NAME:
            continue
        out = store / name.removeprefix(f"{STORE_NAME}/")
        out.parent.mkdir(parents=True, exist_ok=True)
        hasher = hashlib.sha256()
        with out.open("xb") as target:
            while part := stream.read(_CHUNK_BYTES):
                hasher.update(part)
                target.write(part)
            target.flush()
            os.fsync(target.fileno())
        if hasher.hexdigest() != sums.get(name):
            raise InputError("the backup changed while it was read", place=shown)
    files.complete_objects(store)


def check_backup(path: Path) -> dict[str, str]:
    """Hash every member of a backup and hold it against the list inside; returns name -> sha256.

    Raises: InputError: it is no backup of samework, or a member differs, occurs twice or has a name that no store has.
    """
    shown = visible(str(path), one_line=True)
    found: dict[str, str] = {}
    listed: dict[str, str] = {}
    try:
        for name, stream in _members(path, shown):
            if name == LIST_NAME:
                listed = _listed(stream)
            else:
                found[name] = _sha256(stream)
    except (tarfile.TarError, OSError, UnicodeDecodeError, EOFError, ValueError) as error:
        raise InputError(f"not a backup: {visible(str(error), one_line=True)}", place=shown) from error
    if found != listed or not listed:
        raise InputError("the backup's members differ from its list", place=shown)
    if not {f"{STORE_NAME}/{name}" for name in (files.DATABASE_NAME, files.MARKER_NAME)} <= found.keys():
        raise InputError("the backup holds no store", place=shown)
    return found


def _members(path: Path, shown: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and bytes of every member. Raises: InputError: one is none that a backup has. TarError, OSError."""
    seen = set()
    with files.opened(path) as raw, tarfile.open(fileobj=_Bounded(raw), mode="r:") as archive:  # type: ignore[call-overload]
        n_bytes = os.fstat(raw.fileno()).st_size
        for member in archive:
            # A sparse member says that it is longer than what is there.
            is_plain = member.isreg() and not member.issparse() and member.size <= n_bytes
            stream = archive.extractfile(member) if is_plain else None
            if stream is None or member.name in seen or not _MEMBER.fullmatch(member.name):
                name = shortened(member.name, 120)
                raise InputError(f"the member {name} is none that a backup has, or there twice", place=shown)
            seen.add(member.name)
            yield member.name, stream


class _Bounded:
    """A stream that gives at most so much at once: a header may ask for more than there is memory."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.seek = stream.seek
        self.tell = stream.tell

    def read(self, n_bytes: int) -> bytes:
        return self._stream.read(min(n_bytes, _MOST_BYTES))


def _listed(stream: IO[bytes]) -> dict[str, str]:
    text = b"".join(iter(lambda: stream.read(_CHUNK_BYTES), b"")).decode("utf-8")
    return {name: digest for digest, _, name in (line.partition("  ") for line in text.splitlines())}


def write_tar(handle: StoreHandle, out: Path) -> dict[str, str]:
    """Copy the files of an open store to a new tar, a list of their digests last; returns name -> sha256."""
    store = handle.root
    names = sorted(
        file.relative_to(store).as_posix()
        for file in store.rglob("*")
        if file.is_file() and not file.is_symlink() and _MEMBER.fullmatch(_member_name(store, file))
    )
    sums: dict[str, str] = {}
    with files.created(out) as stream, tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in names:
            with held.reading(store / name) as file:
                sums[f"{STORE_NAME}/{name}"] = _sha256(file)
                file.seek(0)
                archive.addfile(_member(f"{STORE_NAME}/{name}", (store / name).stat().st_size), file)
        text = "".join(f"{digest}  {name}\n" for name, digest in sums.items()).encode("utf-8")
        archive.addfile(_member(LIST_NAME, len(text)), io.BytesIO(text))
        archive.close()
        stream.flush()
        os.fsync(stream.fileno())
    return sums


def _member_name(store: Path, file: Path) -> str:
    return f"{STORE_NAME}/{file.relative_to(store).as_posix()}"


def _member(name: str, n_bytes: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = n_bytes
    return member


def _sha256(stream: IO[bytes]) -> str:
    return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


def _sha256_of_file(path: Path) -> str:
    with path.open("rb") as stream:
        return _sha256(stream)
