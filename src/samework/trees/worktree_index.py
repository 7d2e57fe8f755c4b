"""What an agent's repository tracks, read from a copy of its index: paths and modes, never its cached file states.

Files that are tracked though an ignore rule covers them belong to the tree, and so do submodules that are not checked
out; only the index knows of them. Refuses to trust anything else in it.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

from samework.canon.patch_names import is_safe
from samework.errors import GitInputError
from samework.trees.neutral_git import NeutralGit
from samework.trees.tree_objects import GITLINK_MODE, TreeEntry, content_mode

if TYPE_CHECKING:
    from samework.trees.places import GitPlace

MAX_INDEX_BYTES = 1 << 30


class Tracked(NamedTuple):
    """Entries of the index by path. is_sparse: some files are deliberately not checked out. is_read: it was read."""

    entries: dict[bytes, TreeEntry]
    is_sparse: bool
    is_read: bool


def read_tracked(place: GitPlace) -> Tracked:
    """Read the index of a repository from a copy; an index that is absent or unreadable tracks nothing."""
    if not place.index_path.is_file():
        return Tracked({}, is_sparse=False, is_read=True)
    if place.index_path.stat().st_size > MAX_INDEX_BYTES:
        return Tracked({}, is_sparse=False, is_read=False)
    with NeutralGit(place.object_format, alternates=(place.objects_path,)) as git:
        copy = git.path / "their-index"
        shutil.copyfile(place.index_path, copy)
        for shared in place.git_dir.glob("sharedindex.*"):
            if shared.is_file() and shared.stat().st_size <= MAX_INDEX_BYTES:
                shutil.copyfile(shared, git.path / shared.name)
        try:
            listed = git.run("ls-files", "-s", "-t", "-z", index=copy)
        except GitInputError:
            return Tracked({}, is_sparse=False, is_read=False)
    entries, is_sparse = {}, False
    for line in listed.split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        tag, mode, oid, _stage = head.split(b" ")
        is_sparse = is_sparse or tag in (b"S", b"s")
        if is_safe(path):
            text = content_mode(mode.decode())
            entries[path] = TreeEntry(text, path, oid.decode(), "gitlink" if text == GITLINK_MODE else "file")
    return Tracked(entries, is_sparse=is_sparse, is_read=True)


def index_lines(entries: dict[bytes, TreeEntry]) -> bytes:
    """Entries as `update-index -z --index-info` reads them."""
    return b"".join(b"%b %b\t%b\0" % (e.mode.encode(), e.oid.encode(), path) for path, e in sorted(entries.items()))
