"""An experiment, whole: arms over common items, self-repeats beside differences between arms, tests and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from samework.claims.assignment import read_assigned_factor
from samework.experiment.arms import Design, design, summaries
from samework.experiment.attempts import attempts
from samework.experiment.claimed import adjusted
from samework.experiment.donors import donor_following, transplants
from samework.experiment.evidence import Evidence, Room, evidence, prepared
from samework.experiment.flips import flips, several_arms
from samework.experiment.order import Order
from samework.experiment.paths import paired_items, path_result, screened
from samework.experiment.plan import plan
from samework.experiment.rates import disagreement
from samework.experiment.said import (
    ALIASED_REASON,
    cautions,
    limits,
    more_runs,
    orders,
    refuse_order,
    refuse_uncontrolled,
    refuse_unknown,
)
from samework.experiment.strata import strata, strata_of_items
from samework.experiment.success import successes
from samework.experiment.verifier import flaky_verifier
from samework.model.experiment import (
    CrossArm,
    ExperimentResult,
    Family,
    Flips,
    LevelResult,
    PathResult,
    SelfRepeat,
    Success,
)

if TYPE_CHECKING:
    from samework.experiment.success import Successes
    from samework.store.connection import StoreHandle

DEFAULT_LEVELS: Final = ("tokens", "actions", "tree", "tests", "outcome")


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked.

    arms: by name, or with `by` values of that manifest field (None: all). levels: of `evidence.LEVELS`. success: see
    `success.successes`. margin: declared largest difference of success rates that does not matter. strata: a manifest
    field or task-prefix. donors: ARM=DONOR,RECIPIENT. strict: no assumed test environment, no quarantine. redact: arms
    and strata that are values of a field are named without what looks like a secret.
    """

    arms: tuple[str, ...] | None = None
    by: str | None = None
    task: str | None = None
    levels: tuple[str, ...] = DEFAULT_LEVELS
    success: str | None = None
    margin: float | None = None
    strata: str | None = None
    donors: tuple[str, ...] = ()
    power: bool = False
    strict: bool = False
    redact: bool = False


def experiment(handle: StoreHandle, asked: Question) -> ExperimentResult:
    """Compare arms over the items that they have in common.

    Raises:
        UsageError: arms, a field or an evidence of success that nobody recorded, or too many arms.
        EvidenceError: no common item, one run, nothing known, or arms aliased with run order: no number is given then.
    """
    found = design(handle, arms=asked.arms, by=asked.by, task=asked.task, redact=asked.redact)
    in_time = orders(found)
    refuse_order(in_time)
    arms = summaries(found)
    room = prepared(handle, task=asked.task, strict=asked.strict)
    levels_read = tuple(dict.fromkeys((*asked.levels, "tree")))
    read = evidence(room, found.runs, levels_read, found.pairs())
    succeeded = successes(room, asked.success)
    success = _success(room, found, succeeded, asked, in_time) if succeeded is not None else None
    refuse_uncontrolled(found, arms, success)
    levels = tuple(_level(read, level, found, in_time) for level in asked.levels)
    refuse_unknown(levels, success)
    verifier = flaky_verifier(room, found.items(), read, succeeded)
    donors = tuple(donor_following(room, found, each) for each in transplants(room, found, asked.donors))
    levels, success, donors, family = adjusted(levels, success, donors)
    said = cautions(found, arms, levels, success, in_time=in_time, verifier=verifier)
    return ExperimentResult(
        arms,
        asked.by,
        n_items=len(found.items()),
        n_uncommon=found.n_uncommon,
        cautions=said,
        levels=levels,
        family=family,
        success=success,
        donors=donors,
        verifier=verifier,
        unplaced=found.unplaced,
        plan=plan(levels, success.flips if success else (), more_runs(found, arms, levels)) if asked.power else None,
        limits=limits(
            found, levels, success, factors=_factors(handle, found), has_donors=bool(donors), margin=asked.margin
        ),
    )


def general_plan() -> ExperimentResult:
    """A plan from declared rates alone, before any run."""
    return ExperimentResult((), None, 0, 0, (), (), Family(0, 0.05), plan=plan())


def _factors(handle: StoreHandle, found: Design) -> dict[tuple[str, str], str]:
    """The one recorded field that tells two arms apart by design, where there is one; for arms by their own names."""
    if found.by is not None:
        return {}
    made = {pair: read_assigned_factor(handle, *pair) for pair in found.pairs()}
    return {pair: field for pair, field in made.items() if field is not None}


def _level(read: Evidence, level: str, found: Design, in_time: dict[tuple[str, str], Order]) -> LevelResult:
    items = found.items()
    across = []
    for a, b in found.pairs():
        paired, n_single, n_unknown = paired_items(read, level, (a, b), items)
        if in_time[a, b] is Order.ALIASED:
            test = PathResult(0, n_single, n_unknown, reason=ALIASED_REASON)
        else:
            test = path_result(paired, n_single, n_unknown)
        across.append(CrossArm(a, b, disagreement(read.pairs(level, a, b)), test, screened(paired)))
    return LevelResult(
        level,
        by_arm=tuple(SelfRepeat(arm, disagreement(read.pairs(level, arm))) for arm in found.arms),
        across=tuple(across),
        n_not_applicable=len(read.not_applicable.get(level, ())),
    )


def _success(
    room: Room, found: Design, succeeded: Successes, asked: Question, in_time: dict[tuple[str, str], Order]
) -> Success:
    items = found.items()
    tallies = succeeded.tallies(items)
    made = []
    for a, b in found.pairs():
        each = flips(tallies, a, b, margin=asked.margin)
        made.append(_withheld(each) if in_time[a, b] is Order.ALIASED else each)
    is_aliased = any(order is Order.ALIASED for order in in_time.values())
    several = several_arms(tallies, found.arms) if len(found.arms) > 2 and not is_aliased else None  # noqa: PLR2004
    by_stratum = strata_of_items(room, items, asked.strata, redact=asked.redact) if asked.strata is not None else {}
    return Success(
        succeeded.evidence,
        succeeded.grade.value,
        succeeded.rates(found.arms, found.runs),
        flips=tuple(made),
        attempts=attempts(tallies, found.arms),
        several=several,
        strata=tuple(strata(tallies, by_stratum, asked.strata, pair) for pair in found.pairs()) if asked.strata else (),
    )


def _withheld(found: Flips) -> Flips:
    """Counts without a test: arm and time are one."""
    return msgspec.structs.replace(
        found, interval=None, interval_method=None, test=None, p=None, p_mid=None, margin=None, reason=ALIASED_REASON
    )
