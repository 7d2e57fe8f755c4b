"""Geometry of a task's trie: where its branch nodes and leaves stand in a picture.

Refuses to draw more leaves than a page can hold; those left out are counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.model.results import ForkNode

_MAX_LEAVES = 40


class Branch(msgspec.Struct, frozen=True):
    """A line of the trie, from a parent to a branch node or to a leaf. label: what the branch does; n: runs."""

    x1: float
    y1: float
    x2: float
    y2: float
    n: int
    weight: float


class Place(msgspec.Struct, frozen=True):
    """A branch node of the drawing. number: ordinal in the list of forks, from 1."""

    x: float
    y: float
    number: int
    consequence: str
    origin: str
    step: int


class Leaf(msgspec.Struct, frozen=True):
    """Runs that never part again: arms with their counts."""

    x: float
    y: float
    n: int
    label: str


class TrieDrawing(msgspec.Struct, frozen=True):
    """The trie of one task."""

    width: int
    height: int
    lines: list[Branch]
    places: list[Place]
    leaves: list[Leaf]
    cut: int


def trie_drawing(forks: Sequence[ForkNode], runs: Sequence[str], arms: dict[str, str]) -> TrieDrawing:
    """Lay out the branch nodes of a task from left (first events) to right (leaves).

    Args:
        forks: branch nodes of one task; their branches hold run ids.
        runs: all run ids of the task that have a trajectory.
        arms: run id -> arm, for the leaves.
    """
    return _Layout(forks, arms).draw(frozenset(runs) | {run for fork in forks for b in fork.branches for run in b.runs})


class _Layout:
    """Places nodes depth first; each leaf takes a row."""

    ROW, LEFT, COLUMN, LABEL, TOP = 30, 16, 92, 190, 20

    def __init__(self, forks: Sequence[ForkNode], arms: dict[str, str]) -> None:
        self._arms = arms
        self._forks = [
            (number, fork, frozenset(run for branch in fork.branches for run in branch.runs))
            for number, fork in enumerate(forks, start=1)
        ]
        self._lines: list[Branch] = []
        self._places: list[Place] = []
        self._leaves: list[Leaf] = []
        self._rows = self._cut = self._depth = 0

    def draw(self, runs: frozenset[str]) -> TrieDrawing:
        total = max(len(runs), 1)
        y = self._grow(runs, 0, total)
        self._lines.insert(0, Branch(0, y, self.LEFT, y, len(runs), _weight(len(runs), total)))
        width = self.LEFT + self.COLUMN * (self._depth + 1) + self.LABEL
        return TrieDrawing(
            width, self.TOP + self.ROW * max(self._rows, 1), self._lines, self._places, self._leaves, self._cut
        )

    def _first_fork(self, runs: frozenset[str]) -> tuple[int, ForkNode] | None:
        inside = [(len(own), number, fork) for number, fork, own in self._forks if own <= runs and len(own) > 1]
        if not inside:
            return None
        _, number, fork = min(inside, key=lambda item: (-item[0], item[2].seq, item[1]))
        return number, fork

    def _grow(self, runs: frozenset[str], depth: int, total: int) -> float:
        """Draw what becomes of `runs`; returns the height at which they enter."""
        self._depth = max(self._depth, depth)
        x = self.LEFT + self.COLUMN * depth
        found = self._first_fork(runs)
        if found is None or depth > _MAX_LEAVES:
            return self._leaf(runs, x)
        number, fork = found
        parts = [frozenset(branch.runs) for branch in fork.branches]
        rest = runs.difference(*parts)
        self._forks = [item for item in self._forks if item[0] != number]
        parts = [*parts, rest] if rest else parts
        heights = [(self._grow(part, depth + 1, total), len(part)) for part in parts]
        y = sum(height for height, _ in heights) / len(heights)
        for height, n in heights:
            self._lines.append(Branch(x, y, x + self.COLUMN, height, n, _weight(n, total)))
        self._places.append(Place(x, y, number, fork.consequence, fork.origin, fork.step))
        return y

    def _leaf(self, runs: frozenset[str], x: float) -> float:
        if self._rows >= _MAX_LEAVES:
            self._cut += 1
            return self._leaves[-1].y
        y = float(self.TOP + self.ROW * self._rows)
        self._rows += 1
        names: dict[str, int] = {}
        for run in sorted(runs):
            arm = self._arms.get(run, run)
            names[arm] = names.get(arm, 0) + 1
        label = ", ".join(f"{arm} ×{n}" if n > 1 else arm for arm, n in sorted(names.items()))  # noqa: RUF001
        self._leaves.append(Leaf(x, y, len(runs), label))
        return y


def _weight(n: int, total: int) -> float:
    return round(1.5 + 6.5 * n / total, 2)
