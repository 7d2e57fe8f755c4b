"""Sum the tasks of a gate up: verdict, shares, controls, gaps. Pure."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from importlib.util import find_spec
from typing import TYPE_CHECKING

import msgspec

from samework.experiment.gate_said import said
from samework.experiment.gate_terms import percent
from samework.model.gate import Control, GateControl, GateGap, GateResult, GateTask, GateVerdict, TaskStanding
from samework.stats.intervals import clopper_pearson

if TYPE_CHECKING:
    from samework.experiment.gate_terms import Terms
    from samework.model.results import Anomaly

_MAX_GAPS = 20


def result(terms: Terms, tasks: tuple[GateTask, ...], anomalies: tuple[Anomaly, ...]) -> GateResult:
    """The whole answer from the standing of each task; at least one task."""
    counts = Counter(task.standing for task in tasks)
    n_failed, n_tasks = counts[TaskStanding.FAILED], len(tasks)
    n_open = counts[TaskStanding.UNDECIDED] + counts[TaskStanding.ONE_ARM]
    decided = n_failed + counts[TaskStanding.PASSED]
    found = GateResult(
        verdict=verdict(n_failed, n_open, n_tasks, terms.at_most),
        baseline=terms.baseline,
        candidate=terms.candidate,
        require=terms.wanted.name,
        at_most=None if terms.at_most is None else percent(terms.at_most),
        strict=terms.strict,
        accept_provisional=terms.accept_provisional,
        tasks={
            "total": n_tasks,
            **{word.value: counts[word] for word in TaskStanding},
            "presumed": sum(task.presumed for task in tasks),
        },
        share=(n_failed / n_tasks, (n_failed + n_open) / n_tasks),
        interval=_interval(n_failed, n_open, n_tasks) if decided else None,
        baseline_control=_arm_control(terms.baseline, tasks, [task.baseline_control for task in tasks]),
        candidate_control=_arm_control(terms.candidate, tasks, [task.candidate_control for task in tasks]),
        said=(),
        missing=_missing(tasks),
        anomalies=anomalies,
        by_task=tasks,
    )
    return msgspec.structs.replace(found, said=said(found))


def verdict(n_failed: int, n_open: int, n_tasks: int, at_most: Fraction | None) -> GateVerdict:
    """The gate's answer from numbers of tasks.

    Args:
        n_failed: tasks that fail.
        n_open: tasks that are undecided or that one arm only ran.
        n_tasks: all tasks, at least 1.
        at_most: share that may fail, in [0, 1); None: none may, and none may be open.

    >>> [verdict(1, 2, 40, share).value for share in (None, Fraction(1, 20), Fraction(1, 10), Fraction(1, 50))]
    ['fails', 'does_not_decide', 'passes', 'fails']
    """
    share = at_most or Fraction(0)
    if Fraction(n_failed, n_tasks) > share:
        return GateVerdict.FAILS
    return GateVerdict.PASSES if Fraction(n_failed + n_open, n_tasks) <= share else GateVerdict.DOES_NOT_DECIDE


def _interval(n_failed: int, n_open: int, n_tasks: int) -> tuple[float, float] | None:
    if find_spec("scipy") is None:  # an extra; the verdict does not need it
        return None
    return (clopper_pearson(n_failed, n_tasks).low, clopper_pearson(n_failed + n_open, n_tasks).high)


def _arm_control(arm: str, tasks: tuple[GateTask, ...], controls: list[Control]) -> GateControl:
    common = [
        (task, control)
        for task, control in zip(tasks, controls, strict=True)
        if control is not Control.NONE and task.lacking_arm is None
    ]
    counts = Counter(control for _, control in common)
    n_failing = sum(1 for task, _ in common if task.standing is TaskStanding.FAILED)
    return GateControl(arm, len(common), counts[Control.DIFFERS], counts[Control.UNKNOWN], n_failing)


def _missing(tasks: tuple[GateTask, ...]) -> tuple[GateGap, ...]:
    """Gaps over all undecided tasks, the most frequent first, each with runs of one task as an example."""
    first: dict[tuple[str, str], GateGap] = {}
    n_tasks: Counter[tuple[str, str]] = Counter()
    for task in tasks:
        for gap in task.missing:
            key = (gap.facet, gap.reason)
            n_tasks[key] += 1
            if len(gap.runs) > len(first.setdefault(key, gap).runs):
                first[key] = gap
    order = sorted(first, key=lambda key: (-n_tasks[key], key))[:_MAX_GAPS]
    return tuple(msgspec.structs.replace(first[key], n_tasks=n_tasks[key]) for key in order)
