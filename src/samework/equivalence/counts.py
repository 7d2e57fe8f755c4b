"""Count the verdicts of all pairs without listing one: groupings and inclusion-exclusion, linear in runs.

For each component a pair of runs is incomparable, unequal or equal. The number of pairs that are at least comparable on
one set of components and equal on another is a sum of C(n, 2) over one grouping; from all such sums the number of pairs
in each exact state follows by differences along each component.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from samework.equivalence.components import COMPONENTS, State
from samework.store.sql import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from samework.store.connection import StoreHandle

# state = TRANSFORM @ (all pairs, comparable pairs, equal pairs)
_NEEDED = "sql/needed_components"
_TRANSFORM = np.array([[1, -1, 0], [0, 1, -1], [0, 0, 1]], dtype=np.int64)


class Selection:
    """Which runs' pairs are counted: all of a task, of some arms, or only those across two arms.

    Args:
        arms: keep runs of these arms; None for all.
        across: count only pairs of one run of each arm.
    """

    def __init__(self, *, arms: Sequence[str] | None = None, across: tuple[str, str] | None = None) -> None:
        self.arms = list(arms) if arms is not None else (list(across) if across else None)
        self.across = across

    def terms(self) -> list[tuple[int, list[str] | None]]:
        """Signed sets of arms whose pair counts add up to the selection."""
        if self.across is None or self.across[0] == self.across[1]:
            return [(1, self.arms)]
        return [(1, list(self.across)), (-1, [self.across[0]]), (-1, [self.across[1]])]

    def holds(self, arm_a: str, arm_b: str) -> bool:
        """True where a pair of runs of these arms is counted."""
        if self.arms is not None and not (arm_a in self.arms and arm_b in self.arms):
            return False
        return self.across is None or self.across[0] == self.across[1] or arm_a != arm_b


def state_counts(
    handle: StoreHandle, selection: Selection | None = None, *, beside: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, State], int]]:
    """Yield (task, states of the components, number of pairs) for every combination that occurs.

    Args:
        handle: an open store.
        selection: of which pairs; None for all.
        beside: plain facets whose state is counted along with the components.

    Reads the temp table `signature`. Components that cannot decide in a task are left out there: INCOMPARABLE, or for
    `ran`, EQUAL where no placed report is vacuous.
    """
    handle.db.execute(f"create or replace temp table task_pattern as {load('samework.equivalence', _NEEDED)}")
    patterns = f"select distinct {', '.join(COMPONENTS)} from task_pattern order by all"
    for present in handle.db.execute(patterns).fetchall():
        names = [name for name, here in zip(COMPONENTS, present, strict=True) if here] + list(beside)
        where = " and ".join(f"{'' if here else 'not '}{name}" for name, here in zip(COMPONENTS, present, strict=True))
        default = dict.fromkeys(COMPONENTS, State.INCOMPARABLE) | {"ran": State.EQUAL}
        for task, vector, n_pairs in _vectors(handle, names, where, selection or Selection()):
            yield task, default | dict(zip(names, vector, strict=True)), n_pairs


def recorded_facets(handle: StoreHandle, facets: Sequence[str]) -> set[str]:
    """Plain facets that some run has at all; of the others every pair is unknown. Reads the temp table `signature`."""
    has = ", ".join(f"coalesce(bool_or({facet}_c is not null), false)" for facet in facets)
    (found,) = handle.db.execute(f"select {has} from signature").fetchall()
    return {facet for facet, here in zip(facets, found, strict=True) if here}


def facet_counts(
    handle: StoreHandle, facet: str, selection: Selection | None = None
) -> Iterator[tuple[str, State, int]]:
    """Yield (task, state, number of pairs) of one plain facet; reads the temp table `signature`."""
    handle.db.execute("create or replace temp table task_pattern as select distinct task from signature")
    for task, (state,), n_pairs in _vectors(handle, [facet], "true", selection or Selection()):
        yield task, state, n_pairs


def _vectors(
    handle: StoreHandle, names: list[str], where: str, selection: Selection
) -> Iterator[tuple[str, tuple[State, ...], int]]:
    tasks, counts = _pattern_counts(handle, names, where, selection)
    for place, vector in enumerate(product(State, repeat=len(names))):
        for task_place in np.nonzero(counts[:, place])[0]:
            yield tasks[task_place], vector, int(counts[task_place, place])


def _pattern_counts(
    handle: StoreHandle, names: list[str], where: str, selection: Selection
) -> tuple[list[str], NDArray[np.int64]]:
    query = f"select task from task_pattern where {where} order by task"
    tasks = [row[0] for row in handle.db.execute(query).fetchall()]
    counts = np.zeros((len(tasks), 3 ** len(names)), dtype=np.int64)
    for sign, arms in selection.terms():
        columns = handle.db.execute(_collapsed(names, where), {"arms": arms}).fetchnumpy()
        values = [
            np.ma.filled(np.ma.asarray(columns[name], dtype=np.int64), -1)
            for name in ("task", "n", *_code_names(names))
        ]
        counts += sign * _comparable_pairs(values[0], values[1], values[2:], len(tasks))
    shaped = counts.reshape((len(tasks), *(3,) * len(names)))
    for axis in range(1, len(names) + 1):
        shaped = np.moveaxis(np.tensordot(_TRANSFORM, shaped, axes=(1, axis)), 0, axis)
    return tasks, shaped.reshape(len(tasks), -1)


def _code_names(names: list[str]) -> list[str]:
    return [column for name in names for column in (f"{name}_c", name)]


def _comparable_pairs(
    task: NDArray[np.int64], n: NDArray[np.int64], codes: list[NDArray[np.int64]], n_tasks: int
) -> NDArray[np.int64]:
    """Pairs by task and by choice of level per component: all, comparable, or equal.

    Args:
        task: task of each distinct signature, 0-based.
        n: runs that have it.
        codes: per component two columns, comparable and value; -1 cannot be compared.
        n_tasks: number of tasks.

    Returns:
        int64 array (n_tasks, 3 ** components); groups are refined one component at a time.
    """
    if not codes:
        total = np.bincount(task, weights=n, minlength=n_tasks).astype(np.int64)
        return (total * (total - 1) // 2)[:, None]
    found = np.zeros((n_tasks, 3 ** (len(codes) // 2)), dtype=np.int64)

    def refine(group: NDArray[np.int64], rows: NDArray[np.int64], depth: int, place: int) -> None:
        if depth == len(codes) // 2:
            sizes = np.bincount(group, weights=n[rows]).astype(np.int64)
            first = np.zeros(len(sizes), dtype=np.int64)
            first[group] = task[rows]
            np.add.at(found[:, place], first, sizes * (sizes - 1) // 2)
            return
        refine(group, rows, depth + 1, place * 3)
        for level, code in ((1, codes[2 * depth]), (2, codes[2 * depth + 1])):
            known = code[rows] >= 0
            if known.any():
                kept = rows[known]
                pair = group[known] * (int(code.max()) + 1) + code[kept]
                refine(np.unique(pair, return_inverse=True)[1], kept, depth + 1, place * 3 + level)

    refine(task.copy(), np.arange(len(task)), 0, 0)
    return found


def _collapsed(names: list[str], where: str) -> str:
    """Runs with one signature become one row with their number; task and digests become small numbers."""
    columns = "".join(
        f", {name}_c as {name}_k, case when {name}_c is not null then {name} end as {name}_v" for name in names
    )
    runs = (
        f"select place{columns}, count(*) as n from signature "
        f"join (select task, row_number() over (order by task) - 1 as place from task_pattern where {where}) "
        "using (task) where ($arms is null or list_contains($arms, arm)) group by all"
    )
    tables = [f"rows as materialized ({runs})"]
    joins = ""
    for name in names:
        distinct = f"select distinct {name}_k, {name}_v from rows where {name}_k is not null"
        tables.append(
            f"{name}_codes as (select {name}_k, {name}_v, min(code) over (partition by {name}_k) as {name}_c, "
            f"code as {name} from (select *, row_number() over () as code from ({distinct})))"
        )
        joins += f" left join {name}_codes using ({name}_k, {name}_v)"
    coded = "".join(f", {name}_c, {name}" for name in names)
    return f"with {', '.join(tables)} select place as task{coded}, n from rows{joins}"
