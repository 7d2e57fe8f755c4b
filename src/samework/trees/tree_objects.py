"""Raw tree objects: parse them, walk them, find a path in them. Trees are hostile data and are never checked out.

Refuses trees of more entries or levels than the limits: a tree of a few hundred bytes can name 10^10 files.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import msgspec

from samework.errors import GitInputError, LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_ENTRIES = 5_000_000
MAX_DEPTH = 500

TREE_MODE, LINK_MODE, GITLINK_MODE = "040000", "120000", "160000"
_WIDTH = {40: 20, 64: 32}
_ENTRY = {width: re.compile(rb"([0-7]{1,7}) ([^\0]+)\0(.{%d})" % width, re.DOTALL) for width in _WIDTH.values()}
_MODES = {
    mode: mode.decode().zfill(6)
    for mode in (b"40000", b"040000", b"100644", b"100755", b"100664", b"120000", b"160000")
}
_KINDS = {"100755": "exec", LINK_MODE: "symlink", GITLINK_MODE: "gitlink", TREE_MODE: "tree"}
_KNOWN_MODES = frozenset(_MODES.values())
_TREE = b"40000"
_FACTS = {mode: (text, _KINDS.get(text, "file")) for mode, text in _MODES.items()}
_FILES = frozenset(_MODES) - {b"40000", b"040000"}

RawEntry = tuple[bytes, bytes, bytes]
"""(mode as written, name, binary id)."""


class TreeEntry(msgspec.Struct, frozen=True, gc=False):
    """One path of a tree. mode: six octal digits. path: bytes. oid: hex. kind: file, exec, symlink or gitlink."""

    mode: str
    path: bytes
    oid: str
    kind: str


def raw_entries(data: bytes, oid: str) -> list[RawEntry]:
    """Parse the bytes of one tree object.

    Args:
        data: content of the object, without its header.
        oid: its id, which tells the width of the ids in it.

    Raises:
        GitInputError: the bytes are no tree.
    """
    width = _WIDTH[len(oid)]
    found: list[RawEntry] = _ENTRY[width].findall(data)
    if len(b"".join(itertools.chain.from_iterable(found))) + 2 * len(found) != len(data):
        raise GitInputError(f"tree {oid} is damaged", code="git-failed")
    return found


def walk_tree(read: Callable[[str], bytes], root: str) -> list[TreeEntry]:
    """List every path below a tree that is not itself a tree, in the order of the trees.

    Args:
        read: gives the content of a tree by its id (hex).
        root: id of the tree.

    Raises:
        LimitExceeded: more than `MAX_ENTRIES` entries or `MAX_DEPTH` levels.
        GitInputError: a tree is missing or damaged.
    """
    listed: list[TreeEntry] = []
    stack: list[tuple[bytes, Iterator[RawEntry]]] = [(b"", iter([(_TREE, b"", bytes.fromhex(root))]))]
    while stack:
        prefix, entries = stack[-1]
        for mode, name, raw in entries:
            if mode != _TREE and _mode_text(mode) != TREE_MODE:
                listed.append(_entry(prefix, (mode, name, raw)))
                continue
            oid = raw.hex()
            below = raw_entries(read(oid), oid)
            inside = prefix + name + b"/" if name else b""
            if {entry[0] for entry in below} <= _FILES:
                listed += [_entry(inside, entry) for entry in below]
            elif len(stack) > MAX_DEPTH:
                raise LimitExceeded(f"tree {root} has more than {MAX_DEPTH} levels")
            else:
                stack.append((inside, iter(below)))
            break
        else:
            stack.pop()
        if len(listed) > MAX_ENTRIES:
            raise LimitExceeded(f"tree {root} has more than {MAX_ENTRIES} entries")
    return listed


def _entry(prefix: bytes, raw: RawEntry) -> TreeEntry:
    mode, name, oid = raw
    known = _FACTS.get(mode)
    text, kind = known or (_mode_text(mode), _KINDS.get(_mode_text(mode), "file"))
    return TreeEntry(text, prefix + name, oid.hex(), kind)


def _mode_text(mode: bytes) -> str:
    return mode.decode().lstrip("0").zfill(6)


def content_mode(mode: str) -> str:
    """The mode as a checkout would show it: other regular modes become 100644 or 100755.

    >>> content_mode("100664")
    '100644'
    """
    if mode in (LINK_MODE, GITLINK_MODE, TREE_MODE):
        return mode
    return "100755" if int(mode, 8) & 0o100 else "100644"


def find_entry(read: Callable[[str], bytes], root: str, path: bytes) -> TreeEntry | None:
    """Find one path in a tree; the first entry of that name, None where there is none."""
    oid = root
    parts = path.split(b"/")
    for place, part in enumerate(parts):
        entry = next((entry for entry in raw_entries(read(oid), oid) if entry[1] == part), None)
        if entry is None:
            return None
        mode, oid = _mode_text(entry[0]), entry[2].hex()
        if place == len(parts) - 1:
            return TreeEntry(mode, path, oid, _KINDS.get(mode, "file"))
        if mode != TREE_MODE:
            return None
    return None


def tree_faults(read: Callable[[str], bytes], root: str) -> tuple[str, ...]:
    """What `git fsck` would say of the trees below `root`, by the ids of its messages, sorted; empty where well."""
    faults: set[str] = set()
    seen, todo = {root}, [root]
    while todo:
        oid = todo.pop()
        entries = raw_entries(read(oid), oid)
        faults.update(_entry_faults(entries))
        children = {raw.hex() for mode, _, raw in entries if _mode_text(mode) == TREE_MODE} - seen
        seen |= children
        todo += children
    return tuple(sorted(faults))


def _entry_faults(entries: list[RawEntry]) -> Iterator[str]:
    keys = [name + (b"/" if _mode_text(mode) == TREE_MODE else b"\0") for mode, name, _ in entries]
    names = [name for _, name, _ in entries]
    if len(set(names)) != len(names):
        yield "duplicateEntries"
    if any(one > two for one, two in itertools.pairwise(keys)):
        yield "treeNotSorted"
    if len({name.lower() for name in names}) != len(set(names)):
        yield "caseCollision"
    for mode, name, raw in entries:
        yield from _name_faults(name)
        if not any(raw):
            yield "nullSha1"
        if mode.startswith(b"0"):
            yield "zeroPaddedFilemode"
        if _mode_text(mode) not in _KNOWN_MODES:
            yield "badFilemode"


def _name_faults(name: bytes) -> Iterator[str]:
    if b"/" in name:
        yield "fullPathname"
    if name in (b".", b".."):
        yield "hasDot" if name == b"." else "hasDotdot"
    if name.lower() in (b".git", b"git~1"):
        yield "hasDotgit"
