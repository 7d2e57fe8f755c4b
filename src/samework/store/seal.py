"""Digests of the store's files at rest, taken when a writer closes, so that any flipped byte is found afterwards.

A database and a compressed file have bytes that no reader looks at; their content can be whole while they are not.
`files.jsonl` grows by the files that are never changed (`sources/`, the Git objects); `seal.json` holds the digests of
those that are, and is absent while a writer is at work, or after one that did not end.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Final

from samework.store import files, held
from samework.store.journal import cut_to_whole_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEAL_NAME: Final = "seal.json"
FILES_NAME: Final = "files.jsonl"
_LASTING: Final = (files.SOURCES_NAME, *files.OBJECTS_NAMES)
_CHANGING: Final = (files.DATABASE_NAME, files.MARKER_NAME, "acknowledged.json", "journal.jsonl", FILES_NAME)
_LINE_BYTES: Final = 1 << 16


def lift(root: Path) -> None:
    """Take the seal away before anything is written."""
    (root / SEAL_NAME).unlink(missing_ok=True)


def close(root: Path) -> None:
    """Seal the store as it lies. Its database must be closed, with no log beside it.

    Raises: OSError: the disk is full; the store is whole but not sealed.
    """
    if (root / "store.duckdb.wal").exists():
        return
    listed = dict(_listed(root))
    fresh = [name for name in _lasting_names(root) if name not in listed]
    if fresh:
        with (root / FILES_NAME).open("a", encoding="utf-8") as stream:
            cut_to_whole_lines(root / FILES_NAME)
            stream.writelines(_line(name, _digest(root / name)) for name in fresh)
            stream.flush()
            os.fsync(stream.fileno())
    sealed = {name: _digest(root / name) for name in _CHANGING if (root / name).is_file()}
    aside = root / f"{SEAL_NAME}.tmp"
    aside.write_text(_seal_text(sealed), encoding="ascii")
    aside.replace(root / SEAL_NAME)


def differences(root: Path) -> Iterator[tuple[str, str]]:
    """Files that are not as they were sealed: (name, sentence). Where there is no seal, only lasting files are held."""
    yield from _changed(root)
    try:
        listed = list(_listed(root))
    except OSError as error:
        yield FILES_NAME, files.unreadable(error)
        return
    for name, digest in listed:
        if name == "":
            yield FILES_NAME, f"line {digest} is damaged"
        elif (what := _difference(root / name, digest)) is not None:
            yield name, what or "its bytes differ from those that were written"


def _changed(root: Path) -> Iterator[tuple[str, str]]:
    try:
        text = files.read_small(root / SEAL_NAME)
        sealed = files.decoded(text)
        is_whole = _seal_text(sealed).encode() == text
    except FileNotFoundError:
        return
    except OSError as error:
        yield SEAL_NAME, files.unreadable(error)
        return
    except (ValueError, TypeError):
        is_whole, sealed = False, {}
    if not is_whole:
        yield SEAL_NAME, "it is damaged"
        return
    for name in _CHANGING:
        is_absent = name not in sealed and not (root / name).exists()
        what = None if is_absent else _difference(root / name, sealed.get(name))
        if what is not None:
            yield name, what or "its bytes differ from those that were sealed"


def _difference(path: Path, digest: str | None) -> str | None:
    """None where a file has that digest, why it cannot be read, or nothing where it reads as something else."""
    try:
        return None if _digest(path) == digest else ""
    except FileNotFoundError:
        return "the file is gone"
    except OSError as error:
        return files.unreadable(error)


def _seal_text(sealed: dict[str, str]) -> str:
    return json.dumps(sealed, sort_keys=True, separators=(",", ":"))


def _listed(root: Path) -> Iterator[tuple[str, str]]:
    """(name, sha256) of each line; ("", number) for a line that is none. A last line that a crash cut is left out."""
    for number, line in enumerate(files.lines(root / FILES_NAME, _LINE_BYTES), start=1):
        if not line.endswith(b"\n"):
            return
        try:
            name, digest = files.decoded(line)
            is_whole = _line(name, digest).encode() == line and _is_lasting(name)
        except (ValueError, TypeError):
            is_whole, name, digest = False, "", ""
        if is_whole:
            yield name, digest
        else:
            yield "", str(number)


def _is_lasting(name: str) -> bool:
    parts = name.split("/")
    return parts[0] in _LASTING and len(parts) > 1 and not {"", ".", ".."} & set(parts) and "\0" not in name


def _line(name: str, digest: str) -> str:
    return json.dumps([name, digest], separators=(",", ":")) + "\n"


def _lasting_names(root: Path) -> list[str]:
    return sorted(
        f"{folder[len(str(root)) + 1 :]}/{file}"
        for top in _LASTING
        for folder, _, names in os.walk(root / top)
        for file in names
        if not file.startswith((".put-", "tmp_"))
    )


def _digest(path: Path) -> str:
    with held.reading(path) as stream:  # it may be the database, which others here have open
        return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]
