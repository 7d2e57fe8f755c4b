"""What `samework experiment` answers: frozen records; rates never without what is unknown, tests never without control.

Intervals are pairs (low, high) at 95 %. `None` beside a reason: not computed, and why.
"""

from __future__ import annotations

import msgspec

Limits = tuple[float, float]


class Caution(msgspec.Struct, frozen=True):
    """What has to be known before any number is read. code: slug."""

    code: str
    text: str


class Unplaced(msgspec.Struct, frozen=True):
    """A run that no arm could take, with why (the field's absence)."""

    run_id: str
    task: str
    reason: str


class ArmSummary(msgspec.Struct, frozen=True):
    """One arm over the common items. repeats: fewest and most runs of an item. n_repeated: items with two or more."""

    arm: str
    n_runs: int
    n_items: int
    n_repeated: int
    repeats: tuple[int, int]


class ItemRate(msgspec.Struct, frozen=True):
    """`k` of `n` items whose answer is known, `n_unknown` more whose answer is not.

    wilson: to show. exact: Clopper-Pearson, for claims. zero_bound: one-sided upper bound where k is 0. bounds: over
    all items, the unknown ones taken as all without and all with the event. None where there is nothing to divide by.
    """

    k: int
    n: int
    n_unknown: int = 0
    wilson: Limits | None = None
    exact: Limits | None = None
    zero_bound: float | None = None
    bounds: Limits | None = None


class Mean(msgspec.Struct, frozen=True):
    """Mean over items of each item's rate, every item weighing the same. method: bootstrap, exact or chernoff."""

    estimate: float
    interval: Limits
    n_items: int
    method: str


class Disagreement(msgspec.Struct, frozen=True):
    """How often runs of one item differ: by pair, by item, and as a mean over items.

    bounds: rate of pairs, unknown ones taken as all same and all different. items: items with a differing pair.
    mean: only where some item has several pairs; over items with a known pair.
    """

    different: int
    same: int
    unknown: int
    bounds: Limits | None
    items: ItemRate
    mean: Mean | None = None


class PathResult(msgspec.Struct, frozen=True):
    """Excess divergence between two arms and its exact test. p None: no test, `reason` says why.

    n_items: items tested. n_single: left out with fewer than two runs in an arm. n_unknown: left out for an unknown
    pair. smallest_p: below which p could not fall.
    """

    n_items: int
    n_single: int
    n_unknown: int
    self_agreement: tuple[float, float] | None = None
    cross_agreement: float | None = None
    excess_divergence: float | None = None
    p: float | None = None
    p_holm: float | None = None
    smallest_p: float | None = None
    method: str | None = None
    reason: str | None = None
    sentence: str = ""


class ScreenedItem(msgspec.Struct, frozen=True):
    """One item on which two arms differ. p: of its own runs alone, q: after Benjamini-Hochberg over all items tested.

    None where so few runs of one item can decide nothing.
    """

    task: str
    p: float | None = None
    q: float | None = None


class SelfRepeat(msgspec.Struct, frozen=True):
    """How often an arm differs from itself: the control."""

    arm: str
    found: Disagreement


class CrossArm(msgspec.Struct, frozen=True):
    """How often two arms differ, with the test of whether it is more than each differs from itself."""

    a: str
    b: str
    found: Disagreement
    test: PathResult
    items: tuple[ScreenedItem, ...] = ()


class LevelResult(msgspec.Struct, frozen=True):
    """One level. n_not_applicable: items that have nothing to compare here (no tree by kind, no call made)."""

    level: str
    by_arm: tuple[SelfRepeat, ...]
    across: tuple[CrossArm, ...]
    n_not_applicable: int = 0


class MarginResult(msgspec.Struct, frozen=True):
    """Whether a difference lies within a margin that was declared beforehand.

    p_*: exact where single outcomes are compared, score_*: Tango's beside it. Where means over repeats are compared
    there is no p: `interval` is the 90 % interval that has to lie within the margin.
    """

    margin: float
    method: str
    non_inferior: bool
    equivalent: bool
    p_non_inferior: float | None = None
    p_equivalent: float | None = None
    score_non_inferior: float | None = None
    score_equivalent: float | None = None
    interval: Limits | None = None
    p_non_inferior_holm: float | None = None
    p_equivalent_holm: float | None = None
    sentence: str = ""


class Flips(msgspec.Struct, frozen=True):
    """Success of the same items under two arms.

    only_a / only_b: items that succeed (more often) under one arm only. n_unknown: common items without a known run in
    an arm. is_means: some item's repeats disagree or are unlike in number, so that per-item means are compared.
    difference: rate of a minus rate of b. bounds: over all common items, unknown runs taken as failures and as
    successes.
    """

    a: str
    b: str
    n_items: int
    both: int
    only_a: int
    only_b: int
    neither: int
    n_unknown: int
    is_means: bool
    difference: float | None = None
    interval: Limits | None = None
    interval_method: str | None = None
    bounds: Limits | None = None
    test: str | None = None
    p: float | None = None
    p_mid: float | None = None
    p_holm: float | None = None
    margin: MarginResult | None = None
    reason: str | None = None
    sentence: str = ""


class StratumFlips(msgspec.Struct, frozen=True):
    """Flips of the items of one stratum."""

    stratum: str
    n_items: int
    only_a: int
    only_b: int
    success_a: int
    success_b: int
    p: float


