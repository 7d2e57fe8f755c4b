"""Does a recorded field go with the branch that runs took? Uncertainty coefficient and its within-item permutation.

"Co-varies" is all that this can say: fields that were set together cannot be told apart, and an unrecorded one may
stand behind them.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import comb, log, prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from samework.errors import EvidenceError
from samework.stats.permutation import SMALLEST_P, Method

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

_UNIT = 2**32
"""Sums of o ln o are kept as whole numbers of 1/2^32, so that equal tables are equal numbers."""
_N_SPREADS, _N_STEPS, _N_WORK = 5_000, 200_000, 20_000_000
"""Bounds on counting out exactly: ways to spread one value over branches, tables of an item, sums over items. Beyond
them, permutations are sampled."""

Kernel = dict[int, float]
"""Statistic -> probability."""


class Association(NamedTuple):
    """How far a field's value tells the branch, within items."""

    n_items: int
    """Items in which both the field and the branch vary: those that the test is about."""
    uncertainty_coefficient: float
    """Share of the branches' entropy, within all items that branch, that the field's value takes away: 0..1."""
    p: float
    """As strong an association or a stronger one, were values exchangeable among the runs of an item."""
    smallest_p: float
    """Below which p could not fall with these values and branches."""
    method: Method


def association(
    items: Sequence[Sequence[tuple[Hashable, Hashable]]], *, n_samples: int = 9999, seed: int = 0
) -> Association:
    """Test whether a field's value and the branch taken go together within items.

    Args:
        items: per item (branch node), its runs as (value of the field, branch). Runs in which the field is not
            recorded are to be left out before, and counted. Branches of different items are unrelated.
        n_samples: permutations drawn where the exact distribution is too large.
        seed: of those draws.

    Raises:
        EvidenceError: no item has runs on more than one branch.

    Source: uncertainty coefficient, Theil 1970, Am. J. Sociol. 76:103; exact within-item permutation.

    >>> found = association([[("f16", 1), ("f16", 1), ("f16", 1), ("q8", 2), ("q8", 2), ("q8", 2)]])
    >>> found.uncertainty_coefficient, round(found.p, 6)
    (1.0, 0.1)
    """
    forked = [item for item in items if len({branch for _, branch in item}) > 1]
    if not forked:
        raise EvidenceError("no test: no item has runs on more than one branch")
    tested = [item for item in forked if len({value for value, _ in item}) > 1]
    effect = _uncertainty_coefficient(forked)
    if not tested:
        return Association(0, effect, 1.0, 1.0, "exact")
    kernels = [_kernel(*_margins(item)) for item in tested]
    observed = sum(_statistic(Counter(item).values()) for item in tested)
    # Each cell's o ln o is rounded once: tables that tie in truth differ by at most one unit a cell.
    slack = sum(prod(len(margin) for margin in _margins(item)) for item in tested)
    known = [kernel for kernel in kernels if kernel is not None]
    distribution = _sum_distribution(known) if len(known) == len(kernels) else None
    if distribution is not None:
        values, weights = distribution
        p = float(weights[values >= observed - slack].sum())
        smallest = float(weights[values >= values.max() - slack].sum())
        return Association(len(tested), effect, _clamped(p), _clamped(smallest), "exact")
    sums = _sampled_sums(tested, kernels, n_samples, seed)
    p = float((1 + (sums >= observed - slack).sum()) / (1 + n_samples))
    return Association(len(tested), effect, p, 1 / (1 + n_samples), "sampled")


def _clamped(p: float) -> float:
    return min(1.0, max(SMALLEST_P, p))


