"""Flips, margins, attempts, strata and bounds of an experiment, each against counting by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samework.errors import UsageError
from samework.experiment.arms import design
from samework.experiment.attempts import attempts
from samework.experiment.evidence import evidence, prepared
from samework.experiment.flips import flips, several_arms, swapped_p
from samework.experiment.strata import strata, strata_of_items
from samework.experiment.success import Tally, successes
from samework.stats.margins import exact_equivalence, tango
from samework.stats.paired import mcnemar
from tests.lab import Lab, Report, Run

_tallies = st.builds(Tally, st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)).filter(
    lambda tally: tally.n_known + tally.unknown > 0
)
_items = st.lists(st.tuples(_tallies, _tallies), min_size=1, max_size=4)
_quick = settings(deadline=None, max_examples=25)


def table(rows: list[tuple[Tally, Tally]]) -> dict[str, dict[str, Tally]]:
    return {f"t{place}": {"a": a, "b": b} for place, (a, b) in enumerate(rows)}


def single(*pairs: tuple[int, int]) -> dict[str, dict[str, Tally]]:
    return table([(Tally(a, 1 - a, 0), Tally(b, 1 - b, 0)) for a, b in pairs])


def test_single_runs_are_compared_by_mcnemar_and_tango() -> None:
    found = flips(single(*[(1, 0)] * 13, *[(0, 1)] * 7, *[(1, 1)] * 30, *[(0, 0)] * 10), "a", "b", margin=0.2)
    assert (found.only_a, found.only_b, found.both, found.neither, found.n_items) == (13, 7, 30, 10, 60)
    assert found.p == pytest.approx(mcnemar(13, 7).exact)
    assert found.interval == pytest.approx(tuple(tango(13, 7, 60)))
    assert found.margin is not None
    assert found.margin.p_equivalent == pytest.approx(exact_equivalence(13, 7, 60, margin=0.2).p)
    assert not found.is_means


def test_repeats_that_agree_in_each_item_are_one_outcome_an_item() -> None:
    found = flips(table([(Tally(3, 0, 0), Tally(0, 3, 0))] * 6 + [(Tally(0, 3, 0), Tally(0, 3, 0))]), "a", "b")
    assert not found.is_means
    assert found.p == pytest.approx(2 / 2**6)


def test_unlike_numbers_of_repeats_are_compared_by_means() -> None:
    """One run against five: an arm that succeeds by chance would flip in one direction more often."""
    assert flips(table([(Tally(1, 0, 0), Tally(0, 5, 0))] * 3), "a", "b").is_means


@_quick
@given(_items)
def test_p_of_repeats_is_the_share_of_swaps_of_arms_within_items_as_far_apart(rows: list[tuple[Tally, Tally]]) -> None:
    known = [(a, b) for a, b in rows if a.n_known == b.n_known > 0]
    found = flips(table(known), "a", "b")
    differences = [Fraction(a.succeeded - b.succeeded, a.n_known) for a, b in known]
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(known))
    ]
    assert found.p == (pytest.approx(sum(x >= abs(sum(differences)) for x in sums) / len(sums)) if known else None)


def test_p_of_many_swaps_is_drawn_where_it_cannot_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = [(1, 2), (2, 3), (-1, 5), (3, 7)] * 3
    exact = swapped_p(differences)
    monkeypatch.setattr("samework.experiment.flips._MOST_STEPS", 10)
    assert swapped_p(differences) == pytest.approx(exact, abs=0.01)


@_quick
@given(_items)
def test_p_of_unlike_repeats_is_the_share_of_dealings_no_likelier(rows: list[tuple[Tally, Tally]]) -> None:
    found = flips(table(rows), "a", "b")
    known = [(a, b) for a, b in rows if a.n_known and b.n_known]
    if all(a.n_known == b.n_known for a, b in known):
        return
    weights: dict[int, int] = {0: 1}
    for a, b in known:
        outcomes = a.outcomes() + b.outcomes()
        reached: dict[int, int] = {}
        for total, ways in weights.items():
            for chosen in combinations(range(len(outcomes)), a.n_known):
                here = total + sum(outcomes[place] for place in chosen)
                reached[here] = reached.get(here, 0) + ways
        weights = reached
    seen = weights[sum(a.succeeded for a, _ in known)]
    want = sum(ways for ways in weights.values() if ways <= seen) / sum(weights.values())
    assert found.p == pytest.approx(want)


@_quick
@given(_items)
def test_bounds_hold_whatever_the_unknown_runs_did(rows: list[tuple[Tally, Tally]]) -> None:
    found = flips(table(rows), "a", "b")
    differences = []
    for filled in product(*[range(tally.unknown + 1) for row in rows for tally in row]):
        rates = [
            (tally.succeeded + extra) / (tally.n_known + tally.unknown)
            for tally, extra in zip([tally for row in rows for tally in row], filled, strict=True)
        ]
        differences.append(sum(rates[0::2]) / len(rows) - sum(rates[1::2]) / len(rows))
    assert found.bounds == pytest.approx((min(differences), max(differences)))


@_quick
@given(st.lists(_tallies, min_size=1, max_size=4))
def test_attempts_are_means_over_items_and_bounds_over_what_is_unknown(tallies: list[Tally]) -> None:
    by_task = {f"t{place}": {"a": tally} for place, tally in enumerate(tallies)}
    for each in attempts(by_task, ["a"]):
        known = [tally for tally in tallies if tally.n_known >= each.k]
        want = [1 - comb(t.failed, each.k) / comb(t.n_known, each.k) for t in known]
        assert each.n_items == len(known)
        assert each.pass_at_k is not None
        assert each.pass_at_k.estimate == pytest.approx(sum(want) / len(want))
        hats = [comb(t.succeeded, each.k) / comb(t.n_known, each.k) for t in known]
        assert each.pass_hat_k is not None
        assert each.pass_hat_k.estimate == pytest.approx(sum(hats) / len(hats))
        whole = [t for t in tallies if t.n_known + t.unknown >= each.k]
        values = []
        for filled in product(*[range(t.unknown + 1) for t in whole]):
            at_k = [
                1 - comb(t.failed + t.unknown - more, each.k) / comb(t.n_known + t.unknown, each.k)
                for t, more in zip(whole, filled, strict=True)
            ]
            values.append(sum(at_k) / len(at_k))
        assert each.pass_at_k_bounds == pytest.approx((min(values), max(values)))


def test_means_within_a_margin_are_shown_by_the_ninety_percent_interval() -> None:
    rows = [(Tally(2, 2, 0), Tally(2, 2, 0)), (Tally(4, 0, 0), Tally(3, 1, 0)), (Tally(3, 1, 0), Tally(4, 0, 0))] * 20
    found = flips(table(rows), "a", "b", margin=0.3)
    assert found.is_means
    assert found.margin is not None
    assert found.margin.p_equivalent is None
    assert found.margin.equivalent
    assert found.margin.interval is not None
    assert -0.3 < found.margin.interval[0] < found.margin.interval[1] < 0.3


def test_three_arms_have_one_test_of_one_rate() -> None:
    rows = [(1, 1, 0)] * 6 + [(1, 0, 0)] * 2 + [(1, 1, 1)] * 9
    tallies = {
        f"t{place}": {arm: Tally(value, 1 - value, 0) for arm, value in zip("abc", row, strict=True)}
        for place, row in enumerate(rows)
    }
    found = several_arms(tallies, "abc")
    assert (round(found.p, 6), round(found.p_exact, 6)) == (0.001503, 0.000914)
    tallies["mixed"] = dict.fromkeys("abc", Tally(1, 1, 0))
    assert several_arms(tallies, "abc").p is None


def test_strata_hold_the_paired_flips_and_leave_out_what_has_no_stratum() -> None:
    tallies = single((1, 0), (1, 1), (0, 1), (1, 0), (0, 0))
    of_item = {"t0": "easy", "t1": "easy", "t2": "hard", "t3": "hard", "t4": None}
    found = strata(tallies, of_item, "difficulty", ("a", "b"))
    assert [(row.stratum, row.n_items, row.only_a, row.only_b) for row in found.strata] == [
        ("easy", 2, 1, 0),
        ("hard", 2, 1, 1),
    ]
    assert found.n_unplaced == 1
    assert found.exact_p is not None


def lab_success(*runs: Run, asked: str | None = None, strict: bool = False) -> tuple[str, list[bool | None]] | None:
    lab = Lab(runs)
    found = design(lab, arms=["a", "b"])
    room = prepared(lab, task=None, strict=strict)
    evidence(room, found.runs, [], found.pairs())
    made = successes(room, asked)
    lab.close()
    return None if made is None else (made.evidence, [made.by_run.get(key) for key in range(1, len(runs) + 1)])


PASS, FAIL = Report(outcomes={"n": "passed"}), Report(outcomes={"n": "failed", "m": "passed"})


def test_success_is_the_evidence_that_most_runs_have_a_grader_before_tests() -> None:
    both = [Run(arm=arm, tree="x", reports=(PASS,), outcome="false") for arm in "ab"]
    assert lab_success(*both) == ("resolved", [False, False])
    assert lab_success(*both, asked="tests") == ("tests", [True, True])
    tested = [Run(arm=arm, tree=arm, reports=(report,)) for arm, report in (("a", PASS), ("b", FAIL))]
    assert lab_success(*tested) == ("tests", [True, False])
    assert lab_success(Run(arm="a"), Run(arm="b")) is None


def test_an_incomplete_report_shows_a_failure_but_no_success() -> None:
    cut = [
        Run(arm="a", tree="x", reports=(Report(outcomes={"n": "passed"}, complete=False),)),
        Run(arm="b", tree="y", reports=(Report(outcomes={"n": "failed"}, complete=False),)),
        Run(arm="b", tree="z", reports=(Report(outcomes={"n": "skipped"}),)),
    ]
    assert lab_success(*cut) == ("tests", [None, False, None])


def test_an_unrecorded_environment_gives_no_success_where_nothing_may_be_assumed() -> None:
    assumed = [Run(arm=arm, tree="x", reports=(Report(outcomes={"n": "passed"}, env=None),)) for arm in "ab"]
    assert lab_success(*assumed) == ("tests", [True, True])
    assert lab_success(*assumed, strict=True) is None


def test_a_number_is_a_success_from_its_threshold_on() -> None:
    lab = Lab([Run(arm="a"), Run(arm="b"), Run(arm="b")])
    for key, value in ((1, "1"), (2, "0.5"), (3, '"good"')):
        lab.db.execute("insert into run_outcome values (?, 'reward', ?)", [key, value])
    room = prepared(lab, task=None, strict=False)
    found = design(lab, arms=["a", "b"])
    evidence(room, found.runs, [], found.pairs())
    made = successes(room, None)
    assert made is not None
    assert (made.evidence, made.by_run) == ("reward>=1", {1: True, 2: False, 3: None})
    half = successes(room, "reward>=0.5")
    assert half is not None
    assert half.by_run == {1: True, 2: True, 3: None}
    with pytest.raises(UsageError, match="reward, tests"):
        successes(room, "luck")
    lab.close()


def test_a_task_prefix_makes_strata() -> None:
    lab = Lab()
    items = {task: {} for task in ("code-016", "django__django-1", "plain")}
    found = strata_of_items(prepared(lab, task=None, strict=False), items, "task-prefix")
    assert found == {"code-016": "code", "django__django-1": "django", "plain": "plain"}
    lab.close()
