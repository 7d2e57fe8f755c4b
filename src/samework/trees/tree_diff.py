"""Differences of two trees for people and reports, made in process: no `git diff`, so no driver of anybody's runs.

Refuses to line up files that are binary, too large or too long; it says so instead.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

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

MAX_DIFF_BYTES = 1 << 20
MAX_DIFF_LINES = 4000
_SNIFF_BYTES = 8000


class TreeSource(Protocol):
    """What is needed of an object store."""

    def read(self, oid: str) -> bytes:
        """Content of an object."""

    def n_bytes(self, oid: str) -> int:
        """Length of an object's content."""

    def read_tree(self, oid: str) -> list[TreeEntry]:
        """Every path of a tree."""

    def find(self, tree: str, path: bytes) -> TreeEntry | None:
        """Entry at one path."""

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


class TextDiff(NamedTuple):
    """A unified diff as text (raw: pass it through `visible`), or the reason there is none: binary, large, absent."""

    text: str
    reason: str | None = None


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


def text_difference(source: TreeSource, a: str | None, b: str | None, path: bytes, *, context: int) -> TextDiff:
    """Unified diff of one path of two trees.

    Args:
        source: object store.
        a: one tree; None: an empty one.
        b: the other.
        path: the path.
        context: unchanged lines around a change.

    Returns:
        The diff without file headers, or the reason there is none. Bytes that are not UTF-8 show as escapes.
    """
    sides = []
    for tree in (a, b):
        entry = None if tree is None else source.find(tree, path)
        if entry is not None and entry.mode == GITLINK_MODE:
            sides.append(f"Subproject commit {entry.oid}\n".encode())
        elif entry is not None and entry.mode != TREE_MODE:
            if source.n_bytes(entry.oid) > MAX_DIFF_BYTES:
                return TextDiff("", "large")
            sides.append(source.read(entry.oid))
        else:
            sides.append(b"")
    old, new = sides
    if len(old) + len(new) > MAX_DIFF_BYTES:
        return TextDiff("", "large")
    if b"\0" in old[:_SNIFF_BYTES] or b"\0" in new[:_SNIFF_BYTES]:
        return TextDiff("", "binary")
    return _unified(_lines(old), _lines(new), context)


def _lines(data: bytes) -> list[str]:
    lines = data.decode("utf-8", "backslashreplace").split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last + "\n\\ No newline at end of file\n"] if last else [])


def _unified(old: list[str], new: list[str], context: int) -> TextDiff:
    """Line up what lies between the common ends; the common ends cost nothing."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    if len(old) + len(new) - 2 * (head + tail) > MAX_DIFF_LINES:
        return TextDiff("", "large")
    shown: list[str] = []
    for group in _BetweenEnds(old, new, head, tail).get_grouped_opcodes(context):
        first, last = group[0], group[-1]
        shown.append(f"@@ -{_span(first[1], last[2])} +{_span(first[3], last[4])} @@\n")
        for word, i, j, k, m in group:
            if word == "equal":
                shown += [" " + line for line in old[i:j]]
            else:
                shown += ["-" + line for line in old[i:j]]
                shown += ["+" + line for line in new[k:m]]
    return TextDiff("".join(shown))


_Step = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]


class _BetweenEnds(difflib.SequenceMatcher[str]):
    """Lines up what lies between common ends, which stay lined up with each other."""

    def __init__(self, old: list[str], new: list[str], head: int, tail: int) -> None:
        super().__init__(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
        self._head: _Step = ("equal", 0, head, 0, head)
        self._tail: _Step = ("equal", len(old) - tail, len(old), len(new) - tail, len(new))

    def get_opcodes(self) -> list[_Step]:
        """The steps from the old lines to the new ones, ends included."""
        head = self._head[2]
        between = [(word, i + head, j + head, k + head, m + head) for word, i, j, k, m in super().get_opcodes()]
        ends = [[end] if end[1] < end[2] else [] for end in (self._head, self._tail)]
        return [*ends[0], *between, *ends[1]]


def _span(start: int, stop: int) -> str:
    n_lines = stop - start
    return f"{start + 1 if n_lines else start},{n_lines}"
