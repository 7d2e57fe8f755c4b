"""A gate's answer in sentences, the verdict first. Pure; names of arms and tasks are made visible here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from samework.model.gate import GateVerdict
from samework.text import counted, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.gate import GateControl, GateResult, GateTask

VERDICT_WORDS: Final = {
    GateVerdict.PASSES: "passes",
    GateVerdict.FAILS: "fails",
    GateVerdict.DOES_NOT_DECIDE: "does not decide",
}
_NAME = 60


def said(found: GateResult) -> tuple[str, ...]:
    """Sentences: verdict, what it rests on, what is open, and the control beside it."""
    return tuple(_sentences(found))


def task_said(task: GateTask, require: str) -> str:
    """One task in a sentence, without its name."""
    n_pairs = sum(task.pairs.values())
    if task.lacking_arm is not None:
        return f"arm {shortened(task.lacking_arm, _NAME)} did not run it"
    n_below = task.pairs["below"] + task.pairs["presumed_below"]
    if n_below:
        why = "; no pair is known to without an assumption or inference" if task.presumed else ""
        return f"{n_below:,} of {counted(n_pairs, 'pair')} below {require}{why}"
    n_open = task.pairs["unknown"] + task.pairs["provisional"]
    if task.standing == "undecided":
        held = f", {task.pairs['provisional']:,} of them only provisionally {require}" * bool(task.pairs["provisional"])
        return f"{n_open:,} of {counted(n_pairs, 'pair')} undecided{held}"
    held = f", {task.pairs['provisional']:,} of them provisionally" * bool(task.pairs["provisional"])
    return f"{counted(n_pairs, 'pair')}, all {require}{held}"


def _sentences(found: GateResult) -> Iterator[str]:
    yield _verdict(found)
    yield from _open(found)
    if found.tasks["presumed"]:
        yield (
            f"{counted(found.tasks['presumed'], 'failing task')} would be undecided without an assumed base, suite or "
            "environment, or rule I1 (other tests imply another tree)."
        )
    if found.accept_provisional:
        n_tasks = sum(1 for task in found.by_task if task.standing == "passed" and task.pairs["provisional"])
        yield f"Provisional classes were accepted: {counted(n_tasks, 'passing task')} {_rest(n_tasks)} on one."
    yield from _control(found)
    if found.interval is not None:
        low, high = found.interval
        yield (
            f"Over tasks like these the share that fails lies between {low:.1%} and {high:.1%} (exact 95 % interval, "
            "open tasks counted both ways)."
        )


def _rest(number: int) -> str:
    return "rests" if number == 1 else "rest"


def _verdict(found: GateResult) -> str:
    n_tasks, n_failed = found.tasks["total"], found.tasks["failed"]
    arms = f"{shortened(found.candidate, _NAME)} against {shortened(found.baseline, _NAME)}"
    low, high = found.share
    allowed = "" if found.at_most is None else f", at most {found.at_most} may"
    share = f"{low:.1%}" if low == high else f"{low:.1%} to {high:.1%}"
    return (
        f"The gate {VERDICT_WORDS[found.verdict]}: {arms}, {found.require} required; {n_failed:,} of "
        f"{counted(n_tasks, 'task')} fail ({share}{allowed})."
    )


def _open(found: GateResult) -> Iterator[str]:
    if found.tasks["undecided"]:
        yield f"The evidence does not decide {counted(found.tasks['undecided'], 'task')}."
    for arm in (found.baseline, found.candidate):
        n_tasks = sum(1 for task in found.by_task if task.lacking_arm == arm)
        if n_tasks:
            yield f"Arm {shortened(arm, _NAME)} did not run {counted(n_tasks, 'task')}."


def _control(found: GateResult) -> Iterator[str]:
    """The baseline against itself: without it nobody knows whether the candidate changed anything."""
    control = found.baseline_control
    if not control.tasks:
        yield (
            "No control: the baseline ran no common task twice, so how often it differs from itself is unknown. Two "
            "runs a task or more would say."
        )
        return
    yield f"Control: {_self(control, 'baseline')}; the candidate fails {control.candidate_differs:,} of these."
    if control.differs and control.differs >= control.candidate_differs:
        yield ("The baseline differs from itself at least as often; that the candidate changed the work is not shown.")
    other = found.candidate_control
    if other.tasks:
        yield f"{_self(other, 'candidate').capitalize()}."


def _self(control: GateControl, arm: str) -> str:
    unknown = f", {control.unknown:,} unknown" if control.unknown else ""
    return f"the {arm} differs from itself in {control.differs:,} of {counted(control.tasks, 'task')}{unknown}"
