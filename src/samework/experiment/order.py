"""Was the order of runs interleaved? Where one arm ran first and the other later, time and arm are one and the same."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.experiment.arms import PlacedRun

_NUMBER: Final = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")


class Order(StrEnum):
    """How two arms lie in time."""

    ALIASED = "aliased"
    FIXED = "fixed"
    INTERLEAVED = "interleaved"
    UNKNOWN = "unknown"


def moment(started: str | None) -> float | None:
    """A recorded start as seconds; None where it is missing or no time. Without a zone it is taken as UTC.

    >>> moment("1970-01-01T00:01:00Z"), moment("60"), moment("noon")
    (60.0, 60.0, None)
    """
    if started is None:
        return None
    text = started.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()


def order(runs_a: Sequence[PlacedRun], runs_b: Sequence[PlacedRun]) -> Order:
    """How the runs of two arms lie in time.

    ALIASED: every run of one arm started before every run of the other. FIXED: so it is within each item, though not
    over all. UNKNOWN: the start of some run is not recorded, and what is recorded does not show them interleaved.
    """
    a, b = _moments(runs_a), _moments(runs_b)
    known_a, known_b = [at for _, at in a if at is not None], [at for _, at in b if at is not None]
    whole = len(known_a) == len(a) and len(known_b) == len(b)
    if not known_a or not known_b:
        return Order.UNKNOWN
    if not _apart(known_a, known_b):
        return Order.FIXED if whole and _fixed(a, b) else Order.INTERLEAVED
    return Order.ALIASED if whole else Order.UNKNOWN


def _moments(runs: Sequence[PlacedRun]) -> list[tuple[str, float | None]]:
    return [(run.task, moment(run.started)) for run in runs]


def _apart(a: Sequence[float], b: Sequence[float]) -> bool:
    return max(a) < min(b) or max(b) < min(a)


def _fixed(a: Sequence[tuple[str, float | None]], b: Sequence[tuple[str, float | None]]) -> bool:
    """True where the same arm comes first, wholly, in every item that both ran, and there are several such items."""
    in_a, in_b = _by_task(a), _by_task(b)
    common = in_a.keys() & in_b.keys()
    firsts = {max(in_a[task]) < min(in_b[task]) if _apart(in_a[task], in_b[task]) else None for task in common}
    return len(common) > 1 and len(firsts) == 1 and None not in firsts


def _by_task(found: Sequence[tuple[str, float | None]]) -> dict[str, list[float]]:
    made: dict[str, list[float]] = {}
    for task, at in found:
        if at is not None:
            made.setdefault(task, []).append(at)
    return made
