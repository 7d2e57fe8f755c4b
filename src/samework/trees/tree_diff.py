"""Paths in which two trees differ, found in process: no `git diff`, so no driver of anybody's runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from samework.errors import LimitExceeded
from samework.trees.tree_objects import (
    GITLINK_MODE,
    LINK_MODE,
    MAX_DEPTH,
    MAX_ENTRIES,
    TREE_MODE,
    RawEntry,
    TreeEntry,
    content_mode,
    raw_entries,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class TreeSource(Protocol):
    """What is needed of an object store."""

    def read(self, oid: str) -> bytes:
        """Content of an object."""

    def read_tree(self, oid: str) -> list[TreeEntry]:
        """Every path of a tree."""

    def blob_digests(self, oids: Iterable[str]) -> dict[str, bytes]:
        """sha256 of blobs, ASCII hex."""


class TreeChange(NamedTuple):
    """One path that differs. change: add, delete, modify, mode or type. Modes and oids are None on the absent side."""

    path: bytes
    change: str
    old_mode: str | None
    new_mode: str | None
    old_oid: str | None
    new_oid: str | None


def tree_changes(source: TreeSource, a: str, b: str) -> list[TreeChange]:
    """Paths in which two trees differ, sorted by path; equal subtrees are not read."""
    if len(a) != len(b):
        return _content_changes(source, a, b)
    comparison = _Comparison(source)
    todo: list[tuple[bytes, str | None, str | None]] = [(b"", a, b)]
    while todo:
        prefix, one, two = todo.pop()
        if one != two:
            todo += comparison.step(prefix, one, two)
    return _changes(comparison.left, comparison.right)


class _Comparison:
    """Files found on one side only, or with another mode or id: path -> (mode, oid)."""

    def __init__(self, source: TreeSource) -> None:
        self.source = source
        self.left: dict[bytes, tuple[str, str]] = {}
        self.right: dict[bytes, tuple[str, str]] = {}

    def step(self, prefix: bytes, one: str | None, two: str | None) -> Iterator[tuple[bytes, str | None, str | None]]:
        """Take the entries of two trees in which they differ; yield the pairs of subtrees to look into."""
        if prefix.count(b"/") > MAX_DEPTH or len(self.left) + len(self.right) > MAX_ENTRIES:
            raise LimitExceeded(f"trees differ in more than {MAX_ENTRIES} paths or {MAX_DEPTH} levels")
        olds, news = set(_raw(self.source, one)), set(_raw(self.source, two))
        subtrees: dict[bytes, list[str | None]] = {}
        for side, (entries, files) in enumerate(((olds - news, self.left), (news - olds, self.right))):
            for mode, name, raw in entries:
                text = mode.decode().lstrip("0").zfill(6)
                if text == TREE_MODE:
                    subtrees.setdefault(name, [None, None])[side] = raw.hex()
                else:
                    files[prefix + name] = (text, raw.hex())
        for name, (old, new) in subtrees.items():
            yield prefix + name + b"/", old, new


def _raw(source: TreeSource, oid: str | None) -> list[RawEntry]:
    return [] if oid is None else raw_entries(source.read(oid), oid)


def _content_changes(source: TreeSource, a: str, b: str) -> list[TreeChange]:
    """Compare trees of two object formats by mode and bytes."""
    sides = []
    for tree in (a, b):
        entries = source.read_tree(tree)
        digests = source.blob_digests(entry.oid for entry in entries if entry.mode != GITLINK_MODE)
        sides.append({e.path: (content_mode(e.mode), e.oid, digests.get(e.oid, e.oid.encode())) for e in entries})
    left, right = sides
    same = {path for path, (mode, _, digest) in left.items() if path in right and right[path][::2] == (mode, digest)}
    return _changes(
        {path: value[:2] for path, value in left.items() if path not in same},
        {path: value[:2] for path, value in right.items() if path not in same},
    )


def _changes(left: dict[bytes, tuple[str, str]], right: dict[bytes, tuple[str, str]]) -> list[TreeChange]:
    changes = []
    for path in sorted(left.keys() | right.keys()):
        old_mode, old_oid = left.get(path, (None, None))
        new_mode, new_oid = right.get(path, (None, None))
        changes.append(
            TreeChange(path, _word(old_mode, new_mode, old_oid, new_oid), old_mode, new_mode, old_oid, new_oid)
        )
    return changes


def _word(old_mode: str | None, new_mode: str | None, old_oid: str | None, new_oid: str | None) -> str:
    if old_mode is None or new_mode is None:
        return "add" if old_mode is None else "delete"
    if {old_mode, new_mode} & {LINK_MODE, GITLINK_MODE} and old_mode != new_mode:
        return "type"
    return "mode" if old_oid == new_oid else "modify"
