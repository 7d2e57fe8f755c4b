"""Do arms take different paths? Excess divergence, tested by permuting arm labels within each item, exactly.

Labels are exchanged only among the runs of one item, so items may differ in any way. One run per arm tells nothing of
what an arm does when repeated: such items are left out, and a comparison of nothing else is refused.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import comb, gcd, lcm, prod
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from samework.errors import EvidenceError

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

Method = Literal["exact", "sampled"]
SMALLEST_P = 1e-300
"""P values below it are given as it; none is ever 0."""

_N_EXACT_STEPS = 1_000_000_000
"""Additions that the exact convolution may take, about a second; beyond that, labelings are sampled."""


class PathTest(NamedTuple):
    """Agreement within and between two arms over items, with the permutation test of their excess divergence."""

    n_items: int
    """Items with at least two runs in each arm: those that the test is about."""
    n_untested: int
    """Items left out, with fewer than two runs in an arm."""
    self_agreement_a: float
    """Mean over items of the share of pairs of runs of arm a that agree."""
    self_agreement_b: float
    cross_agreement: float
    """Mean over items of the share of pairs, one run of each arm, that agree."""
    excess_divergence: float
    """(self_agreement_a + self_agreement_b) / 2 - cross_agreement; may be negative by chance."""
    p: float
    """One-sided: as much excess divergence or more, were arm labels exchangeable within each item."""
    smallest_p: float
    """The least p that these runs can give, however the arms had shared them; above the level there is no test."""
    method: Method


class _Item(NamedTuple):
    """Runs of one item: sizes of its classes over both arms (descending), runs per arm."""

    sizes: tuple[int, ...]
    n_a: int
    n_b: int


def path_test(
    items: Sequence[tuple[Sequence[Hashable], Sequence[Hashable]]], *, n_samples: int = 99_999, seed: int = 0
) -> PathTest:
    """Test whether two arms take different paths beyond what each does when repeated.

    Args:
        items: per item, the runs of arm a and of arm b, each run by the class it is in (such as a digest); runs agree
            where their classes are equal. Runs of unknown class are to be left out before, and counted.
        n_samples: labelings drawn where the exact distribution is too large (items with unlike numbers of runs).
        seed: of those draws.

    Returns:
        The statistic, half the unbiased squared MMD with the identity kernel averaged over items, and its p value.

    Raises:
        EvidenceError: no item has two runs in each arm.

    Source: exact conditional test; statistic as in arXiv 2410.20247.

    >>> found = path_test([("xx", "yy")] * 14 + [("xx", "xx")] * 26)
    >>> found.excess_divergence, found.method, round(found.p * 1e7, 5)
    (0.35, 'exact', 2.09075)
    """
    tested = [(a, b) for a, b in items if min(len(a), len(b)) > 1]
    if not tested:
        raise EvidenceError(
            "no test: no item has two runs in each arm",
            effect="How often an arm differs from itself is not known, so a difference between arms says nothing.",
            hint="Run each arm at least twice on each item.",
        )
    designs = Counter(_design(a, b) for a, b in tested)
    scale = lcm(*(lcm(i.n_a * (i.n_a - 1), i.n_b * (i.n_b - 1), i.n_a * i.n_b) for i in designs))
    kernels = {design: _kernel(design, scale) for design in designs}
    observed = sum(_scaled_divergence(a, b, scale) for a, b in tested)
    p, method = _upper_tail(kernels, designs, observed, n_samples, seed)
    smallest = prod(_share_of_largest(kernels[design]) ** count for design, count in designs.items())
    floor = max(SMALLEST_P, smallest, 1 / (n_samples + 1) if method == "sampled" else 0)
    self_a = sum(_pairs(Counter(a)) / comb(len(a), 2) for a, _ in tested) / len(tested)
    self_b = sum(_pairs(Counter(b)) / comb(len(b), 2) for _, b in tested) / len(tested)
    excess = observed / (scale * len(tested))
    return PathTest(
        n_items=len(tested),
        n_untested=len(items) - len(tested),
        self_agreement_a=self_a,
        self_agreement_b=self_b,
        cross_agreement=sum(_cross(a, b) / (len(a) * len(b)) for a, b in tested) / len(tested),
        excess_divergence=excess,
        p=min(1.0, max(p, floor)),
        smallest_p=floor,
        method=method,
    )


def _design(a: Sequence[Hashable], b: Sequence[Hashable]) -> _Item:
    sizes = sorted(Counter([*a, *b]).values(), reverse=True)
    return _Item(tuple(sizes), len(a), len(b))


def _pairs(classes: Counter[Hashable]) -> int:
    return sum(comb(size, 2) for size in classes.values())


def _cross(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    in_b = Counter(b)
    return sum(count * in_b[each] for each, count in Counter(a).items())


def _scaled_divergence(a: Sequence[Hashable], b: Sequence[Hashable], scale: int) -> int:
    """Excess divergence of one item as a whole number of 1/scale."""
    n_a, n_b = len(a), len(b)
    within = _pairs(Counter(a)) * (scale // (n_a * (n_a - 1))) + _pairs(Counter(b)) * (scale // (n_b * (n_b - 1)))
    return within - _cross(a, b) * (scale // (n_a * n_b))


@lru_cache(maxsize=4096)
def _kernel(item: _Item, scale: int) -> dict[int, int]:
    """Scaled excess divergence -> number of labelings that give it, over all C(n_a + n_b, n_a) labelings.

    One class after the other: how many of its runs are labelled a decides its share of the statistic.
    """
    per_a, per_b = scale // (item.n_a * (item.n_a - 1)), scale // (item.n_b * (item.n_b - 1))
    per_cross = scale // (item.n_a * item.n_b)
    states: dict[tuple[int, int], int] = {(0, 0): 1}
    for size in item.sizes:
        reached: Counter[tuple[int, int]] = Counter()
        for (used, value), ways in states.items():
            for k in range(min(size, item.n_a - used) + 1):
                rest = size - k
                gain = comb(k, 2) * per_a + comb(rest, 2) * per_b - k * rest * per_cross
                reached[used + k, value + gain] += ways * comb(size, k)
        states = reached
    return {value: ways for (used, value), ways in states.items() if used == item.n_a}


def _share_of_largest(kernel: dict[int, int]) -> float:
    return kernel[max(kernel)] / sum(kernel.values())


def _upper_tail(
    kernels: dict[_Item, dict[int, int]], designs: Counter[_Item], observed: int, n_samples: int, seed: int
) -> tuple[float, Method]:
    """Probability that the sum over items is at least `observed`."""
    lowest = sum(min(kernels[design]) * count for design, count in designs.items())
    step = gcd(*(value - min(kernel) for kernel in kernels.values() for value in kernel)) or 1
    spread = [(design, (max(kernels[design]) - min(kernels[design])) // step) for design in designs]
    spread.sort(key=lambda each: each[1])
    n_steps, length = 0, 1
    for design, width in spread:
        count = designs[design]
        n_steps += len(kernels[design]) * (count * length + width * count * (count + 1) // 2)
        length += width * count
    if n_steps > _N_EXACT_STEPS:
        return _sampled_tail(kernels, designs, observed, n_samples, seed), "sampled"
    distribution = np.ones(1)
    for design, width in spread:
        if width:
            for _ in range(designs[design]):
                distribution = _convolved(distribution, kernels[design], step)
    # Counted from the end, so that small parts are added first.
    tail = distribution[(observed - lowest) // step :]
    return float(tail[::-1].cumsum()[-1]), "exact"


def _convolved(distribution: np.ndarray, kernel: dict[int, int], step: int) -> np.ndarray:
    first, total = min(kernel), sum(kernel.values())
    result = np.zeros(len(distribution) + (max(kernel) - first) // step)
    for value, ways in kernel.items():
        at = (value - first) // step
        result[at : at + len(distribution)] += distribution * (ways / total)
    return result


def _sampled_tail(
    kernels: dict[_Item, dict[int, int]], designs: Counter[_Item], observed: int, n_samples: int, seed: int
) -> float:
    """(1 + labelings drawn that are as extreme) / (1 + labelings drawn): valid at any number of draws."""
    rng = np.random.default_rng(seed)
    sums = np.zeros(n_samples, dtype=np.int64)
    for design, count in designs.items():
        kernel = kernels[design]
        shares = np.array(list(kernel.values()), dtype=float)
        drawn = rng.multinomial(count, shares / shares.sum(), size=n_samples)
        sums += drawn @ np.array(list(kernel), dtype=np.int64)
    return float((1 + (sums >= observed).sum()) / (1 + n_samples))
