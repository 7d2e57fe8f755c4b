"""What an experiment reads: verdicts of all pairs, counted by item and arm, and labels of runs; linear in runs.

Counts within an arm and across two come from the groupings of `equivalence.counts`, corrected for the pairs whose
verdict is no equality of digests. No pair is visited but those.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from samework.equivalence.blocks import tests_labels, token_labels, tree_labels
from samework.equivalence.components import State, tests_verdict, tokens_verdict, tree_verdict
from samework.equivalence.counts import Selection, facet_counts, recorded_facets, state_counts
from samework.equivalence.judge import judge
from samework.equivalence.lattice import ANOMALIES
from samework.equivalence.signatures import (
    Exceptions,
    corrections,
    load_exceptions,
    load_signatures,
    placed_runs,
    prepare,
    treeless_tasks,
)
from samework.errors import EvidenceError
from samework.model.words import Facet, Verdict
from samework.store.sql import load
from samework.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from samework.experiment.arms import PlacedRun
    from samework.store.connection import StoreHandle

LEVELS: Final = ("tokens", "text", "actions", "tree", "tests", "outcome")
_JOINT: Final = ("tokens", "tree", "tests")
_PLAIN: Final = ("text", "actions", "outcome")
_PLACE: Final = {Verdict.SAME: 0, Verdict.DIFFERENT: 1, Verdict.UNKNOWN: 2}
_OF_STATE: Final = {State.EQUAL: Verdict.SAME, State.UNEQUAL: Verdict.DIFFERENT, State.INCOMPARABLE: Verdict.UNKNOWN}


class Pairs(NamedTuple):
    """Numbers of pairs by verdict; pairs to which the level does not apply are in none."""

    same: int
    different: int
    unknown: int

    def __add__(self, other: Pairs) -> Pairs:  # type: ignore[override]
        return Pairs(self.same + other.same, self.different + other.different, self.unknown + other.unknown)


NO_PAIRS: Final = Pairs(0, 0, 0)
ByTask = dict[str, Pairs]
Counts = dict[tuple[str, tuple[str, ...]], ByTask]
"""(level, (arm,) or (arm a, arm b)) -> task -> pairs within the arm, or of one run of each."""


class Evidence(msgspec.Struct, frozen=True):
    """All that the statistics of an experiment are made of.

    labels: level -> run_key -> label; runs of one task with equal labels are the same there, None is unknown.
    not_applicable: level -> tasks that have nothing to compare there.
    """

    counts: Counts
    labels: dict[str, dict[int, int | None]]
    not_applicable: dict[str, frozenset[str]]

    def pairs(self, level: str, *arms: str) -> ByTask:
        """Task -> pairs within one arm, or across two in either order; tasks without such a pair are left out."""
        found = self.counts.get((level, arms))
        return found if found is not None else self.counts.get((level, arms[::-1]), {})


@dataclass(frozen=True)
class Room:
    """The signatures of a store or task, prepared once; experiments over several sets of arms read it."""

    handle: StoreHandle
    task: str | None
    strict: bool
    exceptions: Exceptions
    treeless: frozenset[str]


def prepared(handle: StoreHandle, *, task: str | None, strict: bool) -> Room:
    """Fill the temp tables of `equivalence.signatures`, and keep the signatures of all runs as `whole_signature`."""
    prepare(handle, task=task, strict=strict)
    handle.db.execute("create or replace temp table whole_signature as from signature")
    found = load_exceptions(handle, task=task, strict=strict)
    return Room(handle, task, strict, found, treeless_tasks(handle))


def evidence(
    room: Room, runs: Iterable[PlacedRun], levels: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> Evidence:
    """Count verdicts by level and item, within each arm that `pairs` name and across each of them.

    Raises:
        EvidenceError: runs of one class are known to differ (A5).
    """
    _place(room.handle, runs)
    arms = sorted({arm for pair in pairs for arm in pair})
    found = _Counted(room, levels)
    counts: _Tallies = {}
    for arm in arms:
        for level, by_task in found.of([arm]).items():
            counts[level, (arm,)] = by_task
    for a, b in pairs:
        for level, by_task in found.of([a, b]).items():
            within = counts[level, (a,)], counts[level, (b,)]
            counts[level, (a, b)] = _without(by_task, *within)
    _correct(room, counts, levels, pairs)
    labels, not_applicable = _labels(room, levels)
    _take_out(counts, not_applicable)
    return Evidence(_plain(counts), labels, not_applicable)


def _place(handle: StoreHandle, runs: Iterable[PlacedRun]) -> None:
    """Narrow the temp table `signature` to the runs of the experiment, under its arms."""
    rows = [(run.run_key, run.arm) for run in runs]
    given = {"keys": [row[0] for row in rows], "arms": [row[1] for row in rows]}
    handle.db.execute(
        "create or replace temp table placed_run as "
        "select unnest($keys::bigint[]) as run_key, unnest($arms::text[]) as arm",
        given,
    )
    text = load("samework.experiment", "sql/experiment_signature")
    handle.db.execute(f"create or replace temp table signature as {text}")


_Tally = dict[str, list[int]]
_Tallies = dict[tuple[str, tuple[str, ...]], _Tally]


class _Counted:
    """Verdicts of all pairs among the runs of some arms, by level and task."""

    def __init__(self, room: Room, levels: Sequence[str]) -> None:
        self._room = room
        self._joint = [level for level in _JOINT if level in levels]
        self._plain = [level for level in _PLAIN if level in levels]
        self._recorded = recorded_facets(room.handle, self._plain) if self._plain else set()
        self._sizes: dict[str, dict[str, int]] = {}
        for task, arm, size in room.handle.db.execute(
            "select task, arm, count(*) from signature group by all"
        ).fetchall():
            self._sizes.setdefault(task, {})[arm] = size

    def of(self, arms: list[str]) -> dict[str, _Tally]:
        """Level -> task -> numbers of same, different and unknown pairs."""
        found: dict[str, _Tally] = {level: defaultdict(_zeros) for level in (*self._joint, *self._plain)}
        selection = Selection(arms=arms)
        if self._joint:
            for task, states, n_pairs in state_counts(self._room.handle, selection):
                for level, verdict in self._verdicts(task, states):
                    _add(found[level][task], verdict, n_pairs)
        for level in self._plain:
            if level in self._recorded:
                for task, state, n_pairs in facet_counts(self._room.handle, level, selection):
                    _add(found[level][task], _OF_STATE[state], n_pairs)
            else:
                for task, sizes in self._sizes.items():
                    n_runs = sum(sizes.get(arm, 0) for arm in arms)
                    found[level][task][_PLACE[Verdict.UNKNOWN]] += n_runs * (n_runs - 1) // 2
        return found

    def _verdicts(self, task: str, states: dict[str, State]) -> Iterator[tuple[str, Verdict]]:
        if "tokens" in self._joint:
            yield "tokens", tokens_verdict(states)[0]
        if "tree" in self._joint:
            yield "tree", tree_verdict(states, applies=task not in self._room.treeless)[0]
        if "tests" in self._joint:
            yield "tests", tests_verdict(states)[0]


def _zeros() -> list[int]:
    return [0, 0, 0]


def _add(tally: list[int], verdict: Verdict, n_pairs: int) -> None:
    place = _PLACE.get(verdict)
    if place is not None:
        tally[place] += n_pairs


def _without(both: _Tally, *within: _Tally) -> _Tally:
    """Pairs across two arms: those among the runs of both, without those within each."""
    found: _Tally = defaultdict(_zeros)
    for task, tally in both.items():
        found[task] = [n - sum(part[task][place] for part in within) for place, n in enumerate(tally)]
    return found


def _correct(room: Room, counts: _Tallies, levels: Sequence[str], pairs: Sequence[tuple[str, str]]) -> None:
    """Take each explicit pair out as its digests alone would judge it, and put it in as it is judged."""
    if not room.exceptions.pairs():
        return
    signed = load_signatures(room.handle, task=room.task, strict=room.strict, prepared=True)
    signed = msgspec.structs.replace(signed, exceptions=room.exceptions, treeless=room.treeless)
    known = set(pairs)
    for a, b, signatures, sign in corrections(signed):
        arms = (a.arm,) if a.arm == b.arm else (a.arm, b.arm) if (a.arm, b.arm) in known else (b.arm, a.arm)
        judged = judge(a, b, signatures)
        for level in levels:
            tally = counts.get((level, arms))
            if tally is not None:
                _add(tally[a.task], judged.facets[Facet(level)].verdict, sign)


def _labels(room: Room, levels: Sequence[str]) -> tuple[dict[str, dict[int, int | None]], dict[str, frozenset[str]]]:
    handle = room.handle
    rows = handle.db.execute(load("samework.experiment", "sql/experiment_labels")).fetchall()
    labels: dict[str, dict[int, int | None]] = {
        level: {row[0]: row[place] for row in rows} for place, level in enumerate(_PLAIN, start=1) if level in levels
    }
    calling = {row[0] for row in rows if not row[4]}
    makers = {"tokens": token_labels, "tree": tree_labels, "tests": tests_labels}
    asked = [level for level in _JOINT if level in levels]
    silent, by_task = [], placed_runs(handle)
    for level in asked:
        labels[level] = {}
    for task, runs in by_task.items():
        for level in asked:
            labels[level].update(makers[level](runs))
        if not any(run.run_key in calling for run in runs):
            silent.append(task)
    return labels, {"actions": frozenset(silent), "tree": frozenset(set(by_task) & room.treeless)}


def _take_out(counts: _Tallies, not_applicable: dict[str, frozenset[str]]) -> None:
    """Agreement about nothing, such as of runs without a call, is no agreement."""
    for (level, _), by_task in counts.items():
        for task in not_applicable.get(level, frozenset()):
            by_task.pop(task, None)


def _plain(counts: _Tallies) -> Counts:
    return {
        key: {task: Pairs(*tally) for task, tally in by_task.items() if any(tally)} for key, by_task in counts.items()
    }


def check_labels(task: str, level: str, groups: Sequence[Sequence[int | None]], pairs: Sequence[Pairs]) -> None:
    """Labels and counts have to agree where every pair of an item is known; where they do not, a class is broken.

    Raises:
        EvidenceError: anomaly A5.
    """
    n_same = sum(n * (n - 1) // 2 for n in _sizes([label for group in groups for label in group]).values())
    if n_same != sum(found.same for found in pairs):
        raise EvidenceError(f"{ANOMALIES['A5']}: {level} of task {visible(task, one_line=True)}", code="anomaly-a5")


def _sizes(labels: Iterable[int | None]) -> dict[int, int]:
    found: dict[int, int] = defaultdict(int)
    for label in labels:
        if label is not None:
            found[label] += 1
    return found