def _margins(item: Sequence[tuple[Hashable, Hashable]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    values, branches = Counter(value for value, _ in item), Counter(branch for _, branch in item)
    return tuple(sorted(values.values())), tuple(sorted(branches.values()))


def _statistic(cells: Iterable[int]) -> int:
    """Sum of o ln o over cells; with fixed margins it rises with the mutual information."""
    return sum(_cell(count) for count in cells)


def _cell(count: int) -> int:
    return round(count * log(count) * _UNIT) if count > 1 else 0


def _uncertainty_coefficient(items: Sequence[Sequence[tuple[Hashable, Hashable]]]) -> float:
    """1 - H(branch | value, item) / H(branch | item), items weighing by their runs."""
    before = after = 0.0
    for item in items:
        n_runs, cells = len(item), Counter(item)
        branches, values = Counter(branch for _, branch in item), Counter(value for value, _ in item)
        before -= sum(n * log(n / n_runs) for n in branches.values())
        after -= sum(n * log(n / values[value]) for (value, _), n in cells.items())
    return min(1.0, max(0.0, 1 - after / before))


def _kernel(values: tuple[int, ...], branches: tuple[int, ...]) -> Kernel | None:
    """Distribution of the statistic over all placements of values on runs; None where there are too many.

    One value after the other is spread over the places that its predecessors left on each branch.
    """
    if prod(n_runs + 1 for n_runs in branches[:-1]) > _N_SPREADS:
        return None
    states: dict[tuple[tuple[int, ...], int], int] = {(branches, 0): 1}
    n_steps = 0
    for n_runs in values:
        reached: Counter[tuple[tuple[int, ...], int]] = Counter()
        for (left, sums), ways in states.items():
            spreads = _spreads(n_runs, left)
            n_steps += len(spreads)
            if n_steps > _N_STEPS:
                return None
            for cells in spreads:
                rest = tuple(free - cell for free, cell in zip(left, cells, strict=True))
                gain = sum(map(_cell, cells))
                reached[rest, sums + gain] += ways * prod(map(comb, left, cells))
        states = reached
    total = sum(states.values())
    return {sums: ways / total for (_, sums), ways in states.items()}


def _spreads(n_runs: int, left: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All ways to put `n_runs` on branches with so many places left."""
    *others, last = left
    found = []
    for cells in product(*(range(min(n_runs, free) + 1) for free in others)):
        rest = n_runs - sum(cells)
        if 0 <= rest <= last:
            found.append((*cells, rest))
    return found


def _sum_distribution(kernels: Sequence[Kernel]) -> tuple[np.ndarray, np.ndarray] | None:
    """Values and probabilities of the sum over items; None where there are too many."""
    values: np.ndarray = np.zeros(1, dtype=np.int64)
    weights: np.ndarray = np.ones(1)
    work, left = 0, sum(map(len, kernels))
    for kernel in sorted(kernels, key=len):
        # A sum never has fewer values than its parts, so that what is left takes at least as much for each of its own.
        if work + len(values) * left > _N_WORK:
            return None
        work += len(values) * len(kernel)
        left -= len(kernel)
        sums = np.add.outer(values, np.array(list(kernel), dtype=np.int64)).ravel()
        parts = np.multiply.outer(weights, np.array(list(kernel.values()))).ravel()
        values, places = np.unique(sums, return_inverse=True)
        weights = np.bincount(places, weights=parts)
    return values, weights


def _sampled_sums(
    items: Sequence[Sequence[tuple[Hashable, Hashable]]], kernels: Sequence[Kernel | None], n_samples: int, seed: int
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    sums = np.zeros(n_samples, dtype=np.int64)
    for item, kernel in zip(items, kernels, strict=True):
        if kernel is None:
            sums += _sampled_item(item, n_samples, rng)
        else:
            shares = np.array(list(kernel.values()))
            sums += rng.choice(np.array(list(kernel), dtype=np.int64), size=n_samples, p=shares / shares.sum())
    return sums


def _sampled_item(item: Sequence[tuple[Hashable, Hashable]], n_samples: int, rng: np.random.Generator) -> np.ndarray:
    """Statistics of `n_samples` random placements of one item's values on its runs."""
    values = _numbered([value for value, _ in item])
    branches = _numbered([branch for _, branch in item])
    n_cells = (int(values.max()) + 1) * (int(branches.max()) + 1)
    costs = np.array([_cell(count) for count in range(len(item) + 1)], dtype=np.int64)
    sums = np.empty(n_samples, dtype=np.int64)
    for at in range(n_samples):
        cells = rng.permutation(values) * (int(branches.max()) + 1) + branches
        sums[at] = costs[np.bincount(cells, minlength=n_cells)].sum()
    return sums


def _numbered(labels: Sequence[Hashable]) -> np.ndarray:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels])
