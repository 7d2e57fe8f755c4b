"""A checked copy of a store in one file: a tar with the digest of every member, written aside and read back."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from typing import IO, TYPE_CHECKING, Final

import msgspec

from samework.errors import InputError, StoreDamaged, StoreError
from samework.store.connection import STORE_NAME, open_store
from samework.store.verify import verify_store
from samework.text import visible

if TYPE_CHECKING:
    from pathlib import Path

LIST_NAME: Final = f"{STORE_NAME}/SHA256SUMS"


class Backup(msgspec.Struct, frozen=True):
    """A backup that was written and read back. sha256: of the file, hex."""

    path: str
    n_files: int
    n_bytes: int
    sha256: str


def backup(path: Path, out: Path) -> Backup:
    """Bring the store to rest, verify it, copy it to `out` and read the copy back.

    `tar xf FILE` beside a project restores it as `.samework`.

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
        with open_store(path, read_only=True):  # keeps writers out while files are copied
            sums = _write_tar(path, aside)
        if check_backup(aside) != sums:
            raise StoreDamaged("the copy does not read back as it was written", place=visible(str(out), one_line=True))
        aside.replace(out)
    except OSError as error:
        raise StoreError(
            f"the copy cannot be written: {error.strerror}", place=visible(str(out), one_line=True)
        ) from error
    finally:
        aside.unlink(missing_ok=True)
    return Backup(str(out), len(sums), out.stat().st_size, _sha256_of_file(out))


def check_backup(path: Path) -> dict[str, str]:
    """Hash every member of a backup and hold it against the list inside; returns name -> sha256.

    Raises: InputError: it is no backup of samework, or a member differs.
    """
    held: dict[str, str] = {}
    listed: dict[str, str] = {}
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                stream = archive.extractfile(member)
                if stream is None:
                    continue
                if member.name == LIST_NAME:
                    lines = stream.read().decode("utf-8").splitlines()
                    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
                else:
                    held[member.name] = _sha256(stream)
    except tarfile.TarError as error:
        raise InputError(f"not a backup: {error}", place=visible(str(path), one_line=True)) from error
    if held != listed or not listed:
        raise InputError("the backup's members differ from its list", place=visible(str(path), one_line=True))
    return held


def _write_tar(store: Path, out: Path) -> dict[str, str]:
    names = sorted(
        file.relative_to(store).as_posix()
        for file in store.rglob("*")
        if file.is_file() and not file.is_symlink() and file.relative_to(store).parts[0] != "tmp"
    )
    sums: dict[str, str] = {}
    with out.open("xb") as stream, tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in names:
            with (store / name).open("rb") as file:
                sums[f"{STORE_NAME}/{name}"] = _sha256(file)
                file.seek(0)
                archive.addfile(_member(f"{STORE_NAME}/{name}", (store / name).stat().st_size), file)
        text = "".join(f"{digest}  {name}\n" for name, digest in sums.items()).encode("utf-8")
        archive.addfile(_member(LIST_NAME, len(text)), io.BytesIO(text))
        archive.close()
        stream.flush()
        os.fsync(stream.fileno())
    return sums


def _member(name: str, n_bytes: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = n_bytes
    return member


def _sha256(stream: IO[bytes]) -> str:
    return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


def _sha256_of_file(path: Path) -> str:
    with path.open("rb") as stream:
        return _sha256(stream)
