"""Look at a working tree before Git reads it: a pipe named `.gitignore` would hold Git until its time is out.

Refuses such files and trees of more entries than the limit; follows no link and opens nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from samework.errors import GitInputError, LimitExceeded
from samework.text import shortened
from samework.trees.tree_objects import MAX_ENTRIES

if TYPE_CHECKING:
    from pathlib import Path

_READ_BY_GIT = frozenset({b".gitignore", b".gitattributes", b".gitmodules"})
_SHOWN = 120


def check_worktree(path: Path) -> None:
    """Walk the directories of a working tree.

    Raises:
        GitInputError: a file that Git reads for its rules is a pipe or a device, or a directory cannot be read.
        LimitExceeded: more than `MAX_ENTRIES` entries.
    """
    root = os.fsencode(path)
    todo, n_entries = [root], 0
    while todo:
        folder = todo.pop()
        try:
            entries = list(os.scandir(folder))
        except PermissionError as error:
            raise GitInputError(f"{_shown(folder, root)} cannot be read", code="git-failed") from error
        n_entries += len(entries)
        if n_entries > MAX_ENTRIES:
            raise LimitExceeded(f"the working tree holds more than {MAX_ENTRIES} entries")
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                todo += [entry.path] if entry.name != b".git" else []
            elif entry.name in _READ_BY_GIT and not (entry.is_symlink() or entry.is_file()):
                raise GitInputError(f"{_shown(entry.path, root)} is no file", code="git-failed")


def _shown(path: bytes, root: bytes) -> str:
    return shortened(os.path.relpath(path, root).decode("utf-8", "backslashreplace"), _SHOWN)
