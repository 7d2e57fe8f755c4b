"""Counts and what is refused as a count: the checks that all statistics share, and counts behind percentages."""

from __future__ import annotations

from fractions import Fraction


def checked_count(k: int, n: int) -> None:
    """Refuse what is not `k` events among `n` chances.

    Raises:
        ValueError: n < 1, or k outside 0..n.
    """
    if n < 1:
        raise ValueError(f"no chances: n is {n}")
    if not 0 <= k <= n:
        raise ValueError(f"{k} events among {n} chances")


def checked_probability(value: float, name: str) -> None:
    """Refuse what is not strictly between 0 and 1.

    Raises:
        ValueError: outside (0, 1), which includes NaN.
    """
    if not 0 < value < 1:
        raise ValueError(f"{name} is {value}, not between 0 and 1")


def counts_for_percentage(percentage: str, n: int) -> tuple[int, ...]:
    """All counts among `n` that round to a printed percentage; a half may have been rounded either way.

    A percentage is a lossy record of a count: with more than one count here, the count is not known.

    Args:
        percentage: as printed, such as "36.2"; its number of decimals is its precision.
        n: size of the group that the percentage is of, at least 1.

    Raises:
        ValueError: n < 1, or the text is not a decimal number.

    >>> counts_for_percentage("36.2", 80)
    (29,)
    >>> counts_for_percentage("36", 800)
    (284, 285, 286, 287, 288, 289, 290, 291, 292)
    """
    checked_count(0, n)
    shown = Fraction(percentage)
    decimals = len(percentage.partition(".")[2])
    half = Fraction(1, 2 * 10**decimals)
    low, high = (shown - half) * n / 100, (shown + half) * n / 100
    first, last = max(0, -(-low.numerator // low.denominator)), min(n, high.numerator // high.denominator)
    return tuple(range(first, last + 1))
