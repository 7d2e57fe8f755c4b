"""What `k` attempts at one item would give, from `n` recorded ones: at least one success, or nothing but."""

from __future__ import annotations

from math import comb

from samework.stats.counts import checked_count


def pass_at_k(n: int, c: int, k: int) -> float:
    """Probability that at least one of `k` runs, drawn from `n` recorded ones of which `c` passed, passed.

    Unbiased for the item's true value where the n runs are independent; a benchmark's number is the mean over items.

    Args:
        n: recorded runs of the item.
        c: those that passed.
        k: attempts, 1..n; more attempts than runs cannot be estimated.

    Raises:
        ValueError: c outside 0..n or k outside 1..n.

    Source: Chen et al. 2021, arXiv 2107.03374.

    >>> round(pass_at_k(10, 3, 5), 6)
    0.916667
    """
    _check(n, c, k)
    return 1 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Probability that all of `k` runs, drawn from `n` recorded ones of which `c` passed, passed (pass^k).

    Args:
        n: recorded runs of the item.
        c: those that passed.
        k: attempts, 1..n.

    Raises:
        ValueError: c outside 0..n or k outside 1..n.

    Source: Yao et al. 2024, arXiv 2406.12045.

    >>> round(pass_hat_k(10, 3, 2), 7)
    0.0666667
    """
    _check(n, c, k)
    return comb(c, k) / comb(n, k)


def _check(n: int, c: int, k: int) -> None:
    checked_count(c, n)
    if not 1 <= k <= n:
        raise ValueError(f"{k} attempts cannot be estimated from {n} runs")
