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
from samework.store import held
from samework.store.connection import STORE_NAME, open_store
from samework.store.journal import JOURNAL_NAME
from samework.store.seal import FILES_NAME, SEAL_NAME
from samework.store.verify import verify_store
from samework.store.witness import WITNESS_NAME
from samework.text import shortened, visible

if TYPE_CHECKING:
    from pathlib import Path

    from samework.store.connection import StoreHandle

LIST_NAME: Final = f"{STORE_NAME}/SHA256SUMS"
_CHUNK_BYTES: Final = 1 << 20
_MEMBER: Final = re.compile(
    rf"{re.escape(STORE_NAME)}/(?:SHA256SUMS|format|store\.duckdb|{re.escape(WITNESS_NAME)}|{re.escape(JOURNAL_NAME)}"
    rf"|{re.escape(SEAL_NAME)}|{re.escape(FILES_NAME)}"
    r"|sources/[0-9a-f]{2}/[0-9a-f]{64}\.zst|objects\.git/(?:[A-Za-z0-9_][\w.-]*/)*[A-Za-z0-9_][\w.-]*)",
    re.ASCII,
)


class Backup(msgspec.Struct, frozen=True):
    """A backup that was written and read back. sha256: of the file, hex."""

    path: str
    n_files: int
    n_bytes: int
    sha256: str


def backup(path: Path, out: Path) -> Backup:
    """Bring the store to rest, verify it, copy it to `out` and read the copy back.

    `restore` makes a store of it again.

    Raises: StoreDamaged: the store does not verify; nothing is written. StoreLocked. StoreError: `out` is not writable.
    """
    shown = visible(str(path), one_line=True)
    open_store(path, read_only=False).close()
    findings = verify_store(path)
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
            f"the copy cannot be written: {error.strerror}", place=visible(str(out), one_line=True)
        ) from error
    finally:
        with suppress(OSError):  # where it could not be made, it need not go
            aside.unlink()
    return Backup(str(out), len(sums), out.stat().st_size, _sha256_of_file(out))


def restore(file: Path, path: Path) -> Backup:
    """Make a store at `path` from a backup, checked member by member, verified before it is moved into place.

    Only names that a store has are written, as plain files, into a new directory.

    Raises: InputError: it is no backup of samework, or a member differs or has a name that no store has. StoreError:
    there is a store already, or the disk is full. StoreDamaged: what was restored does not verify.
    """
    path = path.absolute()
    shown = visible(str(path), one_line=True)
    if path.exists():
        raise StoreError("there is something already", place=shown, hint="Name a new directory.", code="store-exists")
    sums = check_backup(file)
    aside = path.with_name(f"{path.name}.restore-{os.getpid()}")
    try:
        aside.mkdir(parents=True)
        _write_store(file, aside, sums)
        findings = verify_store(aside)
        if findings:
            first = findings[0]
            raise StoreDamaged(f"what was restored does not verify: {first.where}: {first.what}", place=shown)
        aside.rename(path)
    except OSError as error:
        raise StoreError(f"the store cannot be restored: {error.strerror}", place=shown) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return Backup(str(path), len(sums), file.stat().st_size, _sha256_of_file(file))


def _write_store(file: Path, store: Path, sums: dict[str, str]) -> None:
    with tarfile.open(file, "r:") as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isreg() and member.name != LIST_NAME else None
            if stream is None:
                continue
            out = store / member.name.removeprefix(f"{STORE_NAME}/")
            out.parent.mkdir(parents=True, exist_ok=True)
            hasher = hashlib.sha256()
            with out.open("xb") as target:
                while part := stream.read(_CHUNK_BYTES):
                    hasher.update(part)
                    target.write(part)
                target.flush()
                os.fsync(target.fileno())
            if hasher.hexdigest() != sums[member.name]:
                raise InputError("the backup changed while it was read", place=visible(str(file), one_line=True))
    if (store / "objects.git").is_dir():
        (store / "objects.git" / "refs").mkdir(exist_ok=True)  # empty, so not in the copy; Git asks for it


def check_backup(path: Path) -> dict[str, str]:
    """Hash every member of a backup and hold it against the list inside; returns name -> sha256.

    Raises: InputError: it is no backup of samework, or a member differs, occurs twice or has a name that no store has.
    """
    shown = visible(str(path), one_line=True)
    held: dict[str, str] = {}
    listed: dict[str, str] = {}
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                stream = archive.extractfile(member) if member.isreg() else None
                if stream is None or member.name in held or not _MEMBER.fullmatch(member.name):
                    name = shortened(member.name, 120)
                    raise InputError(f"the member {name} is none that a backup has, or there twice", place=shown)
                if member.name == LIST_NAME:
                    lines = stream.read().decode("utf-8").splitlines()
                    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
                else:
                    held[member.name] = _sha256(stream)
    except (tarfile.TarError, OSError, UnicodeDecodeError, EOFError, ValueError) as error:
        raise InputError(f"not a backup: {visible(str(error), one_line=True)}", place=shown) from error
    if held != listed or not listed:
        raise InputError("the backup's members differ from its list", place=shown)
    return held


def write_tar(handle: StoreHandle, out: Path) -> dict[str, str]:
    """Copy the files of an open store to a new tar, a list of their digests last; returns name -> sha256."""
    store = handle.root
    names = sorted(
        file.relative_to(store).as_posix()
        for file in store.rglob("*")
        if file.is_file() and not file.is_symlink() and _MEMBER.fullmatch(_member_name(store, file))
    )
    sums: dict[str, str] = {}
    with out.open("xb") as stream, tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
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
