"""Exact tests on counts of independent items: one rate, two groups, two groups within strata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from samework.stats.counts import checked_count, checked_probability
from samework.stats.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

Alternative = Literal["two-sided", "greater", "less"]
Table = tuple[tuple[int, int], tuple[int, int]]
"""((events a, others a), (events b, others b)): groups are rows."""

_TIE = 1 + 1e-9
"""Outcomes whose probabilities differ by less are equally likely; only rounding sets them apart."""

_N_SEARCH = 512
"""Starting points of the search for the worst rate; with scipy's default of 32 it can stop 2 % short of it.
There the groups are columns, so tables are turned before: the margins held fixed are the groups' sizes."""


class OddsRatio(NamedTuple):
    """Conditional maximum likelihood odds ratio with its exact interval; infinite where a cell is empty."""

    estimate: float
    interval: Interval


class StratifiedTest(NamedTuple):
    """Cochran-Mantel-Haenszel over strata, with the test that the odds ratio is one and the same in all."""

    chi2: float
    p: float
    """Without continuity correction."""
    p_corrected: float
    """With continuity correction, nearer to the exact p."""
    pooled_odds_ratio: float
    pooled_interval: Interval
    breslow_day_p: float
    """Small: the strata differ, and one pooled odds ratio misleads."""


class StratifiedExact(NamedTuple):
    """Exact conditional test over strata."""

    n_events_a: int
    """Sum over strata of group a's events: the statistic."""
    two_sided: float
    upper: float
    """Probability of as many events in group a, or more."""
    lower: float


def binomial(k: int, n: int, *, rate: float = 0.5, alternative: Alternative = "two-sided") -> float:
    """P value of `k` events among `n` independent items against a rate fixed beforehand.

    For donor-following the rate is 1/2; where a run may follow neither donor this errs on the safe side.

    Raises:
        ValueError: not k events among n >= 1 chances, or rate outside (0, 1).

    Source: `scipy.stats.binomtest`; two-sided by outcomes no likelier than the one seen.

    >>> round(binomial(43, 43) * 1e13, 5)
    2.27374
    """
    from scipy.stats import binomtest

    checked_count(k, n)
    checked_probability(rate, "rate")
    return float(binomtest(k, n, rate, alternative=alternative).pvalue)


def fisher(table: Table, *, alternative: Alternative = "two-sided") -> float:
    """Fisher's exact p for two groups of *different* items.

    Args:
        table: groups are rows, event and no event are columns.
        alternative: "greater": group a has the higher odds.

    Raises:
        ValueError: a count below 0, or a group without items.

    Source: Fisher 1935, by `scipy.stats.fisher_exact`.

    >>> round(fisher(((31, 49), (1, 79))) * 1e10, 5)
    5.02147
    """
    from scipy.stats import fisher_exact

    _check_table(table)
    return float(fisher_exact(table, alternative=alternative).pvalue)


def barnard(table: Table) -> float:
    """Barnard's unconditional two-sided p: more power than Fisher's, found by numerical search.

    Raises:
        ValueError: a count below 0, or a group without items.

    Source: Barnard 1947, Biometrika 34:123, by `scipy.stats.barnard_exact`; score statistic, pooled variance.

    >>> round(barnard(((2, 0), (0, 2))), 3)
    0.125
    """
    from scipy.stats import barnard_exact

    _check_table(table)
    return float(barnard_exact(np.transpose(table), n=_N_SEARCH).pvalue)


def boschloo(table: Table) -> float:
    """Boschloo's unconditional two-sided p: never above Fisher's doubled tail, by numerical search.

    Raises:
        ValueError: a count below 0, or a group without items.

    Source: Boschloo 1970, Stat. Neerl. 24:1, by `scipy.stats.boschloo_exact`.

    >>> round(boschloo(((2, 0), (0, 2))), 3)
    0.125
    """
    from scipy.stats import boschloo_exact

    _check_table(table)
    return float(boschloo_exact(np.transpose(table), n=_N_SEARCH).pvalue)


