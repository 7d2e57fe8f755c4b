"""pass@k and pass^k of each arm: the mean over items, and bounds over runs whose outcome nobody recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.experiment.rates import mean_over_items
from samework.model.experiment import Attempts, Limits
from samework.stats.reliability import pass_at_k, pass_hat_k

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from samework.experiment.flips import TalliesByTask
    from samework.experiment.success import Tally


def attempts(tallies: TalliesByTask, arms: Sequence[str]) -> tuple[Attempts, ...]:
    """For 1, 2 and as many attempts as most items have runs; an item counts where it has that many known runs."""
    made = []
    for arm in arms:
        found = [by_arm[arm] for by_arm in tallies.values() if arm in by_arm]
        made += [_attempts(arm, k, found) for k in _attempt_numbers(found)]
    return tuple(made)


def _attempt_numbers(found: Sequence[Tally]) -> list[int]:
    sizes = sorted(tally.n_known for tally in found if tally.n_known)
    if not sizes:
        return []
    usual = sizes[len(sizes) // 2]
    return sorted({1, min(2, usual), usual})


def _attempts(arm: str, k: int, found: Sequence[Tally]) -> Attempts:
    known = [tally for tally in found if tally.n_known >= k]
    at_k, hat_k = (
        mean_over_items([estimate(tally.n_known, tally.succeeded, k) for tally in known])
        for estimate in (pass_at_k, pass_hat_k)
    )
    return Attempts(
        arm,
        k,
        len(known),
        at_k,
        hat_k if k > 1 else at_k,
        pass_at_k_bounds=_bounds(found, k, pass_at_k),
        pass_hat_k_bounds=_bounds(found, k, pass_hat_k),
    )


def _bounds(found: Sequence[Tally], k: int, estimate: Callable[[int, int, int], float]) -> Limits | None:
    """Means over the items with k runs, unknown ones as failures and as successes."""
    whole = [tally for tally in found if tally.n_known + tally.unknown >= k]
    if not whole:
        return None
    lows = [estimate(tally.n_known + tally.unknown, tally.succeeded, k) for tally in whole]
    highs = [estimate(tally.n_known + tally.unknown, tally.succeeded + tally.unknown, k) for tally in whole]
    return (sum(lows) / len(whole), sum(highs) / len(whole))
