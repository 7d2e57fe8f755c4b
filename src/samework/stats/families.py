"""Several tests at once: p values adjusted so that a family of them keeps its level."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values, in the order given: one false rejection in the family has probability <= level. For claims.

    No assumption on how the tests depend on each other.

    Raises:
        ValueError: a value outside 0..1.

    Source: Holm 1979, Scand. J. Stat. 6:65. Own: `multipletests` of statsmodels collects all garbage at each call.

    >>> [round(p, 6) for p in holm([0.263176, 0.0005, 0.02])]
    [0.263176, 0.0015, 0.04]
    """
    _check(p_values)
    adjusted, least, n = [0.0] * len(p_values), 0.0, len(p_values)
    for rank, place in enumerate(sorted(range(n), key=p_values.__getitem__)):
        least = max(least, min(1.0, (n - rank) * p_values[place]))
        adjusted[place] = least
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values, in the order given: expected share of false ones among the rejected <= level. For screens.

    Holds for independent and for positively dependent tests. What a screen finds is to be tested anew.

    Raises:
        ValueError: a value outside 0..1.

    Source: Benjamini and Hochberg 1995, J. R. Stat. Soc. B 57:289, by
    `scipy.stats.false_discovery_control`.

    >>> [round(p, 6) for p in benjamini_hochberg([0.263176, 0.0005, 0.02])]
    [0.263176, 0.0015, 0.03]
    """
    _check(p_values)
    if not p_values:
        return []
    from scipy.stats import false_discovery_control

    return [float(p) for p in false_discovery_control(list(p_values), method="bh")]


def _check(p_values: Sequence[float]) -> None:
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("a p value is not between 0 and 1")
