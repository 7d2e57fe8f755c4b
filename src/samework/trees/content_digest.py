"""TCD, the tree content digest: one name for the files of a tree, whatever the object format of its repository.

Layout, so that anyone can compute it: sha256 over the line `samework tcd 1` and then, for each path, sorted by
(mode, path): mode as six octal digits, a space, the length of the path in bytes as decimal, a space, the path, a
space, 64 hex digits, a newline. The hex digits are the sha256 of the blob's bytes (of a symbolic link: of its target
text; of a submodule: of its commit id as lower-case hex text). Regular files have mode 100755 where the owner may run
them and 100644 otherwise. Lengths make the layout unambiguous for any bytes in a path. Refuses trees with missing
blobs.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

from samework.trees.tree_objects import GITLINK_MODE, TreeEntry, content_mode

if TYPE_CHECKING:
    from collections.abc import Iterable

_HEAD = b"samework tcd 1\n"


class BlobDigests(Protocol):
    """What is needed of an object store."""

    def blob_digests(self, oids: Iterable[str]) -> dict[str, bytes]:
        """sha256 of blobs, ASCII hex."""


def content_digest(objects: BlobDigests, entries: list[TreeEntry]) -> str:
    """Tree content digest of the listed entries.

    Args:
        objects: gives the sha256 of blobs.
        entries: all paths of a tree, in any order.

    Returns:
        64 hex digits.

    Raises:
        GitInputError: a blob is missing.
    """
    digests = objects.blob_digests(entry.oid for entry in entries if entry.mode != GITLINK_MODE)
    modes = {mode: content_mode(mode).encode() for mode in {entry.mode for entry in entries}}
    links = {e.oid: hashlib.sha256(e.oid.encode()).hexdigest().encode() for e in entries if e.mode == GITLINK_MODE}
    rows = sorted([(modes[e.mode], e.path, (links if e.mode == GITLINK_MODE else digests)[e.oid]) for e in entries])
    lines = [b"%b %d %b %b\n" % (mode, len(path), path, content) for mode, path, content in rows]
    return hashlib.sha256(_HEAD + b"".join(lines)).hexdigest()
