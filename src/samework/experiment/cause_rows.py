"""Rows of candidate causes from runs, ways and values: alias sets, tests, and the rung of wording. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from samework.claims.assignment import BLOCKED, INTERLEAVED, SAME, UNRECORDED, WITHIN, by_arm, run_order
from samework.model.causes import (
    CO_VARIES,
    NOT_DETECTED,
    TOGGLED,
    UNTESTABLE,
    CauseRow,
)
from samework.stats.association import Association, association
from samework.stats.families import holm
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

_NAME_LENGTH = 60
_N_NAMED = 6


class Placed(msgspec.Struct, frozen=True):
    """One run with the way it took; ways are compared within its task only."""

    run_key: int
    task: str
    arm: str
    way: tuple[tuple[int, str, int], ...]


class _Tested(msgspec.Struct, frozen=True):
    """An alias set with its test, None where the runs that record it took one way. is_assigned: set by the arm."""

    fields: tuple[str, ...]
    test: Association | None
    n_runs: int
    n_missing: int
    arm: str | None
    is_assigned: bool
    order: str


def cause_rows(
    runs: Sequence[Placed],
    values: Mapping[str, Mapping[int, str]],
    started: Mapping[int, str | None],
    *,
    level: float,
    n_self_disagreements: int | None,
) -> tuple[tuple[CauseRow, ...], tuple[str, ...]]:
    """Test every field against the ways that runs took.

    Args:
        runs: of tasks in which more than one way was taken.
        values: field -> run_key -> value, runs without one left out.
        started: run_key -> when it started, as recorded.
        level: of the family.
        n_self_disagreements: pairs of repeats that disagree within an arm; None: an arm has no repeats.

    Returns: one row for each set of fields that split the runs alike, most telling first; and the fields that do not
        vary in any task, which nothing here can tell apart from no cause.
    """
    ordered = sorted(runs, key=lambda run: (run.task, run.run_key))
    sets: dict[tuple[int | None, ...], list[str]] = defaultdict(list)
    constant = []
    for field in sorted(values):
        split = _split(ordered, values[field])
        if split is None:
            constant.append(field)
        else:
            sets[split].append(field)
    tested = [_tested(tuple(fields), ordered, values[fields[0]], started) for fields in sets.values()]
    adjusted = _adjusted(tested, level)
    rows = [_row(one, adjusted.get(one.fields), level, n_self_disagreements) for one in tested]
    rows.sort(key=lambda row: (row.p_holm is None, row.p, -(row.effect or 0), row.fields))
    return tuple(rows), tuple(constant)


def _adjusted(tested: Sequence[_Tested], level: float) -> dict[tuple[str, ...], float]:
    """Holm over the rows whose p could reach the level at all.

    The margins alone say which could, before any way is looked at, so that leaving out the others keeps the level.
    """
    family = [(one.fields, one.test.p) for one in tested if one.test is not None and one.test.smallest_p <= level]
    return dict(zip((fields for fields, _ in family), holm([p for _, p in family]), strict=True))


def _split(runs: Sequence[Placed], values: Mapping[int, str]) -> tuple[int | None, ...] | None:
    """How a field parts the runs of each task: numbers by first appearance; None where it parts none of them.

    Equal splits are equal evidence: no test of these runs can tell such fields apart.
    """
    numbers: dict[tuple[str, str], int] = {}
    sizes: dict[str, int] = defaultdict(int)
    split: list[int | None] = []
    for run in runs:
        value = values.get(run.run_key)
        if value is None:
            split.append(None)
            continue
        if (run.task, value) not in numbers:
            numbers[run.task, value] = sizes[run.task]
            sizes[run.task] += 1
        split.append(numbers[run.task, value])
    return tuple(split) if any(size > 1 for size in sizes.values()) else None


def _tested(
    fields: tuple[str, ...], runs: Sequence[Placed], values: Mapping[int, str], started: Mapping[int, str | None]
) -> _Tested:
    """The test of an alias set over the runs that record it."""
    items: dict[str, list[tuple[str, Hashable]]] = defaultdict(list)
    times: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for run in runs:
        if run.run_key in values:
            value = values[run.run_key]
            items[run.task].append((value, run.way))
            times[run.task].append((value, started.get(run.run_key)))
    is_forked = any(len({way for _, way in item}) > 1 for item in items.values())
    n_runs = sum(map(len, items.values()))
    return _Tested(
        fields,
        association(list(items.values())) if is_forked else None,
        n_runs,
        len(runs) - n_runs,
        _arm_relation(runs, values),
        by_arm((run.arm, values.get(run.run_key)) for run in runs) == SAME,
        run_order(times.values()),
    )


def _arm_relation(runs: Sequence[Placed], values: Mapping[int, str]) -> str | None:
    """How the field lies to the arms, task by task; the weakest relation holds."""
    tasks: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for run in runs:
        tasks[run.task].append((run.arm, values.get(run.run_key)))
    found = {by_arm(item) for item in tasks.values()}
    if None in found:
        return None
    return SAME if found == {SAME} else WITHIN


def _row(one: _Tested, p_holm: float | None, level: float, n_self_disagreements: int | None) -> CauseRow:
    rung = _rung(one, p_holm, level, n_self_disagreements)
    return CauseRow(
        fields=one.fields,
        rung=rung,
        effect=one.test.uncertainty_coefficient if one.test else None,
        p=one.test.p if one.test else 1.0,
        p_holm=p_holm,
        smallest_p=one.test.smallest_p if one.test else 1.0,
        method=one.test.method if one.test else "exact",
        n_tasks=one.test.n_items if one.test else 0,
        n_runs=one.n_runs,
        n_missing=one.n_missing,
        arm=one.arm,
        order=one.order,
        sentence=_sentence(one, rung, p_holm),
    )


def _rung(one: _Tested, p_holm: float | None, level: float, n_self_disagreements: int | None) -> str:
    """The highest wording that the evidence carries; every condition of a rung must be recorded."""
    if p_holm is None:
        return UNTESTABLE
    if p_holm > level:
        return NOT_DETECTED
    is_controlled = one.is_assigned and one.order == INTERLEAVED and n_self_disagreements == 0
    return TOGGLED if is_controlled and len(one.fields) == 1 else CO_VARIES


def _sentence(one: _Tested, rung: str, p_holm: float | None) -> str:
    shown = [shortened(name, _NAME_LENGTH) for name in one.fields]
    names = ", ".join(shown[:_N_NAMED]) + (f" and {len(shown) - _N_NAMED} more" if len(shown) > _N_NAMED else "")
    if one.test is None:
        return f"{names}: no test, for the runs that record it took one way in each task"
    if rung == UNTESTABLE:
        return f"{names}: no test, for with these runs p cannot fall below {one.test.smallest_p:.3g}"
    if rung == NOT_DETECTED:
        return f"{names}: not detected (p {p_holm:.3g})"
    if rung == TOGGLED:
        return f"the way taken is toggled by {names}, with self-repeat controls"
    return "; ".join([f"the way taken co-varies with {names}", *_aliases(one)])


def _aliases(one: _Tested) -> list[str]:
    found = []
    if len(one.fields) > 1:
        found.append("these fields cannot be told apart")
    if one.arm == SAME:
        found.append("nor from the arm" if found else "it cannot be told apart from the arm")
    elif one.arm == WITHIN:
        found.append("each arm has one value, and may have set more than is recorded")
    if one.order == BLOCKED:
        found.append(
            "nor from the order of starting" if found else "it cannot be told apart from the order of starting"
        )
    elif one.order == UNRECORDED:
        found.append("the order of starting is unrecorded")
    return found
