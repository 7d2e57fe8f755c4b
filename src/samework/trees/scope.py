"""Declared globs that drop a harness's litter from a tree, so that it is not taken for work.

Refuses to hide anything by default: no glob, nothing dropped; the id of the whole tree is kept beside the other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.trees.neutral_git import NeutralGit
    from samework.trees.tree_objects import TreeEntry

_PARTS = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_PATTERNS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def is_dropped(path: bytes, scope: Sequence[str]) -> bool:
    """True where a glob covers the path.

    `*` and `?` stay within a directory, `**` crosses them. A glob without a slash covers a name at any depth, and one
    that covers a directory covers all in it.

    >>> is_dropped(b"a/b/log.txt", ["*.txt"]), is_dropped(b"out/x/y", ["out/"]), is_dropped(b"a/out.c", ["out"])
    (True, True, False)
    """
    text = path.decode("utf-8", "surrogateescape")
    return any(re.fullmatch(_pattern(glob), text, re.DOTALL) for glob in scope)


def _pattern(glob: str) -> str:
    body = glob.strip("/")
    anywhere = "/" not in body and not glob.startswith("/")
    pieces = [_PATTERNS.get(part) or re.escape(part) for part in _PARTS.findall(body)]
    return ("(?:.*/)?" if anywhere else "") + "".join(pieces) + "(?:/.*)?"


def scoped_tree(git: NeutralGit, tree: str, entries: list[TreeEntry], scope: Sequence[str]) -> str:
    """Write the tree without the paths that the scope drops.

    Args:
        git: a Git directory that holds the tree and may write.
        tree: its id.
        entries: its paths.
        scope: globs.

    Returns:
        Id of the smaller tree; `tree` itself where nothing is dropped.
    """
    dropped = [entry.path for entry in entries if is_dropped(entry.path, scope)]
    if not dropped:
        return tree
    git.run("read-tree", tree)
    git.run(
        "update-index",
        "-z",
        "--index-info",
        stdin=b"".join(b"0 %b\t%b\0" % (b"0" * len(tree), path) for path in dropped),
    )
    return git.run("write-tree").decode().strip()
