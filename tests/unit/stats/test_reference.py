"""Every number of the reference, computed by samework's own functions.

`reference.json` beside this file holds the numbers as facts, so that the suite needs no shared data; where the shared
file lies beside the checkout, both are held to be equal.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from samework.stats import exact, families, intervals, margins, paired, permutation, power, reliability
from samework.stats.counts import counts_for_percentage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REFERENCE = json.loads(Path(__file__).with_name("reference.json").read_text())
REL = 1e-5
OPTIMISED = {"barnard_two_sided": 1e-2, "boschloo_two_sided": 1e-2}


def rate(k: int, n: int) -> dict[str, Any]:
    one_sided = intervals.one_sided_limits(k, n)
    return {
        "k": k,
        "n": n,
        "estimate": k / n,
        "clopper_pearson95": [*intervals.clopper_pearson(k, n)],
        "wilson95": [*intervals.wilson(k, n)],
        "jeffreys95": [*intervals.jeffreys(k, n)],
        "one_sided95_lower": one_sided.low,
        "one_sided95_upper": one_sided.high,
    }


def donor(k: int, n: int) -> dict[str, Any]:
    one_sided = exact.binomial(k, n, alternative="greater")
    return rate(k, n) | {
        "binom_vs_half_two_sided": exact.binomial(k, n),
        "binom_vs_half_one_sided": one_sided,
        "log10_one_sided": math.log10(one_sided),
    }


def comparison(k_a: int, k_b: int, n: int = 80) -> dict[str, Any]:
    table = ((k_a, n - k_a), (k_b, n - k_b))
    turned = ((k_a, k_b), (n - k_a, n - k_b))
    odds = exact.conditional_odds_ratio(table)
    spread = paired.mcnemar_range(k_a, k_b, n)
    return {
        "unpaired": {
            "table": [[*row] for row in table],
            "diff": (k_a - k_b) / n,
            "newcombe95": [*intervals.newcombe(k_a, n, k_b, n)],
            "fisher_two_sided": exact.fisher(table),
            # The reference held the successes fixed, not the group sizes: groups and outcomes change places.
            "barnard_two_sided": exact.barnard(turned),
            "boschloo_two_sided": exact.boschloo(turned),
            "conditional_or": odds.estimate,
            "conditional_or95": [*odds.interval],
        },
        "paired_bounds": {
            "min_p": spread.low,
            "at_min": spread.at_low._asdict(),
            "max_p": spread.high,
            "at_max": spread.at_high._asdict(),
        },
    }


def flips(b: int, c: int) -> dict[str, Any]:
    found = paired.mcnemar(b, c)
    return {
        "b": b,
        "c": c,
        "exact_two_sided": found.exact,
        "exact_one_sided_b_greater": found.exact_greater,
        "mid_p_two_sided": found.mid,
    }


def thousand_items() -> dict[str, Any]:
    b, c, n = 13, 7, 1300

    def at(margin: float) -> dict[str, float]:
        score, plain = margins.equivalence(b, c, n, margin=margin), margins.wald_equivalence(b, c, n, margin=margin)
        return {
            "p_lower_noninferiority": score.p_non_inferior,
            "p_upper": score.p_non_superior,
            "p_tost": score.p,
            "wald_p_lower": plain.p_non_inferior,
            "wald_p_upper": plain.p_non_superior,
        }

    return {
        "mcnemar": flips(b, c),
        "discordant": rate(b + c, n),
        "favours_cached": rate(b, b + c),
        "diff": (b - c) / n,
        "se_wald": margins.wald_se(b, c, n),
        "wald95": [*margins.wald(b, c, n)],
        "wald90": [*margins.wald(b, c, n, confidence=0.9)],
        "tango95": [*margins.tango(b, c, n)],
        "tango90": [*margins.tango(b, c, n, confidence=0.9)],
        "tost": {f"margin_{margin}": at(margin) for margin in (0.005, 0.01, 0.02)},
        "smallest_margin_equivalence_alpha05_tango": margins.smallest_margin(b, c, n),
    }


def paths() -> dict[str, Any]:
    found = permutation.path_test([("xx", "yy")] * 14 + [("xx", "xx")] * 26)
    assert (found.self_agreement_a, found.self_agreement_b, found.n_items) == (1, 1, 40)
    assert found.cross_agreement == pytest.approx(26 / 40)
    return {
        "cross_disagree": rate(14, 40),
        "self_repeat_40_of_40": rate(40, 40),
        "self_disagree_0_of_40": rate(0, 40),
        "self_disagree_both_arms_0_of_80": rate(0, 80),
        "excess_divergence_D": found.excess_divergence,
        "exact_label_permutation_p_one_sided": found.p,
        "closed_form_value": power.path_factor(2) ** 14,
        "mcnemar_cross_vs_self": flips(14, 0),
        "fisher_14_40_vs_0_40": exact.fisher(((14, 26), (0, 40))),
        "fisher_14_40_vs_0_80": exact.fisher(((14, 26), (0, 80))),
    }


def strata() -> dict[str, Any]:
    tables = [((29, 51), (32, 48)), ((60, 20), (65, 15))]
    found, whole = exact.cochran_mantel_haenszel(tables), exact.stratified_exact(tables)
    return {
        "tables": [[[*row] for row in table] for table in tables],
        "null_odds_corrected_p": found.p_corrected,
        "null_odds_uncorrected_p": found.p,
        "null_odds_uncorrected_chi2": found.chi2,
        "pooled_or": found.pooled_odds_ratio,
        "pooled_or95": [*found.pooled_interval],
        "breslow_day_p": found.breslow_day_p,
        "exact_conditional": {
            "statistic_sum_a": whole.n_events_a,
            "two_sided": whole.two_sided,
            "upper": whole.upper,
            "lower": whole.lower,
        },
    }


def family() -> dict[str, Any]:
    p_values = [
        exact.binomial(43, 43),
        permutation.path_test([("xx", "yy")] * 14 + [("xx", "xx")] * 26).p,
        exact.fisher(((31, 49), (1, 79))),
        exact.fisher(((65, 15), (32, 48))),
        exact.fisher(((65, 15), (62, 18))),
        paired.mcnemar(13, 7).exact,
    ]
    screened = families.benjamini_hochberg(p_values)
    return {"p": p_values, "holm": families.holm(p_values), "bh": screened, "bh_scipy": screened}


def percentages() -> dict[str, Any]:
    found = {}
    for shown in REFERENCE["_inferred_counts"]:
        (k,) = counts_for_percentage(shown, 80)
        value = 100 * k / 80
        text = f"{value:.1f}"
        found[shown] = {
            "k": k,
            "exact": value,
            "python_format_1dp": float(text),
            "matches": text == shown,
            "unique": True,
        }
    return found


def zero_events(n: int) -> dict[str, float]:
    return {
        "one_sided": intervals.zero_event_bound(n),
        "two_sided_cp": intervals.clopper_pearson(0, n).high,
        "rule_of_three": intervals.rule_of_three(n),
    }


def designs() -> dict[str, Any]:
    found: dict[str, Any] = {"factor": {}, "min_diverging_items_alpha05": {}}
    for r in (1, 2, 3, 4, 5):
        design = power.path_design(r, (0.35, 0.2, 0.1, 0.05, 0.02, 0.01))
        found["factor"][str(r)] = design.factor
        if design.n_diverging_needed is not None:
            found["min_diverging_items_alpha05"][str(r)] = design.n_diverging_needed
        if r in (2, 3):
            found[f"items_for_80pct_power_r{r}"] = {str(rate): n for rate, n in design.n_items.items()}
    return found


def attempts(n: int, c: int, k: int) -> dict[str, float]:
    return {"pass_at_k": reliability.pass_at_k(n, c, k), "pass_hat_k": reliability.pass_hat_k(n, c, k)}


def unknowns() -> dict[str, Any]:
    low, high, complete_case = intervals.bounds_over_unknowns(60, 25, 15)
    return {"rate_different_bounds": [low, high], "complete_case": complete_case}


def computed() -> dict[str, Any]:
    rates = {
        "patodiya_orig_f16": 29,
        "patodiya_orig_q4km": 60,
        "patodiya_fixed_f16": 32,
        "patodiya_fixed_q4km": 65,
        "patodiya_fixed_q3km": 62,
        "patodiya_hostcache_on": 31,
        "patodiya_hostcache_off": 1,
        "patodiya_success_low": 1,
        "patodiya_success_high": 15,
    }
    eight, table = paired.sign_test(8, 1), power.repeats_table
    n_items = (1300, 2600, 5200, 6500, 7800)
    return {
        "_inferred_counts": percentages(),
        "lorup_divergence_166_of_200": rate(166, 200),
        "lorup_flips_20_of_200": rate(20, 200)
        | {
            "given_divergent": rate(20, 166),
            "mcnemar_by_split": {f"{b}-{c}": p for (b, c), p in paired.mcnemar_by_split(20).items()},
        },
        **{f"donor_{k}_of_{k}": donor(k, k) for k in (24, 43, 67)},
        "repeat_0_of_800": rate(0, 800)
        | {
            "rule_of_three": intervals.rule_of_three(800),
            "exact_upper_one_sided": intervals.zero_event_bound(800),
            "exact_upper_two_sided": intervals.clopper_pearson(0, 800).high,
            "item_level_0_of_80": rate(0, 80) | {"rule_of_three": intervals.rule_of_three(80)},
        },
        **{f"{name}_{k}_of_80": rate(k, 80) for name, k in rates.items()},
        "cmp_orig_f16_vs_q4km": comparison(60, 29),
        "cmp_fixed_f16_vs_q4km": comparison(65, 32),
        "cmp_fixed_q4km_vs_q3km": comparison(65, 62),
        "cmp_fixed_f16_vs_q3km": comparison(62, 32),
        "cmp_hostcache_on_vs_off_31_vs_1": comparison(31, 1),
        "cmp_orig_vs_fixed_f16_29_vs_32": comparison(29, 32),
        "path_determinism_40_40_14": paths(),
        "flips_13_vs_7_of_1300": thousand_items(),
        "chodavarapu_8_of_9": rate(8, 9)
        | {"sign_test_two_sided": eight.exact, "sign_test_one_sided": eight.exact_greater},
        "multiple_comparisons_example": family(),
        "cmh_grid_by_precision": strata(),
        "power_repeats": {
            "table": {
                str(each): {str(level): n for level, n in row.items()}
                for each, row in table((0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001), (0.8, 0.9, 0.95, 0.99)).items()
            }
        },
        "zero_event_upper95": {
            str(n): zero_events(n) for n in (1, 2, 3, 5, 10, 20, 40, 59, 80, 100, 299, 300, 800, 1300)
        },
        "mcnemar_power_at_observed_flips": {
            "discordance": 20 / 1300,
            "psi": 13 / 20,
            "power_by_n": {str(n): power.mcnemar_power(n, discordance=20 / 1300, share=13 / 20) for n in n_items},
        },
        "pass_k": {
            f"n{n}_c{c}_k{k}": attempts(n, c, k)
            for n, c, k in ((10, 3, 1), (10, 3, 5), (10, 3, 2), (8, 8, 8), (5, 0, 3), (4, 2, 2))
        },
        "manski_bounds_example": unknowns(),
        "path_test_design": designs(),
    }


def leaves(tree: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Numbers and truth values with their place; sentences and names are not to be computed."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, (*at, key))
    elif isinstance(tree, list):
        for place, value in enumerate(tree):
            yield from leaves(value, (*at, str(place)))
    elif not isinstance(tree, str):
        yield at, tree


@pytest.fixture(scope="module")
def ours() -> dict[tuple[str, ...], Any]:
    return dict(leaves(computed()))


ENTRIES = [name for name in REFERENCE if name != "_meta"]


def test_every_entry_is_computed_and_none_is_left_out() -> None:
    assert set(computed()) == set(ENTRIES)
    assert REFERENCE["_meta"]["tolerances"].startswith(f"compare at rel {REL:.0e}".replace("e-05", "e-5"))


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_number_of_the_entry_is_reproduced(entry: str, ours: dict[tuple[str, ...], Any]) -> None:
    wanted = dict(leaves(REFERENCE[entry], (entry,)))
    assert wanted
    wrong = {}
    for place, value in wanted.items():
        rel = OPTIMISED.get(place[-1], REL)
        if place not in ours or not math.isclose(ours[place], value, rel_tol=rel, abs_tol=1e-12 * (value == 0)):
            wrong["/".join(place)] = (value, ours.get(place))
    assert wrong == {}


def test_nothing_is_computed_that_the_reference_does_not_hold(ours: dict[tuple[str, ...], Any]) -> None:
    assert set(ours) == {place for name in ENTRIES for place, _ in leaves(REFERENCE[name], (name,))}


def test_the_facts_beside_this_file_are_the_shared_ones(shared_path: Callable[..., Path]) -> None:
    assert json.loads(shared_path("spec", "reference.json").read_text()) == REFERENCE


def test_the_closed_form_of_the_path_test_is_exact() -> None:
    found = permutation.path_test([("xx", "yy")] * 14 + [("xx", "xx")] * 26)
    assert found.p == pytest.approx(float(Fraction(1, 3) ** 14), rel=1e-12)
    assert found.smallest_p == pytest.approx(found.p, rel=1e-12)
    assert found.method == "exact"


def test_unknown_pairs_widen_the_rate_of_divergence() -> None:
    assert intervals.bounds_over_unknowns(60, 25, 15)[:2] == (0.25, 0.40)
