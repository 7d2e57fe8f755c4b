"""What has to be said before any number, what refuses an experiment outright, and what its numbers do not allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from samework.errors import EvidenceError
from samework.experiment.order import Order, order
from samework.experiment.plan import divergence, what_would_decide
from samework.model.experiment import Caution
from samework.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from samework.experiment.arms import Design, PlacedRun
    from samework.model.experiment import ArmSummary, FlakyVerifier, LevelResult, SelfRepeat, Success

ALIASED_REASON: Final = "all runs of one arm started before all of the other, so arm and time cannot be told apart"
_INTERLEAVE: Final = "Run the arms in turn, item by item, in an order drawn by lot."
_SHOWN: Final = 5
_A_PAIR: Final = 2


def orders(found: Design) -> dict[tuple[str, str], Order]:
    """How every two arms lie in time, over the items that both ran."""
    items = found.items()
    made = {}
    for a, b in found.pairs():
        common = [arms for arms in items.values() if a in arms and b in arms]
        made[a, b] = order(_runs(common, a), _runs(common, b)) if common else Order.UNKNOWN
    return made


def _runs(items: Iterable[dict[str, list[PlacedRun]]], arm: str) -> list[PlacedRun]:
    return [run for arms in items for run in arms[arm]]


def refuse_order(in_time: dict[tuple[str, str], Order]) -> None:
    """Raises EvidenceError where every two arms are aliased with the order of their runs."""
    if all(found is Order.ALIASED for found in in_time.values()):
        raise EvidenceError(
            f"the arms are aliased with run order: {ALIASED_REASON}",
            effect="Whatever changed in between (machine, load, service, cache) would look like the arm.",
            hint=_INTERLEAVE,
        )


def refuse_uncontrolled(found: Design, arms: Sequence[ArmSummary], success: Success | None) -> None:
    """Raises EvidenceError where one run, or one run of each item, leaves nothing to test.

    Success on the same items is comparable without repeats: its test is of the balance of flips over items.
    """
    single = next((arm for arm in arms if arm.n_runs == 1), None)
    if single is not None and len(arms) == _A_PAIR:
        raise EvidenceError(
            f"arm {visible(single.arm, one_line=True)} has one run: nothing can be said of how often it does anything",
            hint=what_would_decide(_n_common(found), None, _fewest(arms)),
        )
    has_flips = success is not None and any(flips.n_items for flips in success.flips)
    if not has_flips and not any(arm.n_repeated for arm in arms):
        raise EvidenceError(
            "no test: every arm has one run of each item, and success is recorded of no item in two arms",
            effect="How often an arm differs from itself is not known, so a difference between arms says nothing.",
            hint=what_would_decide(_n_common(found), None, _fewest(arms)),
        )


def _n_common(found: Design) -> int:
    return len(found.items())


def _fewest(arms: Sequence[ArmSummary]) -> tuple[int, int]:
    least = sorted(arm.repeats[0] for arm in arms)
    return least[0], least[min(1, len(least) - 1)]


def refuse_unknown(levels: Sequence[LevelResult], success: Success | None) -> None:
    """Raises EvidenceError where nothing is known at any level."""
    is_known = any(across.found.same or across.found.different for level in levels for across in level.across)
    has_flips = success is not None and any(found.n_items for found in success.flips)
    if not is_known and not has_flips:
        raise EvidenceError(
            f"nothing is known of any pair of runs at {', '.join(level.level for level in levels)}",
            effect="Unknown is neither the same nor different, so there is no rate and no test.",
            hint="samework show RUN says of one run what it lacks and what to record.",
        )


def cautions(
    found: Design,
    arms: Sequence[ArmSummary],
    levels: Sequence[LevelResult],
    success: Success | None,
    *,
    in_time: dict[tuple[str, str], Order],
    verifier: FlakyVerifier | None,
) -> tuple[Caution, ...]:
    """What a reader has to know before the first number."""
    made = [*_of_order(in_time), *_of_controls(found, arms, levels)]
    if found.unplaced:
        made.append(_unplaced(found))
    if found.n_uncommon:
        made.append(Caution("uncommon-items", f"{_counted(found.n_uncommon, 'item')} of one arm alone left out."))
    made += _of_unknowns(levels, success)
    if verifier is not None and verifier.cells_flipping:
        made.append(
            Caution(
                "flaky-verifier",
                f"Tests flip when one tree is graded again ({_counted(verifier.cells_flipping, 'cell')} of "
                f"{verifier.cells:,}); the tests that do are left out of the tests level of their whole group.",
            )
        )
    return tuple(made)


def _of_order(in_time: dict[tuple[str, str], Order]) -> list[Caution]:
    made = []
    for (a, b), found in in_time.items():
        names = f"{visible(a, one_line=True)} and {visible(b, one_line=True)}"
        if found is Order.ALIASED:
            made.append(
                Caution("aliased", f"{names} are aliased with run order: {ALIASED_REASON}. No test. {_INTERLEAVE}")
            )
        if found is Order.FIXED:
            text = (
                f"In every item the runs of one of {names} all started first: place in the order is aliased with arm."
            )
            made.append(Caution("fixed-order", text))
    if any(found is Order.UNKNOWN for found in in_time.values()):
        text = "When runs started is not recorded for all of them: whether the arms were interleaved cannot be checked."
        made.append(Caution("order-unrecorded", text))
    return made


def _of_controls(found: Design, arms: Sequence[ArmSummary], levels: Sequence[LevelResult]) -> list[Caution]:
    """Arms without the control that a comparison needs, and how many more runs would decide."""
    alone = [arm.arm for arm in arms if not arm.n_repeated]
    made = []
    if alone:
        names = ", ".join(visible(name, one_line=True) for name in alone)
        have = "have" if len(alone) > 1 else "has"
        text = (
            f"No control: {names} {have} one run of each item. How often an arm differs from itself is not known "
            "there, so a difference from it says nothing of the arm: its rates are descriptive, without a test."
        )
        made.append(Caution("no-control", text))
        made += [Caution("more-runs", text) for text in more_runs(found, arms, levels, lacking=alone)]
    return made


def more_runs(
    found: Design, arms: Sequence[ArmSummary], levels: Sequence[LevelResult], *, lacking: Sequence[str] | None = None
) -> list[str]:
    """How many more runs would decide, a sentence for every two arms; lacking: only with one of these arms."""
    items = found.items()
    least = {arm.arm: arm.repeats[0] for arm in arms}
    made = []
    for a, b in found.pairs():
        n_items = sum(a in of_arm and b in of_arm for of_arm in items.values())
        if n_items and (lacking is None or a in lacking or b in lacking):
            text = what_would_decide(n_items, _rate(levels, a, b), (least[a], least[b]))
            made.append(f"{visible(a, one_line=True)}, {visible(b, one_line=True)}: {text}")
    return made


def _rate(levels: Sequence[LevelResult], a: str, b: str) -> float | None:
    """Rate of divergence at the first level where any is known."""
    found = [
        rate
        for level in levels
        for across in level.across
        if (across.a, across.b) == (a, b) and (rate := divergence(across)) is not None
    ]
    return found[0] if found else None


def _unplaced(found: Design) -> Caution:
    names = ", ".join(f"{run.run_id} ({run.reason})" for run in found.unplaced[:_SHOWN])
    more = f" and {len(found.unplaced) - _SHOWN:,} more" if len(found.unplaced) > _SHOWN else ""
    field = visible(found.by or "", one_line=True)
    verb = "has" if len(found.unplaced) == 1 else "have"
    text = f"{_counted(len(found.unplaced), 'run')} {verb} no recorded {field} and are in no arm: {names}{more}."
    return Caution("unplaced-runs", text)


def _of_unknowns(levels: Sequence[LevelResult], success: Success | None) -> list[Caution]:
    lost = [
        level.level
        for level in levels
        if level.across and not any(across.found.same or across.found.different for across in level.across)
    ]
    made = []
    if lost:
        text = (
            f"Nothing is known at {', '.join(lost)}: no rate and no test there. samework show RUN says what to record."
        )
        made.append(Caution("level-unknown", text))
    if success is None:
        made.append(Caution("no-success", "No run's success is recorded, by a grader or by tests: no flips."))
    return made


def _toggled(levels: Sequence[LevelResult], factors: dict[tuple[str, str], str]) -> list[str]:
    """The second rung of the ladder: a field that was assigned, and arms that each repeat themselves without fail."""
    made = []
    for (a, b), field in factors.items():
        names = f"{visible(a, one_line=True)} and {visible(b, one_line=True)}"
        toggled = [
            level.level
            for level in levels
            for across in level.across
            if (across.a, across.b) == (a, b)
            and across.test.sentence.startswith("detected")
            and all(_never_differs(each) for each in level.by_arm if each.arm in (a, b))
        ]
        if toggled:
            made.append(
                f"Between {names}, {', '.join(toggled)} {'is' if len(toggled) == 1 else 'are'} toggled by "
                f"{visible(field, one_line=True)}, with self-repeat controls: the one recorded field that was set by "
                "arm, with runs in turn. What nobody recorded may stand behind it."
            )
    return made


def _never_differs(each: SelfRepeat) -> bool:
    return each.found.items.n > 0 and not each.found.different


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def limits(
    found: Design,
    levels: Sequence[LevelResult],
    success: Success | None,
    *,
    factors: dict[tuple[str, str], str],
    has_donors: bool,
    margin: float | None,
) -> tuple[str, ...]:
    """What may be said, and what not.

    factors: two arms -> the one recorded field that was set by them, their runs in turn (`claims.assignment`).
    """
    made = [
        "The item is the unit: repeats of one item are no further items.",
        (
            f"Arms are values of {visible(found.by, one_line=True)}: it co-varies with a difference; whatever was set "
            "together with it does as well."
            if found.by is not None
            else "A difference between arms belongs to everything that differs between them, not to their name."
        ),
    ]
    made += _toggled(levels, factors)
    if any(across.test.p is not None for level in levels for across in level.across):
        made.append("A test of paths says that arms differ beyond their own repeats, not which arm is better.")
    if any(level.level == "tests" for level in levels):
        made.append("Equal test outcomes say nothing of what the tests do not cover.")
    if success is not None and success.grade == "asserted":
        made.append("Success is what a grader recorded; nobody here graded again.")
    if success is not None and any(found.is_means for found in success.flips):
        made.append("Where repeats differ, success is compared as per-item means; their interval is approximate.")
    if success is not None and margin is None:
        made.append("Without a margin declared beforehand (--margin) nothing shows that success is alike.")
    if margin is not None:
        made.append("The margin counts only if it was declared before these runs were seen.")
    if has_donors:
        made.append("A transplant is an intervention: where the donor is followed, the state decided the path.")
    made.append("Unknown pairs are in no rate but in its bounds; bounds are no interval.")
    return tuple(made)
