"""Look at an object directory before Git reads it: a pipe where a pack's index belongs would hold Git for long.

Refuses such files, also in the directories that it names as alternates; opens nothing but the lists of those.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

from samework.canon.patch_names import unquoted
from samework.errors import GitInputError, LimitExceeded
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_ALTERNATES = 100
MAX_LIST_BYTES = 1 << 20
_READ_FOLDERS = re.compile(r"[0-9a-f]{2}|info|pack")
_SHOWN = 200


def check_objects(objects_path: Path) -> None:
    """Walk an object directory and those that it borrows from, as far as Git would.

    Raises:
        GitInputError: something that Git opens there is a pipe or a device, or a directory cannot be read.
        LimitExceeded: more than `MAX_ALTERNATES` directories are borrowed from.
    """
    todo, seen = [objects_path], set()
    while todo:
        folder = todo.pop()
        if (real := os.path.realpath(folder)) in seen:
            continue
        seen.add(real)
        if len(seen) > MAX_ALTERNATES:
            raise LimitExceeded(f"the repository borrows objects from more than {MAX_ALTERNATES} directories")
        try:
            _check_folder(folder)
            todo += _alternates(folder)
        except PermissionError as error:
            raise GitInputError(f"{_shown(folder)} cannot be read", code="git-failed") from error


def check_regular(path: str | Path) -> None:
    """Refuse what is there but is neither a file nor a directory, nor leads to one. Raises: GitInputError."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 (many of them)
    except OSError:  # Git does not get further either
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise GitInputError(f"{_shown(path)} is no file", code="git-failed")


def _check_folder(objects_path: Path) -> None:
    try:
        folders = [entry for entry in list(os.scandir(objects_path)) if _READ_FOLDERS.fullmatch(entry.name)]
    except (FileNotFoundError, NotADirectoryError):  # an alternate that is gone
        return
    for folder in folders:
        if folder.is_dir():
            for entry in list(os.scandir(folder)):
                if not entry.is_file(follow_symlinks=False):
                    check_regular(entry.path)


def _alternates(objects_path: Path) -> Iterator[Path]:
    try:
        with (objects_path / "info" / "alternates").open("rb") as file:
            text = file.read(MAX_LIST_BYTES + 1)
    except PermissionError:
        raise
    except OSError:  # there is none, or Git cannot read it either
        return
    if len(text) > MAX_LIST_BYTES:
        raise LimitExceeded(f"the list of alternates is longer than {MAX_LIST_BYTES} bytes")
    for line in text.split(b"\n"):
        name = found[0] if line.startswith(b'"') and (found := unquoted(line)) is not None else line
        if name and not name.startswith(b"#") and b"\0" not in name:
            yield objects_path / os.fsdecode(name)


def _shown(path: str | Path) -> str:
    return shortened(str(path), _SHOWN)
