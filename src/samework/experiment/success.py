"""What counts as the success of a run: a grader's recorded outcome, or tests that all passed; one evidence for all.

A run whose outcome nobody recorded is unknown; it is neither a failure nor left out in silence.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import msgspec

from samework.errors import UsageError
from samework.model.experiment import SuccessRate
from samework.model.words import Grade
from samework.store.sql import load
from samework.text import shortened

if TYPE_CHECKING:
    from samework.experiment.arms import PlacedRun
    from samework.experiment.evidence import Room

TESTS: Final = "tests"
_DEFAULT_THRESHOLD: Final = 1.0
_PREFERRED: Final = ("resolved", "reward")
_WRITTEN: Final = re.compile(r"(?P<name>[^<>=]+?)\s*(?:>=\s*(?P<threshold>-?[0-9]+(?:\.[0-9]+)?))?")


class Tally(msgspec.Struct, frozen=True):
    """Runs of one item under one arm by what is known of their success."""

    succeeded: int
    failed: int
    unknown: int

    @property
    def n_known(self) -> int:
        """Runs whose success is known."""
        return self.succeeded + self.failed

    def outcomes(self) -> tuple[int, ...]:
        """The known runs as 1 and 0."""
        return (1,) * self.succeeded + (0,) * self.failed


class Successes(msgspec.Struct, frozen=True):
    """Success of every run under one evidence. by_run: run_key -> success, None unknown."""

    evidence: str
    grade: Grade
    by_run: dict[int, bool | None]

    def tallies(self, items: dict[str, dict[str, list[PlacedRun]]]) -> dict[str, dict[str, Tally]]:
        """Task -> arm -> its runs by success."""
        return {task: {arm: self._tally(runs) for arm, runs in arms.items()} for task, arms in items.items()}

    def _tally(self, runs: list[PlacedRun]) -> Tally:
        known = [self.by_run.get(run.run_key) for run in runs]
        return Tally(known.count(True), known.count(False), known.count(None))

    def rates(self, arms: tuple[str, ...], runs: tuple[PlacedRun, ...]) -> tuple[SuccessRate, ...]:
        """Runs of each arm by success."""
        found: dict[str, list[PlacedRun]] = defaultdict(list)
        for run in runs:
            found[run.arm].append(run)
        tallies = {arm: self._tally(found[arm]) for arm in arms}
        return tuple(SuccessRate(arm, tally.succeeded, tally.failed, tally.unknown) for arm, tally in tallies.items())


def successes(room: Room, asked: str | None) -> Successes | None:
    """Success of the placed runs; reads the temp table `placed_run`. None where no run has any such evidence.

    Args:
        room: the store.
        asked: `tests`, the name of an outcome, or NAME>=NUMBER; None takes the evidence that most runs have, a grader's
            before tests. A number without a threshold counts from 1.

    Raises:
        UsageError: no placed run has what was asked for.
    """
    by_name: dict[str, dict[int, object]] = defaultdict(dict)
    for run_key, name, value in room.handle.db.execute(
        load("samework.experiment", "sql/experiment_outcomes")
    ).fetchall():
        by_name[name][run_key] = json.loads(value)
    text = load("samework.experiment", "sql/experiment_tests")
    tests: dict[int, bool | None] = dict(room.handle.db.execute(text, {"strict": room.strict}).fetchall())
    if asked is not None:
        return _asked(asked, by_name, tests)
    found = [_of_outcome(name, by_name[name], None) for name in sorted(by_name, key=_preference)]
    found.append(Successes(TESTS, Grade.DIRECT, tests))
    best = max(found, key=_n_known)
    return best if _n_known(best) else None


def _preference(name: str) -> tuple[int, str]:
    return (_PREFERRED.index(name) if name in _PREFERRED else len(_PREFERRED), name)


def _n_known(found: Successes) -> int:
    return sum(value is not None for value in found.by_run.values())


def _asked(asked: str, by_name: dict[str, dict[int, object]], tests: dict[int, bool | None]) -> Successes:
    if asked == TESTS:
        return Successes(TESTS, Grade.DIRECT, tests)
    written = _WRITTEN.fullmatch(asked.strip())
    name = written["name"] if written is not None else ""
    if written is None or name not in by_name:
        known = ", ".join(shortened(each, 40) for each in [*sorted(by_name, key=_preference), TESTS])
        raise UsageError(
            f"success cannot be read from {shortened(asked, 60)!r}; these runs have {known}",
            hint="--success resolved, --success 'reward>=0.5' or --success tests",
        )
    return _of_outcome(name, by_name[name], float(written["threshold"]) if written["threshold"] else None)


def _of_outcome(name: str, values: dict[int, object], threshold: float | None) -> Successes:
    """Success by a grader's value; text, which orders nothing, is unknown."""
    limit = _DEFAULT_THRESHOLD if threshold is None else threshold
    found: dict[int, bool | None] = {}
    is_number = False
    for key, value in values.items():
        if isinstance(value, bool):
            found[key] = value
        elif isinstance(value, int | float):
            found[key] = value >= limit
            is_number = True
        else:
            found[key] = None
    return Successes(f"{name}>={limit:g}" if is_number else name, Grade.ASSERTED, found)
