"""Geometry of the pictures: numbers in, coordinates out; the templates only place them.

Refuses to hold text other than labels it was given; every label is escaped where it is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.model.results import ClassBlock
    from samework.report.data import ForkView, Strip

NEAR_TIE_NATS = 0.5
_MARGIN_TOP = 6.0
_MAX_BLOCKS = 14


class Node(msgspec.Struct, frozen=True):
    """A facet in the lattice: place in a 300 by 320 box."""

    facet: str
    x: int
    y: int


LATTICE = (
    Node("tokens", 90, 32),
    Node("text", 90, 86),
    Node("actions", 90, 140),
    Node("observations", 210, 140),
    Node("patch", 210, 194),
    Node("tree", 90, 194),
    Node("tests", 90, 248),
    Node("outcome", 210, 248),
)
EDGES = (
    ("tokens", "text"),
    ("text", "actions"),
    ("actions", "observations"),
    ("actions", "tree"),
    ("patch", "tree"),
    ("tree", "tests"),
    ("tests", "outcome"),
)


class Edge(msgspec.Struct, frozen=True):
    """A line of the lattice. holds: same at both ends, so that nothing is lost between them."""

    x1: int
    y1: int
    x2: int
    y2: int
    holds: bool


def lattice_edges(verdicts: dict[str, str]) -> list[Edge]:
    """Lines between the facets that a pair has."""
    places = {node.facet: node for node in LATTICE if node.facet in verdicts}
    return [
        Edge(places[a].x, places[a].y, places[b].x, places[b].y, verdicts[a] == verdicts[b] == "same")
        for a, b in EDGES
        if a in places and b in places
    ]


class Bar(msgspec.Struct, frozen=True):
    """One token of a strip: left, top, width and height in the strip's box; offset and margin for its title."""

    x: float
    y: float
    width: float
    height: float
    offset: int
    margin: float
    token: int | None
    is_fork: bool
    is_near: bool
    is_after: bool


class StripChart(msgspec.Struct, frozen=True):
    """Margins of one side, in a box of `width` by `height`. tau_y: height of the near-tie line."""

    bars: list[Bar]
    width: int
    height: int
    tau_y: float
    fork_x: float | None


def strip_chart(
    strip: Strip, fork_offset: int | None, near_tie: float | None = None, *, width: int = 600, height: int = 84
) -> StripChart:
    """Bars for the margins around a fork; heights are capped, the true margin is in the title."""
    tau = NEAR_TIE_NATS if near_tie is None else near_tie
    step = width / max(len(strip.margins), 20)
    bars = []
    for place, margin in enumerate(strip.margins):
        offset = strip.start + place
        tall = max(2.0, min(max(margin, 0.0), _MARGIN_TOP) / _MARGIN_TOP * height)
        token = strip.ids[place] if place < len(strip.ids) else None
        is_fork = fork_offset is not None and offset == fork_offset
        is_after = fork_offset is not None and offset > fork_offset
        left = round(place * step + step * 0.14, 2)
        bars.append(
            Bar(
                left,
                round(height - tall, 2),
                round(step * 0.72, 2),
                round(tall, 2),
                offset,
                margin,
                token,
                is_fork,
                margin <= tau,
                is_after,
            )
        )
    marked = next((bar.x + bar.width / 2 for bar in bars if bar.is_fork), None)
    return StripChart(bars, width, height, round(height - min(tau, _MARGIN_TOP) / _MARGIN_TOP * height, 2), marked)


def strips(
    fork: ForkView | None, fork_offset: int | None, near_tie: float | None = None
) -> list[tuple[str, StripChart]]:
    """Charts of the sides that have margins."""
    if fork is None:
        return []
    sides = (("A", fork.a), ("B", fork.b))
    return [(name, strip_chart(side.strip, fork_offset, near_tie)) for name, side in sides if side.strip is not None]


class Part(msgspec.Struct, frozen=True):
    """One part of a stacked bar: name, count, start and width in percent."""

    name: str
    n: int
    start: float
    width: float


def stacked(counts: dict[str, int], names: Sequence[str]) -> list[Part]:
    """Parts of a whole, in the order of names; those that are empty are left out."""
    total = sum(counts.get(name, 0) for name in names)
    made, start = [], 0.0
    for name in names:
        n = counts.get(name, 0)
        if n:
            width = 100 * n / total
            made.append(Part(name, n, round(start, 3), round(width, 3)))
            start += width
    return made


class Cell(msgspec.Struct, frozen=True):
    """One cell of the block matrix: pairs between two blocks, and the class all of them share."""

    n: int
    run_class: str


def block_matrix(blocks: Sequence[ClassBlock]) -> tuple[list[ClassBlock], list[list[Cell]]]:
    """Pairs between blocks as counts, never one by one; at most 14 blocks, the largest."""
    shown = sorted(sorted(blocks, key=lambda block: -block.size)[:_MAX_BLOCKS], key=blocks.index)
    return shown, [
        [Cell(a.size * b.size if i != j else a.size * (a.size - 1) // 2, _shared(a, b)) for j, b in enumerate(shown)]
        for i, a in enumerate(shown)
    ]


def _shared(a: ClassBlock, b: ClassBlock) -> str:
    if not (a.placed and b.placed):
        return "unresolved"
    if a.tree is not None and (a.tests, a.tree) == (b.tests, b.tree):
        if a.tokens is None or b.tokens is None:
            return "tree-identical"
        return "token-identical" if a.tokens == b.tokens else "tree-identical"
    if a.tests is None or b.tests is None:
        return "unresolved"
    return "tests-identical" if a.tests == b.tests else "divergent"
