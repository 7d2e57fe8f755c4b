"""Was a field set by the arm? One value in each arm, recorded on all of its runs, another one in the other. Pure.

What nobody recorded on one run may have had any value there, so that it was not held fixed within the arm.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

SAME, WITHIN = "same", "within"


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
