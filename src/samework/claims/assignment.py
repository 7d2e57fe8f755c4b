"""Was a field set by the arm, and do its values lie apart in time? What decides whether a factor was assigned.

One value in each arm, recorded on all of its runs, another one in the other: what nobody recorded on one run may have
had any value there. And runs of both in turn: what drifted in time explains as much as a value that came first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import UTC, datetime
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Final

from samework.claims.requirements import NEVER_COMPARED
from samework.equivalence.manifest_diff import REQUESTED, group_of
from samework.store.sql import load

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from samework.store.connection import StoreHandle

PACKAGE = "samework.claims"
SAME, WITHIN = "same", "within"
INTERLEAVED, BLOCKED, UNRECORDED = "interleaved", "blocked", "unrecorded"
"""How the values of a field lie in the order in which the runs of a task were started."""

_TWO = 2
_SECONDS: Final = re.compile(r"[0-9]{5,15}(?:\.[0-9]{1,9})?")


def read_assigned_factor(handle: StoreHandle, arm_a: str, arm_b: str) -> str | None:
    """The one field that tells two arms apart by design; None where there is none, or more than one.

    Over the whole store every run of an arm records one value of it, the arms have at least two runs each, and on the
    tasks that both ran their runs were started in turn.
    """
    if arm_a == arm_b:
        return None
    sides: dict[str, list[tuple[int, int, int, str]]] = defaultdict(list)
    for field, _, *counts in handle.db.execute(load(PACKAGE, "sql/arm_values"), {"a": arm_a, "b": arm_b}).fetchall():
        sides[field].append(tuple(counts))
    names = [field for field, arms in sides.items() if _is_assigned(field, arms)]
    if len(names) != 1:
        return None
    items: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for task, arm, started in handle.db.execute(load(PACKAGE, "sql/arm_order"), {"a": arm_a, "b": arm_b}).fetchall():
        items[task].append((arm, started))
    return names[0] if items and run_order(items.values()) == INTERLEAVED else None


def _is_assigned(field: str, arms: Sequence[tuple[int, int, int, str]]) -> bool:
    """arms: per arm (n_recorded, n_runs, n_values, value). A field of no group says nothing of how a run was made."""
    if field.endswith(REQUESTED) or field in NEVER_COMPARED or group_of(field) is None or len(arms) != _TWO:
        return False
    fixed = all(n_recorded == n_runs >= _TWO and n_values == 1 for n_recorded, n_runs, n_values, _ in arms)
    return fixed and arms[0][3] != arms[1][3]


def by_arm(runs: Iterable[tuple[Hashable, Hashable | None]]) -> str | None:
    """How a field lies to the arms, from (arm, value) of every run; value None: unrecorded.

    Returns: `same` where each arm has one value and no two share it, `within` where each arm has one value and some
        share it, None where the value varies within an arm, or a run does not record it.

    >>> by_arm([("x", 1), ("x", 1), ("y", 2)]), by_arm([("x", 1), ("y", 1), ("z", 2)]), by_arm([("x", 1), ("x", 2)])
    ('same', 'within', None)
    """
    values: dict[Hashable, set[Hashable | None]] = defaultdict(set)
    for arm, value in runs:
        values[arm].add(value)
    if any(len(found) > 1 or None in found for found in values.values()):
        return None
    distinct = {value for found in values.values() for value in found}
    return SAME if len(distinct) == len(values) else WITHIN


def run_order(items: Iterable[Sequence[tuple[str, str | None]]]) -> str:
    """How values lie in the order in which the runs of each item were started.

    Args:
        items: per item, its runs as (value, started).

    Returns: `blocked` where every item ran all of one value before all of another, the same one first everywhere: then
        the order explains what the value explains. `unrecorded` where an item's order is not known. Else `interleaved`.

    >>> run_order([[("x", "2026-01-01T10:00"), ("y", "2026-01-01T11:00")]])
    'blocked'
    """
    before: set[tuple[str, str]] = set()
    for item in items:
        if len({value for value, _ in item}) == 1:
            continue
        values = _in_order(item)
        if values is None:
            return UNRECORDED
        distinct = list(dict.fromkeys(values))
        if sum(one != other for one, other in pairwise(values)) >= len(distinct):
            return INTERLEAVED
        before.update(combinations(distinct, 2))
    return INTERLEAVED if any((later, first) in before for first, later in before) else BLOCKED


def _in_order(item: Sequence[tuple[str, str | None]]) -> list[str] | None:
    """Values by time; None where a time is missing or no time, zones mix, or two values share one."""
    timed: list[tuple[float, str]] = []
    zoned: set[bool] = set()
    for value, started in item:
        found = _moment(started or "")
        if found is None:
            return None
        zoned.add(found[1])
        timed.append((found[0], value))
    if len(zoned) > 1:
        return None
    timed.sort(key=lambda one: one[0])
    if any(one[0] == other[0] and one[1] != other[1] for one, other in pairwise(timed)):
        return None
    return [value for _, value in timed]


def _moment(started: str) -> tuple[float, bool] | None:
    """Seconds, and whether they are of a known zone; None where the text is no ISO 8601 and no count of seconds.

    >>> _moment("60000"), _moment("1970-01-01T00:01:00Z"), _moment("1970-01-01"), _moment("noon")
    ((60000.0, True), (60.0, True), (0.0, False), None)
    """
    text = started.strip()
    if _SECONDS.fullmatch(text):
        return float(text), True
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    is_zoned = found.tzinfo is not None
    return (found if is_zoned else found.replace(tzinfo=UTC)).timestamp(), is_zoned