class Strata(msgspec.Struct, frozen=True):
    """Two arms within strata of items. The tables take the arms' items as different ones: beside McNemar, no claim.

    n_unplaced: items whose stratum is unrecorded or not one for all runs. reason: why there is no combined test.
    """

    by: str
    a: str
    b: str
    strata: tuple[StratumFlips, ...]
    n_unplaced: int = 0
    cmh_p: float | None = None
    pooled_odds_ratio: float | None = None
    pooled_interval: Limits | None = None
    breslow_day_p: float | None = None
    exact_p: float | None = None
    reason: str | None = None


class SeveralArms(msgspec.Struct, frozen=True):
    """Cochran's Q over the items whose success is known under every arm. p_exact None: too many tables to count."""

    n_items: int
    statistic: float | None = None
    p: float | None = None
    p_exact: float | None = None
    p_holm: float | None = None
    reason: str | None = None


class Attempts(msgspec.Struct, frozen=True):
    """pass@k and pass^k of one arm, mean over the items with k known runs.

    *_bounds: over the items with k runs, unknown outcomes taken as failures and as successes.
    """

    arm: str
    k: int
    n_items: int
    pass_at_k: Mean | None
    pass_hat_k: Mean | None
    pass_at_k_bounds: Limits | None = None
    pass_hat_k_bounds: Limits | None = None


class SuccessRate(msgspec.Struct, frozen=True):
    """Runs of one arm that succeeded, failed, or whose outcome nobody recorded."""

    arm: str
    succeeded: int
    failed: int
    unknown: int


class Success(msgspec.Struct, frozen=True):
    """What counts as success, and what came of it. evidence: outcome:resolved, outcome:reward>=1, tests ..."""

    evidence: str
    grade: str
    by_arm: tuple[SuccessRate, ...]
    flips: tuple[Flips, ...]
    attempts: tuple[Attempts, ...]
    several: SeveralArms | None = None
    strata: tuple[Strata, ...] = ()


class DonorFollowing(msgspec.Struct, frozen=True):
    """Runs with transplanted state against the arm it came from (donor) and the arm it was put into (recipient).

    Counts of items: all of them; `apart` of those in which donor and recipient take different paths. `p` is the exact
    binomial against 1/2 over the items apart; conservative, for a run may follow neither.
    """

    arm: str
    donor: str
    recipient: str | None
    level: str
    source: str
    n_items: int
    follows_donor: int
    follows_recipient: int
    follows_neither: int
    n_unknown: int
    n_apart: int
    apart_donor: int
    apart_recipient: int
    apart_neither: int
    apart_unknown: int
    n_inseparable: int = 0
    p: float | None = None
    p_holm: float | None = None
    exact: Limits | None = None
    reason: str | None = None
    sentence: str = ""


class FlakyVerifier(msgspec.Struct, frozen=True):
    """Repeated grading of one tree, apart from runs that left other trees.

    cells: (tree, suite, environment) graded more than once. items: items with such a cell. nodes: tests that changed
    their outcome within a cell, by task. success_one_tree / success_other_trees: groups of runs of one item with one
    tree (several trees) whose success is known more than once, and those that disagree.
    """

    cells: int
    cells_flipping: int
    items: ItemRate
    nodes: dict[str, tuple[str, ...]] = {}
    success_one_tree: tuple[int, int] = (0, 0)
    success_other_trees: tuple[int, int] = (0, 0)


class PathPlan(msgspec.Struct, frozen=True):
    """What `n_repeats` runs per arm and item would show. n_items: rate of divergence -> items for 80 % power."""

    n_repeats: int
    n_diverging_needed: int | None
    n_items: dict[str, int | None]


class FlipPlan(msgspec.Struct, frozen=True):
    """Power of McNemar's test at a number of items, flips as rare and as one-sided as seen."""

    n_items: int
    power: float


class Plan(msgspec.Struct, frozen=True):
    """How many runs and items a question needs. to_see: rate -> probability -> runs to see it once.

    observed: rate of divergence that was seen, by level. more: what would decide, in sentences.
    """

    to_see: dict[str, dict[str, int]]
    paths: tuple[PathPlan, ...]
    observed: dict[str, float] = {}
    flips: tuple[FlipPlan, ...] = ()
    smallest_margin: float | None = None
    more: tuple[str, ...] = ()


class Family(msgspec.Struct, frozen=True):
    """The tests that are printed as claims; Holm's adjustment runs over all of them."""

    n_tests: int
    level: float
    tests: tuple[str, ...] = ()


class ExperimentResult(msgspec.Struct, frozen=True):
    """`samework experiment`. cautions come first. n_items: tasks that at least two arms ran.

    n_uncommon: tasks that one arm alone ran. limits: what may be said, and what not.
    """

    arms: tuple[ArmSummary, ...]
    by: str | None
    n_items: int
    n_uncommon: int
    cautions: tuple[Caution, ...]
    levels: tuple[LevelResult, ...]
    family: Family
    success: Success | None = None
    donors: tuple[DonorFollowing, ...] = ()
    verifier: FlakyVerifier | None = None
    unplaced: tuple[Unplaced, ...] = ()
    plan: Plan | None = None
    limits: tuple[str, ...] = ()
