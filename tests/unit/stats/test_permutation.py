"""The path test and the association test against all labelings, counted one by one."""

from __future__ import annotations

import time
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samework.errors import EvidenceError
from samework.stats import association, permutation
from samework.stats.permutation import path_test

Item = tuple[tuple[str, ...], tuple[str, ...]]


@st.composite
def items(draw: st.DrawFn) -> Item:
    runs = st.sampled_from("xyz")
    n_a, n_b = draw(st.integers(2, 3)), draw(st.integers(2, 3))
    return tuple(draw(runs) for _ in range(n_a)), tuple(draw(runs) for _ in range(n_b))


def share(pairs: list[tuple[str, str]]) -> Fraction:
    return Fraction(sum(left == right for left, right in pairs), len(pairs))


def divergence(item: Item) -> Fraction:
    a, b = item
    return (share([*combinations(a, 2)]) + share([*combinations(b, 2)])) / 2 - share([*product(a, b)])


def relabelled(item: Item) -> list[Item]:
    pool = [*item[0], *item[1]]
    chosen = combinations(range(len(pool)), len(item[0]))
    return [(tuple(pool[i] for i in a), tuple(run for i, run in enumerate(pool) if i not in a)) for a in chosen]


@settings(max_examples=60, deadline=None)
@given(st.lists(items(), min_size=1, max_size=3))
def test_the_p_value_is_the_share_of_labelings_that_diverge_as_much(data: list[Item]) -> None:
    every = [sum(map(divergence, labelled)) for labelled in product(*map(relabelled, data))]
    observed = sum(map(divergence, data))
    found = path_test(data)
    assert found.excess_divergence == pytest.approx(float(observed / len(data)), abs=1e-12)
    assert found.p == pytest.approx(sum(value >= observed for value in every) / len(every), rel=1e-9)
    assert found.smallest_p == pytest.approx(every.count(max(every)) / len(every), rel=1e-9)
    agreement = (found.self_agreement_a + found.self_agreement_b) / 2 - found.cross_agreement
    assert agreement == pytest.approx(found.excess_divergence, abs=1e-12)


@given(st.lists(items(), min_size=1, max_size=6))
def test_arms_and_runs_may_change_places(data: list[Item]) -> None:
    found = path_test(data)
    turned = path_test([(b[::-1], a) for a, b in reversed(data)])
    assert turned.p == pytest.approx(found.p, rel=1e-9)
    assert turned.excess_divergence == pytest.approx(found.excess_divergence, abs=1e-12)


def test_one_run_per_arm_gives_no_test() -> None:
    with pytest.raises(EvidenceError, match="no item has two runs in each arm"):
        path_test([("x", "y")] * 14 + [("x", "x")] * 26)
    with pytest.raises(EvidenceError):
        path_test([("xx", "y"), ("x", "yy")])
    with pytest.raises(EvidenceError):
        path_test([])


def test_items_without_repeats_are_left_out_and_counted() -> None:
    found = path_test([("xx", "yy")] * 3 + [("x", "y")] * 5)
    assert (found.n_items, found.n_untested) == (3, 5)
    assert found.p == pytest.approx(1 / 27)


def test_the_smallest_p_tells_that_two_diverging_items_cannot_reach_the_level() -> None:
    assert path_test([("xx", "yy")] * 2 + [("xx", "xx")] * 100).smallest_p == pytest.approx(1 / 9)


def test_arms_that_are_noisy_in_the_same_way_are_not_told_apart() -> None:
    found = path_test([("xy", "xy")] * 40)
    assert found.excess_divergence == pytest.approx(-0.5)
    assert found.p > 0.99


def test_a_thousand_items_are_tested_exactly_within_seconds() -> None:
    rng = np.random.default_rng(3)
    draws = rng.integers(0, 3, (1000, 2, 5))
    begun = time.process_time()
    found = path_test([(tuple(a), tuple(b)) for a, b in draws.tolist()])
    assert found.method == "exact"
    assert time.process_time() - begun < 5


def test_a_p_value_beyond_floating_point_is_the_smallest_one_given() -> None:
    found = path_test([("xxxxx", "yyyyy")] * 1000)
    assert found.p == found.smallest_p == 1e-300


