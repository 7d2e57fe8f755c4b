"""How many repeats and items a question needs, from rates declared beforehand and from those that the store shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from samework.model.experiment import FlipPlan, PathPlan, Plan
from samework.stats.margins import smallest_margin
from samework.stats.power import items_for_path_test, mcnemar_power, path_design, repeats_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.model.experiment import CrossArm, Flips, LevelResult

RATES: Final = (0.01, 0.05, 0.1, 0.2)
POWERS: Final = (0.8, 0.95)
REPEATS: Final = (2, 3, 4, 5)
_MOST_REPEATS: Final = 10
_MULTIPLES: Final = (1, 2, 5, 10)


def plan(levels: Sequence[LevelResult] = (), flips: Sequence[Flips] = (), more: Sequence[str] = ()) -> Plan:
    """Tables for planning; with an experiment, also at the rates that it showed."""
    observed = {
        f"{level.level}: {across.a}, {across.b}": rate
        for level in levels
        for across in level.across
        if (rate := divergence(across)) is not None
    }
    rates = sorted({*RATES, *(rate for rate in observed.values() if 0 < rate < 1)})
    return Plan(
        to_see={
            _named(rate): {_named(power): n for power, n in row.items()}
            for rate, row in repeats_table(RATES, POWERS).items()
        },
        paths=tuple(_path_plan(n_repeats, rates) for n_repeats in REPEATS),
        observed=observed,
        flips=_flip_plans(flips[0]) if len(flips) == 1 else (),
        smallest_margin=_smallest_margin(flips[0]) if len(flips) == 1 else None,
        more=tuple(more),
    )


def divergence(across: CrossArm) -> float | None:
    """Share of the known items that differ across two arms; None where no item is known."""
    items = across.found.items
    return items.k / items.n if items.n else None


def _named(rate: float) -> str:
    return f"{rate:.4g}"


def _path_plan(n_repeats: int, rates: Sequence[float]) -> PathPlan:
    found = path_design(n_repeats, rates)
    return PathPlan(n_repeats, found.n_diverging_needed, {_named(rate): n for rate, n in found.n_items.items()})


def _flip_plans(found: Flips) -> tuple[FlipPlan, ...]:
    """Power of McNemar's test at multiples of the items, at the discordance and share that were seen."""
    n_flipped = found.only_a + found.only_b
    share = found.only_a / n_flipped if n_flipped else 0.0
    if found.is_means or not 0 < n_flipped < found.n_items or share in (0.0, 1.0):
        return ()
    discordance = n_flipped / found.n_items
    return tuple(
        FlipPlan(found.n_items * times, mcnemar_power(found.n_items * times, discordance=discordance, share=share))
        for times in _MULTIPLES
    )


def _smallest_margin(found: Flips) -> float | None:
    if found.is_means or not found.n_items:
        return None
    return smallest_margin(found.only_a, found.only_b, found.n_items)


def what_would_decide(n_items: int, rate: float | None, repeats: tuple[int, int]) -> str:
    """How many more runs would let the path test decide, in a sentence.

    Args:
        n_items: items that both arms ran.
        rate: share of items that seem to differ; None or 0 stands for one in twenty.
        repeats: fewest runs of an item in each arm.

    >>> what_would_decide(60, 0.05, (2, 1))
    '3 runs per arm and item (180 more) would show a difference in 5 % of these 60 items with 80 % power.'
    >>> what_would_decide(1, None, (1, 1))
    '4 runs per arm and item (6 more) would show even one item that divides cleanly.'
    """
    assumed = rate if rate is not None and 0 < rate < 1 else 0.05
    for n_repeats in range(2, _MOST_REPEATS + 1):
        needed = items_for_path_test(assumed, n_repeats)
        if needed is not None and needed <= n_items:
            n_more = n_items * sum(max(0, n_repeats - have) for have in repeats)
            if not n_more:
                return (
                    f"{n_repeats} runs per arm and item, as here, show a difference in {assumed * 100:.3g} % of these "
                    f"{n_items:,} items with 80 % power."
                )
            return (
                f"{n_repeats} runs per arm and item ({n_more:,} more) would show a difference in "
                f"{assumed * 100:.3g} % of these {n_items:,} items with 80 % power."
            )
    if n_items == 1:
        n_more = sum(max(0, 4 - have) for have in repeats)
        return f"4 runs per arm and item ({n_more} more) would show even one item that divides cleanly."
    few, many = (items_for_path_test(assumed, n) for n in (2, _MOST_REPEATS))
    return (
        f"{few:,} items with 2 runs per arm, or {many:,} with {_MOST_REPEATS}, would show a difference in "
        f"{assumed * 100:.3g} % of items with 80 % power."
    )
