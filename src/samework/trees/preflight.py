"""Look at a working tree before Git reads it: a pipe named `.gitignore` would hold Git until its time is out.

Refuses such files and trees of more entries than the limit; follows no link. Of a repository inside of the tree it
reads what Git would: where its HEAD leads.
"""

from __future__ import annotations

import os
from pathlib import Path

from samework.errors import GitInputError, LimitExceeded
from samework.text import shortened
from samework.trees.object_files import check_regular
from samework.trees.places import pointed, pointer
from samework.trees.tree_objects import MAX_ENTRIES

_READ_BY_GIT = frozenset({b".gitignore", b".gitattributes", b".gitmodules"})
_NESTED_FILES = ("config", "config.worktree", "packed-refs", "commondir", "gitdir")
_MAX_SYMREFS = 6
_SHOWN = 120


def check_worktree(path: Path) -> None:
    """Walk the directories of a working tree.

    Raises:
        GitInputError: a file that Git reads for its rules, or of a repository inside, is a pipe or a device; or a
            directory cannot be read.
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
            if entry.name == b".git" and folder != root:
                _check_nested(Path(os.fsdecode(entry.path)))
            elif entry.is_dir(follow_symlinks=False):
                todo += [entry.path] if entry.name != b".git" else []
            elif entry.name in _READ_BY_GIT and not (entry.is_symlink() or entry.is_file()):
                raise GitInputError(f"{_shown(entry.path, root)} is no file", code="git-failed")


def _check_nested(dot_git: Path) -> None:
    """What Git opens of a repository inside the tree, to find the commit that stands for it."""
    git_dir = pointed(dot_git)
    if git_dir is None:
        return
    check_regular(git_dir / "commondir")
    common = pointer(git_dir / "commondir", b"")
    folders = [git_dir] if common is None else [git_dir, git_dir / common]
    for folder in folders:
        for name in _NESTED_FILES:
            check_regular(folder / name)
        for table in sorted((folder / "reftable").glob("*")):
            check_regular(table)
    _check_head(folders)


def _check_head(folders: list[Path]) -> None:
    name: Path | None = Path("HEAD")
    for _ in range(_MAX_SYMREFS):
        if name is None or name.is_absolute() or ".." in name.parts:
            return
        for folder in folders:
            check_regular(folder / name)
        name = next((led for folder in folders if (led := pointer(folder / name, b"ref:")) is not None), None)


def _shown(path: bytes, root: bytes) -> str:
    return shortened(os.path.relpath(path, root).decode("utf-8", "backslashreplace"), _SHOWN)
