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

    Source: Holm 1979, Scand. J. Stat. 6:65, by `statsmodels.stats.multitest.multipletests`.

    >>> [round(p, 6) for p in holm([0.263176, 0.0005, 0.02])]
    [0.263176, 0.0015, 0.04]
    """
    return _adjusted(p_values, "holm")


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values, in the order given: expected share of false ones among the rejected <= level. For screens.

    Holds for independent and for positively dependent tests. What a screen finds is to be tested anew.

    Raises:
        ValueError: a value outside 0..1.

    Source: Benjamini and Hochberg 1995, J. R. Stat. Soc. B 57:289, by `multipletests`.

    >>> [round(p, 6) for p in benjamini_hochberg([0.263176, 0.0005, 0.02])]
    [0.263176, 0.0015, 0.03]
    """
    return _adjusted(p_values, "fdr_bh")


def _adjusted(p_values: Sequence[float], method: str) -> list[float]:
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("a p value is not between 0 and 1")
    if not p_values:
        return []
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(list(p_values), method=method)[1]]
