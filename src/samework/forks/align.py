"""Lay two runs side by side after their fork, for showing only: never for a verdict.

What runs do after they parted is contaminated by the parting; an alignment tells a reader where to look, and where the
two came together again. Work is bounded by a band of edits; beyond it the rest is shown as replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from samework.forks.trie import PACKAGE
from samework.model.results import AlignedSpan, Reconvergence
from samework.store.sql import load

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from samework.store.connection import StoreHandle

    Codes = NDArray[np.int64]

BAND = 400
"""Edits (deletions plus insertions) that are looked for before the rest is given up as replaced."""
_CHUNKS = (16, 256, 4096, 65536)


class Span(msgspec.Struct, frozen=True):
    """Items a[a_start:a_end] against b[b_start:b_end]. kind: equal, or changed (either side may be empty)."""

    kind: Literal["equal", "changed"]
    a_start: int
    a_end: int
    b_start: int
    b_end: int


class Steps(msgspec.Struct, frozen=True):
    """Steps of one run as numbers that are equal where their values are. workspaces: None unless each step has one.

    left: number of the tree that the run left, None where unrecorded.
    """

    actions: Any
    has_call: Any
    workspaces: Any = None
    left: int | None = None


def after_fork(
    handle: StoreHandle, a_key: int, b_key: int, *, band: int = BAND
) -> tuple[tuple[AlignedSpan, ...], Reconvergence | None]:
    """The steps of two runs laid side by side by their calls, and where the runs came together again.

    Both are for showing. No spans where neither run makes a call: there is nothing to lay side by side.
    """
    sides = [read_steps(handle, a_key, b_key).get(key) for key in (a_key, b_key)]
    a, b = sides
    if a is None or b is None or not (len(a.actions) and len(b.actions)):
        return (), None
    spans: list[Span] = []
    if a.has_call.any() or b.has_call.any():
        spans = aligned(a.actions, b.actions, band=band)
    shown = tuple(
        AlignedSpan(s.kind, s.a_start + 1, s.a_end - s.a_start, s.b_start + 1, s.b_end - s.b_start) for s in spans
    )
    return shown, reconvergence(a, b)


def read_steps(handle: StoreHandle, a_key: int, b_key: int) -> dict[int, Steps]:
    """Steps of two runs, by run_key; a run without a completion and without a tree is absent."""
    read = handle.db.execute(load(PACKAGE, "sql/steps_of_pair"), {"a": a_key, "b": b_key}).fetchnumpy()
    found = {}
    for key in np.unique(read["run_key"]).tolist():
        mine = {name: np.asarray(column)[read["run_key"] == key] for name, column in read.items()}
        is_step = ~mine["is_end"]
        left = mine["workspace"][mine["is_end"]]
        has_each = bool(mine["has_workspace"][is_step].all())
        found[key] = Steps(
            mine["action"][is_step],
            mine["has_call"][is_step],
            mine["workspace"][is_step] if has_each else None,
            int(left[0]) if len(left) else None,
        )
    return found


def reconvergence(a: Steps, b: Steps) -> Reconvergence | None:
    """The steps after which two runs go alike to the end: by workspace trees where every step of both has one.

    Else by actions, of which a call must be left to be alike in. None where the runs end apart, or never parted, or
    where nothing is recorded to tell.
    """
    if a.workspaces is not None and b.workspaces is not None:
        states = [a.workspaces, b.workspaces]
        if a.left is not None and b.left is not None:
            states = [np.append(a.workspaces, a.left), np.append(b.workspaces, b.left)]
        n_shared = _shared_end(*states)
        by: Literal["workspace", "actions"] = "workspace"
    else:
        states, by = [a.actions, b.actions], "actions"
        n_shared = _shared_end(*states)
        if not a.has_call[len(a.has_call) - n_shared :].any():
            return None
    return Reconvergence(len(states[0]) - n_shared, len(states[1]) - n_shared, by) if n_shared else None


def _shared_end(a: Codes, b: Codes) -> int:
    """Items that both share at the end, after they parted; 0 where they did not part."""
    head = common_prefix(a, b)
    return 0 if head == len(a) == len(b) else common_suffix(a, b, head)


def aligned(a: Sequence[Hashable] | Codes, b: Sequence[Hashable] | Codes, *, band: int = BAND) -> list[Span]:
    """A shortest edit script of two sequences as spans that cover both, in order.

    Greedy by furthest reach (E. W. Myers, 1986), for at most `band` edits: memory is of the order of length + band²,
    time of length times band in the worst case (compared by machine words), whatever the sequences hold. Where more
    edits are needed, what lies past the furthest point that was reached is one changed span.

    >>> [(span.kind, span.a_start, span.a_end, span.b_start, span.b_end) for span in aligned("abcd", "axcd")]
    [('equal', 0, 1, 0, 1), ('changed', 1, 2, 1, 2), ('equal', 2, 4, 2, 4)]
    """
    left, right = _coded(a, b)
    head = common_prefix(left, right)
    tail = common_suffix(left, right, head)
    a_end, b_end = len(left) - tail, len(right) - tail
    runs = [(0, 0, head)] if head else []
    runs += [(head + x, head + y, n) for x, y, n in _matches(left[head:a_end], right[head:b_end], band)]
    if tail:
        runs.append((a_end, b_end, tail))
    return _spans(runs, len(left), len(right))


def _coded(a: Sequence[Hashable] | Codes, b: Sequence[Hashable] | Codes) -> tuple[Codes, Codes]:
    """Both sequences as numbers that are equal where the items are."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a, b
    codes: dict[Hashable, int] = {}
    left, right = (np.array([codes.setdefault(item, len(codes)) for item in side], dtype=np.int64) for side in (a, b))
    return left, right