def test_unlike_numbers_of_runs_are_sampled_where_they_are_too_many_and_never_below_the_draws() -> None:
    rng = np.random.default_rng(4)
    data = []
    for _ in range(400):
        n_a, n_b = rng.integers(2, 9, 2)
        data.append((tuple(rng.integers(0, 3, n_a).tolist()), tuple(rng.integers(3, 6, n_b).tolist())))
    found = path_test(data, n_samples=999)
    assert found.method == "sampled"
    assert found.p == found.smallest_p == 1 / 1000


def test_sampled_and_exact_tails_agree() -> None:
    designs = Counter({permutation._Item((3, 1), 2, 2): 8, permutation._Item((2, 2), 2, 2): 5})
    kernels = {design: permutation._kernel(design, 4) for design in designs}
    # One attainable sum for each way in which all items of a design agree on a value.
    for chosen in product(*kernels.values()):
        observed = sum(value * count for value, count in zip(chosen, designs.values(), strict=True))
        exact, method = permutation._upper_tail(kernels, designs, observed, 0, 0)
        assert method == "exact"
        sampled = permutation._sampled_tail(kernels, designs, observed, 50_000, 1)
        assert sampled == pytest.approx(exact, abs=0.01)


Runs = list[tuple[str, int]]
runs = st.lists(st.tuples(st.sampled_from("fq"), st.integers(0, 2)), min_size=2, max_size=4)


def information(item: Runs) -> float:
    """Times the number of runs, in nats, up to what the margins fix: the table's sum of o ln o, unrounded."""
    return float(sum(n * np.log(n) for n in Counter(item).values()))


@settings(max_examples=25, deadline=None)
@given(st.lists(runs, min_size=1, max_size=2).filter(lambda d: any(len({b for _, b in item}) > 1 for item in d)))
def test_association_counts_every_order_of_values_within_items(data: list[Runs]) -> None:
    forked = [item for item in data if len({branch for _, branch in item}) > 1]
    orders = [
        [list(zip(values, [b for _, b in item], strict=True)) for values in permutations([v for v, _ in item])]
        for item in forked
    ]
    every = [sum(map(information, chosen)) for chosen in product(*orders)]
    observed = sum(map(information, forked))
    found = association.association(data)
    assert found.method == "exact"
    assert found.p == pytest.approx(sum(value >= observed - 1e-7 for value in every) / len(every), rel=1e-9)
    assert found.smallest_p == pytest.approx(sum(value >= max(every) - 1e-7 for value in every) / len(every), rel=1e-9)


def test_a_field_that_decides_the_branch_takes_all_its_entropy_and_one_that_is_constant_none() -> None:
    decides = [[("f", 1), ("f", 1), ("q", 2), ("q", 2)]] * 3
    assert association.association(decides).uncertainty_coefficient == 1
    constant = association.association([[("f", 1), ("f", 2)]])
    assert (constant.uncertainty_coefficient, constant.p, constant.n_items) == (0, 1, 0)


def test_the_branches_of_two_items_have_nothing_in_common() -> None:
    """Value f went to branch 1 in one item and to branch 2 in the other: still decided within each."""
    data = [[("f", 1), ("f", 1), ("q", 2), ("q", 2)], [("f", 2), ("f", 2), ("q", 1), ("q", 1)]]
    assert association.association(data).uncertainty_coefficient == 1
    assert association.association(data).p == pytest.approx(1 / 9)


def test_without_a_fork_there_is_nothing_to_associate() -> None:
    with pytest.raises(EvidenceError, match="more than one branch"):
        association.association([[("f", 1), ("q", 1)]])


def test_a_group_too_large_to_count_is_sampled_the_same_way_each_time() -> None:
    rng = np.random.default_rng(6)
    item = [(int(v), int(b)) for v, b in rng.integers(0, 8, (300, 2))]
    first, second = (association.association([item], n_samples=499) for _ in range(2))
    assert first == second
    assert first.method == "sampled"
    assert first.p > 0.01
    told = association.association([[(b, b) for _, b in item]], n_samples=499)
    assert told.p == told.smallest_p == 1 / 500
