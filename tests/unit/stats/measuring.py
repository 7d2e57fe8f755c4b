"""How often each test rejects a true null, and how often each interval holds the truth: counted out, or simulated.

Counted out over all outcomes where these are few; otherwise by series of draws with a fixed seed. `LEVELS` and
`COVERAGES` name every one; `docs/methods.md` prints the same numbers.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy
from scipy.stats import binom

from samework.stats import association, clustered, exact, families, intervals, margins, paired, permutation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LEVEL, CONFIDENCE = 0.05, 0.95


class Measure(NamedTuple):
    """What is measured. values: of a test, the greatest rate of rejection; of an interval, coverage: mean and worst.

    holds: the method promises its level or coverage at any size. n_series: of draws; None where counted out.
    """

    holds: bool
    values: Callable[[], tuple[float, ...]]
    n_series: int | None = None


def trinomial(n: int, rate_b: float, rate_c: float) -> dict[tuple[int, int], float]:
    """Probability of every number of items that succeed under one arm only."""
    b, c = np.array([(b, c) for b in range(n + 1) for c in range(n + 1 - b)]).T
    rest = n - b - c
    logs = gammaln(n + 1) - gammaln(b + 1) - gammaln(c + 1) - gammaln(rest + 1)
    logs = logs + xlogy(b, rate_b) + xlogy(c, rate_c) + xlogy(rest, max(0.0, 1 - rate_b - rate_c))
    return {(int(i), int(j)): float(p) for i, j, p in zip(b, c, np.exp(logs), strict=True)}


def flips(n: int) -> list[tuple[int, int]]:
    return [(b, c) for b in range(n + 1) for c in range(n + 1 - b)]


def below(value: float | None) -> bool:
    """Rejected; what gives no p does not reject."""
    return value is not None and value <= LEVEL


# Levels


def binomial_level() -> tuple[float, ...]:
    worst = 0.0
    for n, rate in product(range(1, 61), (0.5, 0.1, 0.3)):
        rejected = [below(exact.binomial(k, n, rate=rate)) for k in range(n + 1)]
        worst = max(worst, float(binom.pmf(np.arange(n + 1), n, rate)[rejected].sum()))
    return (worst,)


def mcnemar_level(kind: str) -> tuple[float, ...]:
    """Given the number of flips, up to 80; mid-p over numbers of flips that 40 items give."""
    given = []
    for n in range(81):
        rejected = [below(getattr(paired.mcnemar(b, n - b), kind)) for b in range(n + 1)]
        given.append(float(binom.pmf(np.arange(n + 1), n, 0.5)[rejected].sum()))
    if kind != "mid":
        return (max(given),)
    n_items = np.arange(41)
    return (max(float((binom.pmf(n_items, 40, q) * given[:41]).sum()) for q in np.linspace(0.02, 1, 50)),)


def two_groups_level(test: Callable[[exact.Table], float], n: int) -> tuple[float, ...]:
    """Different items, two groups of n with one rate, at whatever rate is worst."""
    tables = [[((a, n - a), (b, n - b)) for b in range(n + 1)] for a in range(n + 1)]
    rejected = np.array([[below(test(each)) for each in row] for row in tables])
    k = np.arange(n + 1)
    chances = (binom.pmf(k, n, rate) for rate in np.linspace(0.02, 0.98, 49))
    return (max(float((np.outer(chance, chance) * rejected).sum()) for chance in chances),)


def strata_level(
    p_of: Callable[[list[exact.Table]], float], n: int, odds: Iterable[float] = (1.0,)
) -> tuple[float, ...]:
    """Two strata with n items in each of two groups, one odds ratio in both, at whatever rates are worst."""
    one = [((a, n - a), (b, n - b)) for a in range(n + 1) for b in range(n + 1)]
    rejected = np.zeros((len(one), len(one)), dtype=bool)
    for i, j in product(range(len(one)), repeat=2):
        if i <= j:  # strata may change places
            rejected[i, j] = rejected[j, i] = below(p_of([one[i], one[j]]))
    k, worst = np.arange(n + 1), 0.0
    for ratio in odds:
        rates = np.linspace(0.1, 0.9, 9)
        others = [ratio * rate / (1 - rate + ratio * rate) for rate in rates]
        chances = [np.outer(binom.pmf(k, n, b), binom.pmf(k, n, a)).ravel() for a, b in zip(rates, others, strict=True)]
        worst = max(worst, *(float(x @ rejected @ y) for x, y in product(chances, repeat=2)))
    return (worst,)


def exact_strata_p(kind: str) -> Callable[[list[exact.Table]], float]:
    def p_of(tables: list[exact.Table]) -> float:
        return float(getattr(exact.stratified_exact(tables), kind)) if is_open(tables) else 1.0

    return p_of


def plain_strata_p(kind: str) -> Callable[[list[exact.Table]], float]:
    def p_of(tables: list[exact.Table]) -> float:
        if not is_open(tables):
            return 1.0
        with np.errstate(all="ignore"):
            found = getattr(exact.cochran_mantel_haenszel(tables), kind)
        return 1.0 if found is None or np.isnan(found) else float(found)

    return p_of


def is_open(tables: list[exact.Table]) -> bool:
    """Some stratum has both outcomes; without that there is nothing to test, and samework refuses."""
    return any(0 < a[0] + b[0] < sum(a) + sum(b) for a, b in tables)


def margin_level(test: Callable[..., margins.Equivalence], n: int, at: Iterable[float]) -> tuple[float, ...]:
    """The true difference is the margin: how often it is said to be smaller, at the worst rate of flips."""
    worst = 0.0
    for margin in at:
        found = {}
        for b, c in flips(n):
            try:
                found[b, c] = test(b, c, n, margin=margin)
            except ValueError:  # the Wald standard error is 0: no test
                continue
        for rate_b in np.linspace(0, (1 - margin) / 2, 41):
            chance = trinomial(n, float(rate_b), float(rate_b) + margin)
            worst = max(
                worst, sum(p for flip, p in chance.items() if flip in found and below(found[flip].p_non_inferior))
            )
            worst = max(worst, sum(p for flip, p in chance.items() if flip in found and below(found[flip].p)))
    return (worst,)


MARGINS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
N_SERIES, N_COVERED = 1000, 400


def cochran_level(kind: str) -> tuple[float, ...]:
    """15 items from nearly never to nearly always solved, three arms alike."""
    rng = np.random.default_rng(21)
    drawn = ((rng.random((15, 3)) < rng.beta(0.5, 0.5, (15, 1))).astype(int).tolist() for _ in range(N_SERIES))
    return (sum(below(getattr(paired.cochran_q(rows), kind)) for rows in drawn) / N_SERIES,)


def path_level(n_repeats: int) -> tuple[float, ...]:
    """15 items, each with its own mixture of three paths, the same in both arms."""
    rng, rejected = np.random.default_rng(22), 0
    for _ in range(N_SERIES):
        odds = rng.dirichlet([0.4] * 3, size=15)
        draws = [rng.choice(3, size=(2, n_repeats), p=each).tolist() for each in odds]
        rejected += below(permutation.path_test([(tuple(a), tuple(b)) for a, b in draws]).p)
    return (rejected / N_SERIES,)


def dealt_level() -> tuple[float, ...]:
    """Each item a stratum: 15 items from nearly never to nearly always solved, three runs in each of two like arms."""
    rng, rejected = np.random.default_rng(29), 0
    for _ in range(N_COVERED):
        wins = rng.binomial(3, rng.beta(0.5, 0.5, (15, 1)), (15, 2)).tolist()
        rejected += below(exact.stratified_exact([((a, 3 - a), (b, 3 - b)) for a, b in wins]).two_sided)
    return (rejected / N_COVERED,)


def association_level() -> tuple[float, ...]:
    """Six items of six runs, two values and two branches that have nothing to do with each other."""
    rng, rejected = np.random.default_rng(23), 0
    for _ in range(N_SERIES):
        data = [[(int(v), int(b)) for v, b in rng.integers(0, 2, (6, 2))] for _ in range(6)]
        if any(len({b for _, b in item}) > 1 for item in data):
            rejected += below(association.association(data).p)
    return (rejected / N_SERIES,)


def holm_level() -> tuple[float, ...]:
    """Eight true nulls, some of them one and the same: families with at least one rejection."""
    rng, rejected = np.random.default_rng(24), 0
    for _ in range(N_SERIES):
        null = np.where(rng.random(8) < 0.5, rng.random(), rng.random(8))
        rejected += below(min(families.holm(null.tolist())))
    return (rejected / N_SERIES,)


def screen_level() -> tuple[float, ...]:
    """Four effects beside eight true nulls: mean share of nulls among what is found."""
    rng, shares = np.random.default_rng(25), 0.0
    for _ in range(N_SERIES):
        p_values = [*(rng.random(4) * 1e-4), *rng.random(8)]
        found = np.array([below(p) for p in families.benjamini_hochberg(p_values)])
        shares += found[4:].sum() / max(1, found.sum())
    return (float(shares / N_SERIES),)


LEVELS: dict[str, Measure] = {
    "exact.binomial": Measure(True, binomial_level),
    "paired.mcnemar exact": Measure(True, lambda: mcnemar_level("exact")),
    "paired.mcnemar exact_greater": Measure(True, lambda: mcnemar_level("exact_greater")),
    "paired.mcnemar mid": Measure(False, lambda: mcnemar_level("mid")),
    "exact.fisher": Measure(True, lambda: two_groups_level(exact.fisher, 15)),
    "exact.barnard": Measure(True, lambda: two_groups_level(exact.barnard, 6)),
    "exact.boschloo": Measure(True, lambda: two_groups_level(exact.boschloo, 6)),
    "exact.stratified_exact two_sided": Measure(True, lambda: strata_level(exact_strata_p("two_sided"), 5)),
    "exact.stratified_exact upper": Measure(True, lambda: strata_level(exact_strata_p("upper"), 5)),
    "exact.stratified_exact items": Measure(True, dealt_level, N_COVERED),
    "exact.cochran_mantel_haenszel p_corrected": Measure(False, lambda: strata_level(plain_strata_p("p_corrected"), 8)),
    "exact.cochran_mantel_haenszel p": Measure(False, lambda: strata_level(plain_strata_p("p"), 8)),
    "exact.cochran_mantel_haenszel breslow_day_p": Measure(
        False, lambda: strata_level(plain_strata_p("breslow_day_p"), 8, (1.0, 3.0))
    ),
    "margins.exact_equivalence": Measure(True, lambda: margin_level(margins.exact_equivalence, 12, (0.2,))),
    "margins.equivalence": Measure(False, lambda: margin_level(margins.equivalence, 40, MARGINS)),
    "margins.wald_equivalence": Measure(False, lambda: margin_level(margins.wald_equivalence, 40, MARGINS)),
    "paired.cochran_q p_exact": Measure(True, lambda: cochran_level("p_exact"), N_SERIES),
    "paired.cochran_q p": Measure(False, lambda: cochran_level("p"), N_SERIES),
    "permutation.path_test 2 repeats": Measure(True, lambda: path_level(2), N_SERIES),
    "permutation.path_test 3 repeats": Measure(True, lambda: path_level(3), N_SERIES),
    "association.association": Measure(True, association_level, N_SERIES),
    "families.holm": Measure(True, holm_level, N_SERIES),
    "families.benjamini_hochberg": Measure(True, screen_level, N_SERIES),
}

# Coverages: on average over the true values tried, and at the worst of them


def rate_coverage(interval: Callable[[int, int], intervals.Interval], n: int) -> tuple[float, ...]:
    k = np.arange(n + 1)
    low, high = np.array([interval(int(each), n) for each in k]).T
    rates = np.linspace(0.01, 0.99, 197)
    held = [float((binom.pmf(k, n, p) * ((low <= p + 1e-12) & (p <= high + 1e-12))).sum()) for p in rates]
    return float(np.mean(held)), min(held)


def one_sided(side: int) -> Callable[[int, int], intervals.Interval]:
    def limit(k: int, n: int) -> intervals.Interval:
        found = intervals.one_sided_limits(k, n)[side]
        return intervals.Interval(found, 1.0) if side == 0 else intervals.Interval(0.0, found)

    return limit


def bound_without_events(k: int, n: int) -> intervals.Interval:
    """With an event the bound says nothing, which is never wrong."""
    return intervals.Interval(0.0, intervals.zero_event_bound(n) if k == 0 else 1.0)


def two_groups_coverage(n: int) -> tuple[float, ...]:
    k = np.arange(n + 1)
    found = np.array([[intervals.newcombe(a, n, b, n) for b in range(n + 1)] for a in range(n + 1)])
    low, high = found[..., 0], found[..., 1]
    held = [
        float((np.outer(binom.pmf(k, n, p), binom.pmf(k, n, q)) * ((low <= p - q) & (p - q <= high))).sum())
        for p, q in product(np.linspace(0.05, 0.95, 19), repeat=2)
    ]
    return float(np.mean(held)), min(held)


ODDS = (0.2, 0.5, 1.0, 2.0, 5.0)


def odds_coverage(n: int) -> tuple[float, ...]:
    k = np.arange(n + 1)
    low, high = np.zeros((n + 1, n + 1)), np.full((n + 1, n + 1), np.inf)
    for a, b in product(range(n + 1), repeat=2):
        if 0 < a + b < 2 * n:
            low[a, b], high[a, b] = exact.conditional_odds_ratio(((a, n - a), (b, n - b))).interval
    held = []
    for ratio, rate in product(ODDS, np.linspace(0.1, 0.9, 9)):
        other = ratio * rate / (1 - rate + ratio * rate)
        chance = np.outer(binom.pmf(k, n, other), binom.pmf(k, n, rate))
        held.append(float((chance * ((low <= ratio) & (ratio <= high))).sum()))
    return float(np.mean(held)), min(held)


def pooled_coverage() -> tuple[float, ...]:
    """Three strata of 25 and 25 items, rates 0.2, 0.4 and 0.6 in one group, one odds ratio."""
    rng, held = np.random.default_rng(26), []
    for ratio in ODDS:
        covered = 0
        for _ in range(N_COVERED):
            tables = []
            for rate in (0.2, 0.4, 0.6):
                a, b = rng.binomial(25, ratio * rate / (1 - rate + ratio * rate)), rng.binomial(25, rate)
                tables.append(((int(a), int(25 - a)), (int(b), int(25 - b))))
            low, high = exact.cochran_mantel_haenszel(tables).pooled_interval
            covered += low <= ratio <= high
        held.append(covered / N_COVERED)
    return float(np.mean(held)), min(held)


def paired_coverage(interval: Callable[[int, int, int], intervals.Interval], n: int) -> tuple[float, ...]:
    found = {(b, c): interval(b, c, n) for b, c in flips(n)}
    rates = [(0.05, 0.05), (0.1, 0.05), (0.2, 0.1), (0.02, 0.02), (0.3, 0.3), (0.5, 0.1), (0.01, 0.2)]
    held = []
    for b, c in rates:
        chance = trinomial(n, b, c)
        held.append(sum(p for flip, p in chance.items() if found[flip].low - 1e-9 <= b - c <= found[flip].high + 1e-9))
    return float(np.mean(held)), min(held)


N_RESAMPLED = 500


def bootstrap_coverage(n_items: int) -> tuple[float, ...]:
    """Items from nearly never to nearly always solved, five runs each; their mean is 1/2."""
    rng, covered = np.random.default_rng(27), 0
    for seed in range(N_RESAMPLED):
        wins = rng.binomial(5, rng.beta(0.5, 0.5, n_items))
        items = [(1,) * int(won) + (0,) * int(5 - won) for won in wins]
        low, high = clustered.clustered_rate(items, n_resamples=999, seed=seed).interval
        covered += low <= 0.5 <= high
    return (covered / N_RESAMPLED,)


def difference_coverage(n_items: int, confidence: float = CONFIDENCE) -> tuple[float, ...]:
    """The second arm solves an item as often as the first, or half as often: the true difference is 1/4."""
    rng, covered = np.random.default_rng(28), 0
    for seed in range(N_RESAMPLED):
        rates = rng.beta(0.5, 0.5, n_items)
        pairs = [(rng.random(5) < rate, rng.random(5) < rate / 2) for rate in rates]
        ours, theirs = ([tuple(map(int, runs)) for runs in arm] for arm in zip(*pairs, strict=True))
        found = clustered.clustered_difference(ours, theirs, confidence=confidence, n_resamples=999, seed=seed)
        low, high = found.interval
        covered += low <= 0.25 <= high
    return (covered / N_RESAMPLED,)


def chernoff(k: int, n: int) -> intervals.Interval:
    return clustered.chernoff(k / n, n)


COVERAGES: dict[str, Measure] = {
    "intervals.clopper_pearson": Measure(True, lambda: rate_coverage(intervals.clopper_pearson, 20)),
    "intervals.one_sided_limits low": Measure(True, lambda: rate_coverage(one_sided(0), 20)),
    "intervals.one_sided_limits high": Measure(True, lambda: rate_coverage(one_sided(1), 20)),
    "intervals.zero_event_bound": Measure(True, lambda: rate_coverage(bound_without_events, 20)),
    "intervals.wilson": Measure(False, lambda: rate_coverage(intervals.wilson, 20)),
    "intervals.jeffreys": Measure(False, lambda: rate_coverage(intervals.jeffreys, 20)),
    "intervals.newcombe": Measure(False, lambda: two_groups_coverage(20)),
    "exact.conditional_odds_ratio": Measure(True, lambda: odds_coverage(10)),
    "exact.cochran_mantel_haenszel pooled_interval": Measure(False, pooled_coverage, N_COVERED),
    "margins.tango": Measure(False, lambda: paired_coverage(margins.tango, 40)),
    "margins.wald": Measure(False, lambda: paired_coverage(margins.wald, 40)),
    "clustered.clustered_rate 10 items": Measure(False, lambda: bootstrap_coverage(10), N_RESAMPLED),
    "clustered.clustered_rate 40 items": Measure(False, lambda: bootstrap_coverage(40), N_RESAMPLED),
    "clustered.clustered_difference 40 items": Measure(False, lambda: difference_coverage(40), N_RESAMPLED),
    "clustered.clustered_difference 40 items, 90 %": Measure(False, lambda: difference_coverage(40, 0.9), N_RESAMPLED),
    "clustered.chernoff": Measure(True, lambda: rate_coverage(chernoff, 20)),
}
