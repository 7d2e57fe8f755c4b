"""What a gate answers: frozen records that print as JSON and give `schema/gate.schema.json`. No logic."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from samework.model.results import Anomaly, FacetVerdict
from samework.model.words import RunClass, Status


class GateVerdict(StrEnum):
    """Answer of a gate; exit status 0, 1 and 3."""

    PASSES = "passes"
    FAILS = "fails"
    DOES_NOT_DECIDE = "does_not_decide"


class TaskStanding(StrEnum):
    """How one task stands to the requirement; `one_arm`: only one of the two arms ran it."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    ONE_ARM = "one_arm"


class PairStanding(StrEnum):
    """How one pair stands to the requirement.

    provisional: met, and presumed_below: not met, on an assumption (base, suite or environment) or an inference.
    """

    MET = "met"
    PROVISIONAL = "provisional"
    UNKNOWN = "unknown"
    PRESUMED_BELOW = "presumed_below"
    BELOW = "below"


class Control(StrEnum):
    """How the runs of one arm of a task stand to each other; `none`: fewer than two runs."""

    AGREES = "agrees"
    DIFFERS = "differs"
    UNKNOWN = "unknown"
    NONE = "none"


class GatePair(msgspec.Struct, frozen=True, rename={"run_class": "class"}):
    """A pair shown as an example. a: of the baseline. facets: those that the requirement rests on."""

    a: str
    b: str
    standing: PairStanding
    run_class: RunClass
    status: Status
    facets: dict[str, FacetVerdict]


class GateGap(msgspec.Struct, frozen=True):
    """Evidence that is missing. runs: those that lack it, one an arm at most; none where the two do not fit.

    sentence: what to record. n_tasks: undecided tasks in whose shown pairs it is missing.
    """

    facet: str
    reason: str
    runs: tuple[str, ...] = ()
    sentence: str = ""
    n_tasks: int = 1


class GateTask(msgspec.Struct, frozen=True):
    """One task. pairs: standing -> cross pairs. presumed: it fails on an assumption or inference only.

    lacking_arm: the arm that did not run it. baseline_control, candidate_control: each arm against itself.
    """

    task: str
    standing: TaskStanding
    baseline_runs: int
    candidate_runs: int
    pairs: dict[str, int] = {}
    presumed: bool = False
    lacking_arm: str | None = None
    baseline_control: Control = Control.NONE
    candidate_control: Control = Control.NONE
    examples: tuple[GatePair, ...] = ()
    missing: tuple[GateGap, ...] = ()


class GateControl(msgspec.Struct, frozen=True):
    """One arm against itself, over the tasks of both arms that it ran at least twice.

    differs: tasks in which a pair of its runs does not meet the requirement. unknown: tasks that leave it open.
    candidate_differs: of the same tasks, those that fail the gate.
    """

    arm: str
    tasks: int
    differs: int
    unknown: int
    candidate_differs: int


class GateResult(msgspec.Struct, frozen=True):
    """`samework gate`. tasks: total and per standing, presumed among the failed.

    share: of failing tasks, undecided ones and those of one arm counted as passing, and as failing. interval: exact
    95 % limits for such a share over tasks like these, unknown counted both ways; None where no task is
    decided, or the extra `stats` is not installed.
    at_most: as asked, None where one failing task fails the gate. said: sentences, the verdict first.
    """

    verdict: GateVerdict
    baseline: str
    candidate: str
    require: str
    at_most: str | None
    strict: bool
    accept_provisional: bool
    tasks: dict[str, int]
    share: tuple[float, float]
    interval: tuple[float, float] | None
    baseline_control: GateControl
    candidate_control: GateControl
    said: tuple[str, ...]
    missing: tuple[GateGap, ...]
    anomalies: tuple[Anomaly, ...]
    by_task: tuple[GateTask, ...]