def common_prefix(a: Codes, b: Codes) -> int:
    """Items that two sequences share at the start."""
    limit = min(len(a), len(b))
    places = np.flatnonzero(a[:limit] != b[:limit])
    return int(places[0]) if len(places) else limit


def common_suffix(a: Codes, b: Codes, head: int = 0) -> int:
    """Items that two sequences share at the end, past their first `head` items."""
    return common_prefix(a[head:][::-1], b[head:][::-1])


def _reach(a: Codes, b: Codes, x: int, y: int) -> int:
    """How far both go alike from there: in growing pieces, for most are short."""
    start = x
    for size in _sizes():
        piece = min(size, len(a) - x, len(b) - y)
        n = common_prefix(a[x : x + piece], b[y : y + piece])
        x, y = x + n, y + n
        if n < size:
            break
    return x - start


def _sizes() -> Any:
    yield from _CHUNKS
    while True:
        yield _CHUNKS[-1]


def _matches(a: Codes, b: Codes, band: int) -> list[tuple[int, int, int]]:
    """Runs of matched places (in a, in b, length), in order."""
    reach: dict[int, int] = {1: 0}
    history: list[dict[int, int]] = []
    for edits in range(min(band, len(a) + len(b)) + 1):
        history.append(reach.copy())
        for diagonal in range(-edits, edits + 1, 2):
            x = reach[diagonal + 1] if _goes_down(reach, diagonal, edits) else reach[diagonal - 1] + 1
            y = x - diagonal
            if x < len(a) and 0 <= y < len(b) and a[x] == b[y]:
                x += _reach(a, b, x, y)
            reach[diagonal] = x
            if x >= len(a) and x - diagonal >= len(b):
                return _traced(history, x, x - diagonal)
    inside = {k: x for k, x in reach.items() if x <= len(a) and 0 <= x - k <= len(b) and (k - band) % 2 == 0}
    best = max(inside, key=lambda k: 2 * inside[k] - k)
    return _traced(history, inside[best], inside[best] - best)


def _goes_down(reach: dict[int, int], diagonal: int, edits: int) -> bool:
    """True where the furthest way to a diagonal takes an item of b rather than one of a."""
    return diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])


def _traced(history: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int, int]]:
    found: list[tuple[int, int, int]] = []
    for edits in range(len(history) - 1, -1, -1):
        reach, diagonal = history[edits], x - y
        down = _goes_down(reach, diagonal, edits)
        before = diagonal + 1 if down else diagonal - 1
        x_before = reach[before] if edits else 0
        x_start = (x_before if down else x_before + 1) if edits else 0
        if x > x_start:
            found.append((x_start, x_start - diagonal, x - x_start))
        x, y = x_before, x_before - before if edits else 0
    return found[::-1]


def _spans(runs: list[tuple[int, int, int]], n_a: int, n_b: int) -> list[Span]:
    spans: list[Span] = []
    at_a = at_b = 0
    for x, y, length in runs:
        if x > at_a or y > at_b:
            spans.append(Span("changed", at_a, x, at_b, y))
        if spans and spans[-1].kind == "equal":
            last = spans.pop()
            spans.append(Span("equal", last.a_start, x + length, last.b_start, y + length))
        else:
            spans.append(Span("equal", x, x + length, y, y + length))
        at_a, at_b = x + length, y + length
    if at_a < n_a or at_b < n_b:
        spans.append(Span("changed", at_a, n_a, at_b, n_b))
    return spans
