"""Which run belongs to which arm: by the arm's name, or by the value of a manifest field.

A run whose field nobody recorded is listed as unplaced, never dropped and never given a default.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import msgspec

from samework.errors import EvidenceError, UsageError
from samework.model.experiment import ArmSummary, Unplaced
from samework.model.words import Absence
from samework.secrets.finding import without_secrets
from samework.store.sql import load
from samework.text import shortened, storable, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.store.connection import StoreHandle

Row = tuple[Any, ...]

MOST_ARMS: Final = 12
_LEAST_ARMS: Final = 2
_SHOWN: Final = 6


class PlacedRun(msgspec.Struct, frozen=True, gc=False):
    """A run and the arm that it is in here. own_arm: the arm it was ingested under."""

    run_key: int
    run_id: str
    task: str
    arm: str
    own_arm: str
    started: str | None


class Design(msgspec.Struct, frozen=True):
    """Arms, and the runs of the items that at least two of them ran. n_uncommon: items that one arm alone ran.

    everyone: all runs of the store or task, by their own arms: state may come from a run outside the arms.
    """

    arms: tuple[str, ...]
    by: str | None
    runs: tuple[PlacedRun, ...]
    everyone: tuple[PlacedRun, ...]
    unplaced: tuple[Unplaced, ...]
    n_uncommon: int

    def pairs(self) -> list[tuple[str, str]]:
        """Every two arms, in the order given."""
        return [(a, b) for place, a in enumerate(self.arms) for b in self.arms[place + 1 :]]

    def items(self) -> dict[str, dict[str, list[PlacedRun]]]:
        """Task -> arm -> its runs."""
        found: dict[str, dict[str, list[PlacedRun]]] = {}
        for run in self.runs:
            found.setdefault(run.task, {}).setdefault(run.arm, []).append(run)
        return found


def design(
    handle: StoreHandle,
    *,
    arms: Sequence[str] | None,
    by: str | None = None,
    task: str | None = None,
    redact: bool = False,
) -> Design:
    """Place the runs of the store, or of one task, in arms.

    Args:
        handle: an open store.
        arms: arms by name, in the order of the comparison; with `by` values of the field, or None for all of them.
        by: a manifest field whose values are the arms.
        task: only this task.
        redact: name arms that are values by the digest of what looks like a secret in them.

    Raises:
        UsageError: fewer than two arms are named, one is named twice, or the field has too many values.
        EvidenceError: no two arms have a task in common, or fewer than two values are recorded.
    """
    given = {"task": task, "field": None if by is None else storable(by)}
    rows = handle.db.execute(load("samework.experiment", "sql/experiment_runs"), given).fetchall()
    if by is None:
        names = _checked(list(arms or ()))
        placed = [_placed(row, row[3]) for row in rows if row[3] in set(names)]
        unplaced: list[Unplaced] = []
    else:
        names, placed, unplaced = _by_field(rows, by, arms, redact=redact)
    common, n_uncommon = _common(placed)
    if not common:
        raise _nothing_common(names, placed)
    everyone = tuple(_placed(row, row[3]) for row in rows)
    return Design(tuple(names), by, tuple(common), everyone, tuple(unplaced), n_uncommon)


def _placed(row: Row, arm: str) -> PlacedRun:
    return PlacedRun(row[0], row[1], row[2], arm, row[3], row[4])


def _checked(names: list[str]) -> list[str]:
    if len(names) < _LEAST_ARMS or len(set(names)) < len(names):
        raise UsageError(
            "an experiment compares two or more different arms, such as --arms retained,recomputed",
            hint="samework runs",
        )
    if len(names) > MOST_ARMS:
        raise UsageError(f"an experiment compares at most {MOST_ARMS} arms; {len(names)} are named")
    return names


def _by_field(
    rows: list[Row], field: str, wanted: Sequence[str] | None, *, redact: bool
) -> tuple[list[str], list[PlacedRun], list[Unplaced]]:
    values = sorted({row[5] for row in rows if row[5] is not None})
    labels = {value: _label(field, text, redact=redact) for value, text in _texts(values).items()}
    asked = None if wanted is None else [_asked(name, field, labels, redact=redact) for name in wanted]
    kept = _wanted(list(labels.values()), field, asked)
    placed, unplaced = [], []
    for row in rows:
        if row[5] is None:
            reason = row[6] or Absence.UNRECORDED.value
            unplaced.append(Unplaced(row[1], row[2], reason))
        elif labels[row[5]] in kept:
            placed.append(_placed(row, labels[row[5]]))
    return kept, placed, unplaced


def _texts(values: list[str]) -> dict[str, str]:
    """Canonical JSON of a value -> text of it; a text that looks like a number keeps its quotation marks."""
    plain = {value: json.loads(value) for value in values}
    return {value: found if isinstance(found, str) and found not in values else value for value, found in plain.items()}


def _label(field: str, text: str, *, redact: bool) -> str:
    return f"{field}={without_secrets(field, text) if redact else text}"


def _asked(name: str, field: str, labels: dict[str, str], *, redact: bool) -> str:
    """The label that is asked for: by itself, or by its value."""
    if name in labels.values():
        return name
    return _label(field, name.removeprefix(f"{field}="), redact=redact)


def _wanted(known: list[str], field: str, asked: Sequence[str] | None) -> list[str]:
    if asked is None:
        if len(known) < _LEAST_ARMS:
            raise EvidenceError(
                f"no two values of {shortened(field, 60)} are recorded, so it makes no arms",
                effect=f"Recorded: {_some(known)}." if known else "No run records it.",
                hint="samework query --named missing-manifest-fields",
            )
        if len(known) > MOST_ARMS:
            raise UsageError(
                f"{shortened(field, 60)} has {len(known)} values, more than {MOST_ARMS} arms: {_some(known)}",
                hint="name those to compare with --arms",
            )
        return known
    for name in asked:
        if name not in known:
            raise UsageError(f"no run has {shortened(name, 80)}; known: {_some(known)}", hint="samework runs")
    return _checked(list(asked))


def _some(names: list[str]) -> str:
    shown = ", ".join(shortened(name, 60) for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _common(placed: list[PlacedRun]) -> tuple[list[PlacedRun], int]:
    """Runs of the items that two arms ran, and the number of other items."""
    arms: dict[str, set[str]] = defaultdict(set)
    for run in placed:
        arms[run.task].add(run.arm)
    kept = [run for run in placed if len(arms[run.task]) >= _LEAST_ARMS]
    return kept, sum(len(found) < _LEAST_ARMS for found in arms.values())


def _nothing_common(names: list[str], placed: list[PlacedRun]) -> EvidenceError:
    tasks: dict[str, set[str]] = {name: set() for name in names}
    for run in placed:
        tasks[run.arm].add(run.task)
    counts = "; ".join(f"{visible(name, one_line=True)} ran {len(found):,}" for name, found in tasks.items())
    return EvidenceError(
        "no two of the arms have a task in common, and runs are compared within one task only",
        effect=f"Tasks by arm: {counts}.",
        hint="Run every arm on the same tasks, at least twice on each.",
        code="no-common-task",
    )


def summaries(found: Design) -> tuple[ArmSummary, ...]:
    """Runs, items and repeats of each arm over the common items."""
    made = []
    items = found.items()
    for arm in found.arms:
        sizes = [len(of_arm[arm]) for of_arm in items.values() if arm in of_arm]
        made.append(
            ArmSummary(
                arm,
                n_runs=sum(sizes),
                n_items=len(sizes),
                n_repeated=sum(size > 1 for size in sizes),
                repeats=(min(sizes, default=0), max(sizes, default=0)),
            )
        )
    return tuple(made)
