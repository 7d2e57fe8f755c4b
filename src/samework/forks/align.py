"""Lay two runs side by side after their fork, for showing only: never for a verdict.

What runs do after they parted is contaminated by the parting; an alignment tells a reader where to look, and where the
two came together again. Work is bounded by a band of edits; beyond it the rest is shown as replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from samework.forks.trie import PACKAGE
from samework.store.sql import load

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from samework.store.connection import StoreHandle

BAND = 400
"""Edits (deletions plus insertions) that are looked for before the rest is given up as replaced."""


class Span(msgspec.Struct, frozen=True):
    """Items a[a_start:a_end] against b[b_start:b_end]. kind: equal, or changed (either side may be empty)."""

    kind: Literal["equal", "changed"]
    a_start: int
    a_end: int
    b_start: int
    b_end: int


class Reconvergence(msgspec.Struct, frozen=True):
    """First steps of a and b from which on they go alike to the end. by: workspace (trees coincide) or actions."""

    step_a: int
    step_b: int
    by: Literal["workspace", "actions"]


def aligned(a: Sequence[Hashable], b: Sequence[Hashable], *, band: int = BAND) -> list[Span]:
    """A shortest edit script of two sequences as spans that cover both, in order.

    Greedy by furthest reach (E. W. Myers, 1986), for at most `band` edits: time and memory are of the order of
    length + band², whatever the sequences hold. Where more edits are needed, what lies past the furthest point that
    was reached is one changed span.

    >>> [(span.kind, span.a_start, span.a_end, span.b_start, span.b_end) for span in aligned("abcd", "axcd")]
    [('equal', 0, 1, 0, 1), ('changed', 1, 2, 1, 2), ('equal', 2, 4, 2, 4)]
    """
    head = common_prefix(a, b)
    tail = common_suffix(a, b, head)
    a_end, b_end = len(a) - tail, len(b) - tail
    matches = [(head + x, head + y) for x, y in _matches(a[head:a_end], b[head:b_end], band)]
    runs = [*((place, place) for place in ([0] if head else [])), *matches]
    lengths = [head] if head else []
    lengths += [1] * len(matches)
    if tail:
        runs.append((a_end, b_end))
        lengths.append(tail)
    return _spans(runs, lengths, len(a), len(b))


def common_prefix(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """Items that two sequences share at the start."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def common_suffix(a: Sequence[Hashable], b: Sequence[Hashable], head: int = 0) -> int:
    """Items that two sequences share at the end, past their first `head` items."""
    limit = min(len(a), len(b)) - head
    return next((n for n in range(limit) if a[-1 - n] != b[-1 - n]), limit)


def _matches(a: Sequence[Hashable], b: Sequence[Hashable], band: int) -> list[tuple[int, int]]:
    """Matched places, in order."""
    reach: dict[int, int] = {1: 0}
    history: list[dict[int, int]] = []
    for edits in range(min(band, len(a) + len(b)) + 1):
        history.append(reach.copy())
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
            x = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
            y = x - diagonal
            while x < len(a) and y < len(b) and a[x] == b[y]:
                x, y = x + 1, y + 1
            reach[diagonal] = x
            if x >= len(a) and y >= len(b):
                return _traced(history, x, y)
    inside = {k: x for k, x in reach.items() if x <= len(a) and 0 <= x - k <= len(b) and (k - band) % 2 == 0}
    best = max(inside, key=lambda k: 2 * inside[k] - k)
    return _traced(history, inside[best], inside[best] - best)


def _traced(history: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for edits in range(len(history) - 1, -1, -1):
        reach, diagonal = history[edits], x - y
        down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
        before = diagonal + 1 if down else diagonal - 1
        x_before = reach[before] if edits else 0
        y_before = x_before - before if edits else 0
        x_start = (x_before if down else x_before + 1) if edits else 0
        while x > x_start:
            x, y = x - 1, y - 1
            found.append((x, y))
        x, y = x_before, y_before
    return found[::-1]


def _spans(starts: list[tuple[int, int]], lengths: list[int], n_a: int, n_b: int) -> list[Span]:
    spans: list[Span] = []
    at_a = at_b = 0
    for (x, y), length in zip(starts, lengths, strict=True):
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


def reconvergence(handle: StoreHandle, a_key: int, b_key: int) -> Reconvergence | None:
    """Where two runs come together again: by workspace trees where every step of both has one, else by actions.

    None where they end apart, where they never parted, or where nothing is recorded to tell.
    """
    rows = handle.db.execute(load(PACKAGE, "sql/steps_of_pair"), {"a": a_key, "b": b_key}).fetchall()
    a, b = ([row for row in rows if row[0] == key] for key in (a_key, b_key))
    if not a or not b:
        return None
    column: int = 2 if all(row[2] is not None for row in rows) else 3
    ways = [[row[column] for row in side] for side in (a, b)]
    if ways[0] == ways[1] or (column == _ACTIONS and not any(ways[0] + ways[1])):
        return None
    shared = common_suffix(ways[0], ways[1])
    if not shared:
        return None
    by: Literal["workspace", "actions"] = "actions" if column == _ACTIONS else "workspace"
    return Reconvergence(a[len(a) - shared][1], b[len(b) - shared][1], by)


_ACTIONS = 3
