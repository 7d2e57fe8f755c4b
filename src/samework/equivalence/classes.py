"""Classes over N runs: how many pairs of each class and verdict, and the nested table of each task.

Counts come from groupings (see `counts`) and are then corrected for the explicit pairs (see `Exceptions`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import msgspec

from samework.equivalence.blocks import task_blocks
from samework.equivalence.cells import quarantined_nodes
from samework.equivalence.components import State, tests_verdict, tokens_verdict, tree_verdict
from samework.equivalence.counts import Selection, facet_counts, recorded_facets, state_counts
from samework.equivalence.judge import judge, placement_of
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
from samework.model.results import Anomaly, ClassesResult, TaskClasses
from samework.model.words import Facet, RunClass, Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.store.connection import StoreHandle

_PLAIN = (Facet.TEXT, Facet.ACTIONS, Facet.OBSERVATIONS, Facet.PATCH, Facet.OUTCOME, Facet.INVARIANTS)
_MAIN = (Facet.TOKENS, Facet.TREE, Facet.TESTS)
_OF_STATE = {State.EQUAL: Verdict.SAME, State.UNEQUAL: Verdict.DIFFERENT, State.INCOMPARABLE: Verdict.UNKNOWN}


class PairCounts(msgspec.Struct):
    """Numbers of pairs: by task and class, by status and class, by facet and verdict."""

    by_task: dict[str, Counter[str]]
    by_status: dict[str, Counter[str]]
    by_facet: dict[str, Counter[str]]
    n_pairs: int = 0

    def add(self, task: str, run_class: RunClass, status: Status, n_pairs: int) -> None:
        """Count pairs of a class."""
        self.by_task[task][run_class] += n_pairs
        self.by_status[status][run_class] += n_pairs
        self.n_pairs += n_pairs


def count_pairs(
    handle: StoreHandle,
    *,
    task: str | None = None,
    arms: Sequence[str] | None = None,
    across: tuple[str, str] | None = None,
    strict: bool = False,
) -> PairCounts:
    """Count all pairs of a selection; fills the temp table `signature` on the way."""
    prepare(handle, task=task, strict=strict)
    selection = Selection(arms=arms, across=across)
    exceptions = load_exceptions(handle, task=task, strict=strict)
    treeless = treeless_tasks(handle)
    counts = PairCounts(defaultdict(Counter), defaultdict(Counter), defaultdict(Counter))
    for name, states, n_pairs in state_counts(handle, selection):
        _count_states(counts, name, states, n_pairs, applies=name not in treeless)
    present = recorded_facets(handle, [facet.value for facet in _PLAIN])
    for facet in _PLAIN:
        if facet.value not in present:
            counts.by_facet[facet][Verdict.UNKNOWN] = counts.n_pairs
            continue
        for _, found, n_pairs in facet_counts(handle, facet.value, selection):
            counts.by_facet[facet][_OF_STATE[found]] += n_pairs
    _correct(handle, counts, exceptions, selection, task=task, strict=strict)
    return counts


def _count_states(counts: PairCounts, task: str, states: dict[str, State], n_pairs: int, *, applies: bool) -> None:
    placement = placement_of(states, applies=applies)
    counts.add(task, placement.run_class, placement.status, n_pairs)
    counts.by_facet[Facet.TOKENS][tokens_verdict(states)[0]] += n_pairs
    counts.by_facet[Facet.TREE][tree_verdict(states, applies=applies)[0]] += n_pairs
    counts.by_facet[Facet.TESTS][tests_verdict(states)[0]] += n_pairs


def _correct(
    handle: StoreHandle,
    counts: PairCounts,
    exceptions: Exceptions,
    selection: Selection,
    *,
    task: str | None,
    strict: bool,
) -> None:
    """Take each explicit pair out as its digests alone would judge it, and put it in as it is judged."""
    if not exceptions.pairs():
        return
    for a, b, signed, sign in corrections(load_signatures(handle, task=task, strict=strict, prepared=True)):
        if not selection.holds(a.arm, b.arm):
            continue
        judged = judge(a, b, signed)
        counts.add(a.task, judged.placement.run_class, judged.placement.status, sign)
        for facet in (*_MAIN, *_PLAIN):
            counts.by_facet[facet][judged.facets[facet].verdict] += sign


def classes(
    handle: StoreHandle,
    *,
    task: str | None = None,
    arms: Sequence[str] | None = None,
    across: tuple[str, str] | None = None,
    strict: bool = False,
) -> ClassesResult:
    """Pair counts over a selection, and the nested table of each task.

    Raises:
        EvidenceError: runs placed in one block are known to differ (A5); no table can be trusted then.
    """
    counts = count_pairs(handle, task=task, arms=arms, across=across, strict=strict)
    selection = Selection(arms=arms, across=across)
    treeless = treeless_tasks(handle)
    flaky = {row[0] for row in handle.db.execute("select task from cell_digest where n_quarantined > 0").fetchall()}
    by_task = []
    n_runs = 0
    anomalies: list[Anomaly] = []
    for name, runs in placed_runs(handle, selection.arms).items():
        n_runs += len(runs)
        blocks, broken = task_blocks(runs, treeless=name in treeless)
        if broken:
            raise EvidenceError(f"{ANOMALIES['A5']}: task {name}, runs {', '.join(broken)}", code="anomaly-a5")
        if any(run.tests_conflict for run in runs):
            anomalies.append(Anomaly("A2", f"{ANOMALIES['A2']} (task {name})"))
        nodes = quarantined_nodes(handle, name) if name in flaky else ()
        by_task.append(TaskClasses(name, len(runs), _plain_counts(counts.by_task.get(name)), blocks, nodes))
    return ClassesResult(
        runs=n_runs,
        tasks=len(by_task),
        pairs={"total": counts.n_pairs, **_totals(counts)},
        facets={facet.value: _verdicts(counts.by_facet[facet]) for facet in (*_MAIN, *_PLAIN)},
        by_status={status.value: dict(_plain_counts(found)) for status, found in _statuses(counts).items()},
        by_task=tuple(by_task),
        bounds={facet.value: _bounds(counts.by_facet[facet]) for facet in (*_MAIN, *_PLAIN) if counts.n_pairs},
        anomalies=tuple(anomalies),
    )


def _plain_counts(found: Counter[str] | None) -> dict[str, int]:
    return {run_class.value: int((found or Counter())[run_class]) for run_class in RunClass}


def _totals(counts: PairCounts) -> dict[str, int]:
    total: Counter[str] = Counter()
    for found in counts.by_task.values():
        total.update(found)
    return _plain_counts(total)


def _statuses(counts: PairCounts) -> dict[Status, Counter[str]]:
    return {status: counts.by_status.get(status, Counter()) for status in Status}


def _verdicts(found: Counter[str]) -> dict[str, int]:
    return {verdict.value: int(found[verdict]) for verdict in Verdict}


def _bounds(found: Counter[str]) -> tuple[float, float]:
    """Rate of difference, unknown pairs taken as all same, and as all different."""
    known = found[Verdict.SAME] + found[Verdict.DIFFERENT]
    total = known + found[Verdict.UNKNOWN]
    if total == 0:
        return (0.0, 1.0)
    return (found[Verdict.DIFFERENT] / total, (found[Verdict.DIFFERENT] + found[Verdict.UNKNOWN]) / total)