def conditional_odds_ratio(table: Table, *, confidence: float = 0.95) -> OddsRatio:
    """Odds ratio of two groups of different items with its exact interval, both given the margins.

    Raises:
        ValueError: a count below 0, a group without items, or confidence outside (0, 1).

    Source: Cornfield 1956, by `scipy.stats.contingency.odds_ratio(kind="conditional")`.

    >>> round(conditional_odds_ratio(((31, 49), (1, 79))).estimate, 4)
    49.0573
    """
    from scipy.stats.contingency import odds_ratio

    _check_table(table)
    checked_probability(confidence, "confidence")
    result = odds_ratio(table, kind="conditional")
    limits = result.confidence_interval(confidence_level=confidence)
    return OddsRatio(float(result.statistic), Interval(float(limits.low), float(limits.high)))


def cochran_mantel_haenszel(tables: Sequence[Table]) -> StratifiedTest:
    """Two groups compared within strata, whose items are all different; large-sample p values.

    Args:
        tables: one per stratum, groups are rows.

    Raises:
        ValueError: no stratum, a count below 0, or no stratum in which the margins leave anything open.

    Source: Mantel and Haenszel 1959; Breslow and Day 1980, with Tarone's adjustment, by
    `statsmodels.stats.contingency_tables.StratifiedTable`.

    >>> round(cochran_mantel_haenszel([((29, 51), (32, 48)), ((60, 20), (65, 15))]).p_corrected, 5)
    0.38707
    """
    open_tables = [table for table in _checked_strata(tables) if _is_open(table)]
    if not open_tables:
        raise ValueError("in no stratum do the margins leave anything open")
    from statsmodels.stats.contingency_tables import StratifiedTable

    strata = StratifiedTable([np.asarray(table) for table in open_tables])
    plain, corrected = strata.test_null_odds(correction=False), strata.test_null_odds(correction=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = strata.oddsratio_pooled_confint()
        pooled, spread = float(strata.oddsratio_pooled), strata.test_equal_odds(adjust=True)
    return StratifiedTest(
        chi2=float(plain.statistic),
        p=float(plain.pvalue),
        p_corrected=float(corrected.pvalue),
        pooled_odds_ratio=pooled,
        pooled_interval=Interval(float(low), float(high)),
        breslow_day_p=float(spread.pvalue),
    )


def stratified_exact(tables: Sequence[Table]) -> StratifiedExact:
    """Two groups compared within strata, exactly: the events of group a given all margins.

    Each stratum's count is hypergeometric under the null; their sum is the convolution. Probabilities below 1e-300
    count as 1e-300.

    Args:
        tables: one per stratum, groups are rows; strata may be of any size, also one item of each group.

    Raises:
        ValueError: no stratum, or a count below 0.

    Source: Gart 1970, Biometrika 57:471; two-sided by outcomes no likelier than the one seen.

    >>> round(stratified_exact([((29, 51), (32, 48)), ((60, 20), (65, 15))]).two_sided, 6)
    0.386375
    """
    from scipy.stats import hypergeom

    distribution, first, observed = np.ones(1), 0, 0
    for (a, b), (c, d) in _checked_strata(tables):
        low, high = max(0, a - d), min(a + b, a + c)
        first, observed = first + low, observed + a
        if low < high:
            parts = hypergeom(a + b + c + d, a + c, a + b).pmf(np.arange(low, high + 1))
            distribution = np.convolve(distribution, parts)
    at = observed - first
    likely = distribution <= distribution[at] * _TIE
    return StratifiedExact(
        n_events_a=observed,
        two_sided=_tail(distribution[likely]),
        upper=_tail(distribution[at:]),
        lower=_tail(distribution[: at + 1]),
    )


def _tail(parts: np.ndarray) -> float:
    return min(1.0, max(1e-300, float(parts.sum())))


def _is_open(table: Table) -> bool:
    """Whether both groups and both columns have items, so that the margins leave something open."""
    (a, b), (c, d) = table
    return min(a + b, c + d, a + c, b + d) > 0


def _checked_strata(tables: Sequence[Table]) -> Sequence[Table]:
    if not tables:
        raise ValueError("no stratum")
    if any(cell < 0 for table in tables for row in table for cell in row):
        raise ValueError("a count is below 0")
    return tables


def _check_table(table: Table) -> None:
    for k, others in table:
        checked_count(k, k + others)
