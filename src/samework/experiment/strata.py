"""Success of two arms within strata of items: a manifest field, or the beginning of the task's name.

The tables of CMH and Breslow-Day take the items of the arms as different ones, which they are not: they are shown
beside the paired flips of each stratum, and are no claim.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from samework.model.experiment import Strata, StratumFlips
from samework.secrets.finding import without_secrets
from samework.secrets.names import is_secret_name
from samework.stats.exact import cochran_mantel_haenszel, stratified_exact
from samework.stats.paired import mcnemar
from samework.store.sql import load
from samework.text import storable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.experiment.arms import PlacedRun
    from samework.experiment.evidence import Room
    from samework.experiment.flips import TalliesByTask

TASK_PREFIX: Final = "task-prefix"
_PREFIX: Final = re.compile(r"(.+?)(?:__|[-/:.@]|$)", re.DOTALL)


def strata_of_items(
    room: Room, items: dict[str, dict[str, list[PlacedRun]]], by: str, *, redact: bool = False
) -> dict[str, str | None]:
    """Task -> stratum; None where it is unrecorded for a run, or not one for all runs of the item.

    redact: name strata that are values by the digest of what looks like a secret in them.
    """
    if by == TASK_PREFIX:
        return {task: found.group(1) if (found := _PREFIX.match(task)) else task for task in items}
    text = load("samework.experiment", "sql/experiment_field")
    values = dict(room.handle.db.execute(text, {"field": storable(by)}).fetchall())
    made: dict[str, str | None] = {}
    for task, arms in items.items():
        recorded = {values.get(run.run_key) for runs in arms.values() for run in runs}
        stratum = next(iter(recorded)) if len(recorded) == 1 else None
        made[task] = _shown(by, stratum) if redact and stratum is not None else stratum
    return made


def _shown(field: str, value: str) -> str:
    """The canonical JSON of a value without secrets; the digest of a text's is that of the text without its quotes."""
    found = json.loads(value)
    return without_secrets(field, found if isinstance(found, str) and is_secret_name(field) else value)


def strata(tallies: TalliesByTask, of_item: dict[str, str | None], by: str, arms: tuple[str, str]) -> Strata:
    """Flips of two arms within each stratum, over items whose runs agree in each arm."""
    a, b = arms
    groups: dict[str, list[tuple[int, int]]] = defaultdict(list)
    n_unplaced = n_mixed = 0
    for task, found in tallies.items():
        known = [found[arm] for arm in arms if arm in found and found[arm].n_known]
        if len(known) < len(arms):
            continue
        stratum = of_item.get(task)
        if stratum is None:
            n_unplaced += 1
        elif any(tally.succeeded and tally.failed for tally in known):
            n_mixed += 1
        else:
            groups[stratum].append((int(known[0].succeeded > 0), int(known[1].succeeded > 0)))
    rows = tuple(_stratum(name, pairs) for name, pairs in sorted(groups.items()))
    if n_mixed:
        reason = f"repeats disagree in {n_mixed:,} items, which are left out; no combined test"
        return Strata(by, a, b, rows, n_unplaced, reason=reason)
    return _combined(Strata(by, a, b, rows, n_unplaced))


def _stratum(name: str, pairs: Sequence[tuple[int, int]]) -> StratumFlips:
    only_a, only_b = sum(x > y for x, y in pairs), sum(y > x for x, y in pairs)
    return StratumFlips(
        name,
        len(pairs),
        only_a,
        only_b,
        success_a=sum(x for x, _ in pairs),
        success_b=sum(y for _, y in pairs),
        p=mcnemar(only_a, only_b).exact,
    )


def _combined(made: Strata) -> Strata:
    import msgspec

    tables = [
        ((row.success_a, row.n_items - row.success_a), (row.success_b, row.n_items - row.success_b))
        for row in made.strata
    ]
    if not any(0 < one[0] + other[0] < sum(one) + sum(other) for one, other in tables):
        return msgspec.structs.replace(made, reason="no stratum leaves anything open: all succeed, or all fail")
    cmh = cochran_mantel_haenszel(tables)
    limits = cmh.pooled_interval
    return msgspec.structs.replace(
        made,
        cmh_p=cmh.p_corrected,
        pooled_odds_ratio=_finite(cmh.pooled_odds_ratio),
        pooled_interval=(limits.low, limits.high) if _finite(limits.low) and _finite(limits.high) else None,
        breslow_day_p=_finite(cmh.breslow_day_p),
        exact_p=stratified_exact(tables).two_sided,
    )


def _finite(value: float) -> float | None:
    """JSON has no infinity and no NaN."""
    from math import isfinite

    return value if isfinite(value) else None
