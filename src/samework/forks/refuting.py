"""Tests told apart by a report that is not complete: it can confirm nothing, yet one node refutes.

Kept as cells (tree, suite, environment) and never as pairs of runs: what is refuted of two cells is refuted of all
their runs. At a node, runs of one cell with one digest count once.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from samework.equivalence.signatures import refuting_nodes
from samework.store.sql import load

if TYPE_CHECKING:
    from collections.abc import Iterable

    from samework.equivalence.signatures import Value
    from samework.forks.splits import Labels, Ways
    from samework.store.connection import StoreHandle

Kind = tuple["Value", tuple[int, ...]]
_NO_CELLS: tuple[int, ...] = ()


class Refuted(msgspec.Struct, frozen=True):
    """cells: run_key -> numbers of its cells that refute or are refuted. against: cell -> cells known to differ."""

    cells: dict[int, tuple[int, ...]] = {}
    against: dict[int, frozenset[int]] = {}

    def parts(self, ways: Ways, labels: Labels) -> bool:
        """True where all runs of one branch are known to test otherwise than all runs of another."""
        if not self.cells or not any(run.run_key in self.cells for way in ways for run in way):
            return False
        branches = {
            frozenset((label, self.cells.get(run.run_key, _NO_CELLS)) for run, label in zip(way, given, strict=True))
            for way, given in zip(ways, labels, strict=True)
        }
        return any(self._differ(one, other) for one, other in combinations(branches, 2))

    def _differ(self, one: Iterable[Kind], other: Iterable[Kind]) -> bool:
        return all(self._kinds_differ(a, b) for a in one for b in other)

    def _kinds_differ(self, a: Kind, b: Kind) -> bool:
        if a[0] is not None and b[0] is not None:
            return a[0] != b[0]
        return any(not self.against.get(cell, frozenset()).isdisjoint(b[1]) for cell in a[1])


def read_refuted(handle: StoreHandle) -> Refuted:
    """Cells that refute each other. Reads the temp tables of `equivalence.signatures.prepare`."""
    found = refuting_nodes(handle)
    if not found:
        return Refuted()
    numbers: dict[tuple[str, str, str], int] = {}
    against: dict[int, set[int]] = {}
    for row in found:
        places = ((row.task, row.group_key, cell) for cell in (row.cell_a, row.cell_b))
        a, b = (numbers.setdefault(place, len(numbers)) for place in places)
        against.setdefault(a, set()).add(b)
        against.setdefault(b, set()).add(a)
    columns = [list(column) for column in zip(*numbers, strict=True)]
    given = dict(zip(("tasks", "group_keys", "cells"), columns, strict=True))
    cells_of: dict[int, set[int]] = {}
    for run_key, *place in handle.db.execute(load("samework.forks", "sql/runs_of_cells"), given).fetchall():
        cells_of.setdefault(run_key, set()).add(numbers[place[0], place[1], place[2]])
    return Refuted(
        {run_key: tuple(sorted(cells)) for run_key, cells in cells_of.items()},
        {cell: frozenset(others) for cell, others in against.items()},
    )
