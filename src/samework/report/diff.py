"""How two trees differ, as lines a reader can follow: pure, from bytes that the caller read.

Refuses to show binary content or more lines than a page can hold; what is left out is counted.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from samework.report.data import DiffLine, FileChange, TreeView

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_LINES = 400
MAX_FILES = 60
MAX_BLOB_BYTES = 400_000
_SYMLINK, _SUBMODULE = "120000", "160000"


def tree_view(
    oid_a: str | None, oid_b: str | None, files: Sequence[FileChange], *, note: str | None = None
) -> TreeView:
    """The difference of two trees, limited to what a page can hold."""
    return TreeView(oid_a, oid_b, tuple(files[:MAX_FILES]), note, max(0, len(files) - MAX_FILES))


def file_change(
    path: str,
    before: bytes | None,
    after: bytes | None,
    *,
    mode_a: str | None = None,
    mode_b: str | None = None,
    oid_a: str | None = None,
    oid_b: str | None = None,
) -> FileChange:
    """One path of a difference.

    Args:
        path: as text; bytes that are no UTF-8 escaped by the caller.
        before: content in tree a; None where the path is absent, or where its content is not held.
        after: content in tree b.
        mode_a: Git mode in tree a; None where the path is absent.
        mode_b: Git mode in tree b.
        oid_a: blob id in tree a; None where the path is absent.
        oid_b: blob id in tree b.
    """
    change = _change(mode_a if mode_a or mode_b else before, mode_b if mode_a or mode_b else after, oid_a == oid_b)
    what = _what(before, after, (mode_a, mode_b))
    made = FileChange(path, change, what, mode_a, mode_b, oid_a, oid_b)
    if what in {"submodule", "binary"}:
        return made
    lines = _lines(before or b"", after or b"")
    n_added = sum(line.kind == "added" for line in lines)
    n_deleted = sum(line.kind == "deleted" for line in lines)
    return FileChange(
        path,
        change,
        what,
        mode_a,
        mode_b,
        oid_a,
        oid_b,
        tuple(lines[:MAX_LINES]),
        n_added,
        n_deleted,
        max(0, len(lines) - MAX_LINES),
    )


def _change(before: object, after: object, same_content: bool) -> str:
    if before is None:
        return "added"
    if after is None:
        return "deleted"
    return "mode" if same_content and before != after else "modified"


def _what(before: bytes | None, after: bytes | None, modes: tuple[str | None, str | None]) -> str:
    if _SUBMODULE in modes:
        return "submodule"
    sides = [side for side in (before, after) if side is not None]
    if any(b"\0" in side[:8000] or len(side) > MAX_BLOB_BYTES for side in sides):
        return "binary"
    return "symlink" if _SYMLINK in modes else "text"


def _lines(before: bytes, after: bytes) -> list[DiffLine]:
    """Unified difference, three lines of context, and a note where only one side ends in a newline."""
    left, right = (_split(side) for side in (before, after))
    made: list[DiffLine] = []
    for line in list(difflib.unified_diff(left, right, lineterm="", n=3))[2:]:
        kind = {"@": "hunk", "+": "added", "-": "deleted"}.get(line[:1], "context")
        made.append(DiffLine(kind, line if kind == "hunk" else line[1:]))
    ends = [side.endswith(b"\n") or not side for side in (before, after)]
    if ends[0] != ends[1]:
        made.append(DiffLine("note", f"no newline at the end of the {'second' if ends[0] else 'first'} file"))
    return made


def _split(side: bytes) -> list[str]:
    lines = side.decode("utf-8", "backslashreplace").split("\n")
    return lines[:-1] if not lines[-1] else lines
