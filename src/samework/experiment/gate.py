"""A gate for CI: does the candidate arm do the work of the baseline arm, task by task?

The task is the unit. A task passes where every cross pair of its runs meets the requirement, fails where some pair is
below it, and is undecided otherwise. What nobody recorded never passes; a gate may fail to decide.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from samework.equivalence.blocks import task_blocks
from samework.equivalence.counts import Selection
from samework.equivalence.lattice import ANOMALIES
from samework.equivalence.signatures import RunSignature, Signatures, load_signatures, placed_runs, prepare
from samework.errors import EvidenceError
from samework.experiment.gate_counts import Standings, standings
from samework.experiment.gate_examples import examples, gaps
from samework.experiment.gate_result import result
from samework.experiment.gate_terms import Terms
from samework.model.gate import Control, GateTask, PairStanding, TaskStanding
from samework.model.results import Anomaly
from samework.store.sql import load
from samework.text import shortened, visible

if TYPE_CHECKING:
    from samework.model.gate import GateResult
    from samework.store.connection import StoreHandle

_BELOW: Final = (PairStanding.BELOW, PairStanding.PRESUMED_BELOW)


class _Evidence(msgspec.Struct, frozen=True):
    """What all tasks are judged by. runs: (task, arm) -> runs, by run_id."""

    terms: Terms
    signatures: Signatures
    across: Standings
    ours: Standings
    theirs: Standings
    runs: dict[tuple[str, str], list[RunSignature]]


def gate(handle: StoreHandle, terms: Terms, *, task: str | None = None) -> GateResult:
    """Judge every task that one of two arms ran.

    Args:
        handle: an open store.
        terms: what is asked.
        task: only this task.

    Raises:
        EvidenceError: the arms have no task in common, or runs placed in one block are known to differ (A5).
    """
    prepare(handle, task=task, strict=terms.strict)
    signatures = load_signatures(handle, task=task, strict=terms.strict, prepared=True)
    arms = {"baseline": terms.baseline, "candidate": terms.candidate}
    rows = handle.db.execute(load("samework.experiment", "sql/gate_runs"), arms).fetchall()
    _check_common(terms, rows)
    _check_blocks(handle, terms, signatures)
    selections = (
        Selection(across=(terms.baseline, terms.candidate)),
        Selection(arms=[terms.baseline]),
        Selection(arms=[terms.candidate]),
    )
    across, ours, theirs = (standings(handle, terms.wanted, selection, signatures) for selection in selections)
    evidence = _Evidence(terms, signatures, across, ours, theirs, _runs_by_task(signatures, terms))
    tasks = tuple(_task(evidence, name, n_ours, n_theirs) for name, n_ours, n_theirs, _ in rows)
    conflicting = [name for name, _, _, found in rows if found]
    return result(terms, tasks, tuple(Anomaly("A2", _a2(name)) for name in conflicting))


def _a2(task: str) -> str:
    return f"{ANOMALIES['A2']} (task {visible(task, one_line=True)})"


def _check_common(terms: Terms, rows: list[tuple[str, int, int, bool]]) -> None:
    if any(n_ours and n_theirs for _, n_ours, n_theirs, _ in rows):
        return
    n_ours_ran = sum(1 for _, n_ours, _, _ in rows if n_ours)
    n_theirs_ran = sum(1 for _, _, n_theirs, _ in rows if n_theirs)
    raise EvidenceError(
        f"arms {shortened(terms.baseline, 60)!r} and {shortened(terms.candidate, 60)!r} have no task in common: the "
        f"one ran {n_ours_ran:,}, the other {n_theirs_ran:,}; runs are compared within one task only",
        hint="samework runs",
        code="no-common-task",
    )


def _check_blocks(handle: StoreHandle, terms: Terms, signatures: Signatures) -> None:
    """A5: a class that holds runs known to differ; nothing can be gated on such a store."""
    for name, members in placed_runs(handle, [terms.baseline, terms.candidate]).items():
        _, broken = task_blocks(members, treeless=name in signatures.treeless)
        if broken:
            where = f"task {visible(name, one_line=True)}, runs {', '.join(broken)}"
            raise EvidenceError(f"{ANOMALIES['A5']}: {where}", code="anomaly-a5")


def _runs_by_task(signatures: Signatures, terms: Terms) -> dict[tuple[str, str], list[RunSignature]]:
    found: dict[tuple[str, str], list[RunSignature]] = {}
    for run in sorted(signatures.runs.values(), key=lambda run: run.run_id):
        if run.arm in (terms.baseline, terms.candidate):
            found.setdefault((run.task, run.arm), []).append(run)
    return found


def _task(evidence: _Evidence, name: str, n_ours: int, n_theirs: int) -> GateTask:
    terms = evidence.terms
    counts = evidence.across.get(name) or Counter[PairStanding]()
    lacking = terms.candidate if not n_theirs else terms.baseline if not n_ours else None
    standing = TaskStanding.ONE_ARM if lacking is not None else _standing(terms, counts)
    found = GateTask(
        task=name,
        standing=standing,
        baseline_runs=n_ours,
        candidate_runs=n_theirs,
        pairs={word.value: counts[word] for word in PairStanding},
        presumed=standing is TaskStanding.FAILED and not counts[PairStanding.BELOW],
        lacking_arm=lacking,
        baseline_control=_control(terms, evidence.ours.get(name)),
        candidate_control=_control(terms, evidence.theirs.get(name)),
    )
    if standing not in (TaskStanding.FAILED, TaskStanding.UNDECIDED):
        return found
    sides = (evidence.runs[name, terms.baseline], evidence.runs[name, terms.candidate])
    if standing is TaskStanding.FAILED:
        shown = PairStanding.PRESUMED_BELOW if found.presumed else PairStanding.BELOW
        return msgspec.structs.replace(found, examples=examples(terms.wanted, *sides, evidence.signatures, shown))
    shown = next(word for word in terms.undecided if counts[word])
    return msgspec.structs.replace(
        found,
        examples=examples(terms.wanted, *sides, evidence.signatures, shown),
        missing=gaps(terms.wanted, *sides, evidence.signatures, terms.undecided),
    )


def _standing(terms: Terms, counts: Counter[PairStanding]) -> TaskStanding:
    if any(counts[word] for word in _BELOW):
        return TaskStanding.FAILED
    return TaskStanding.UNDECIDED if any(counts[word] for word in terms.undecided) else TaskStanding.PASSED


def _control(terms: Terms, counts: Counter[PairStanding] | None) -> Control:
    if not counts:
        return Control.NONE
    found = {
        TaskStanding.FAILED: Control.DIFFERS,
        TaskStanding.UNDECIDED: Control.UNKNOWN,
        TaskStanding.PASSED: Control.AGREES,
    }
    return found[_standing(terms, counts)]
