"""What an experiment says first, what it refuses, whom it withholds, and one family for all its tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from samework.errors import EvidenceError, UsageError
from samework.experiment.answer import Question, experiment
from samework.experiment.arms import PlacedRun
from samework.experiment.order import Order, order
from samework.stats.families import holm
from tests.lab import Lab, Report, Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.model.experiment import ExperimentResult


def asked(runs: Sequence[Run], *arms: str, starts: Sequence[str] = (), **rest: object) -> ExperimentResult:
    lab = Lab(runs)
    for key, started in enumerate(starts, start=1):
        lab.db.execute("update run set started = ? where run_key = ?", [started, key])
    try:
        return experiment(lab, Question(arms=arms or ("a", "b"), **rest))  # type: ignore[arg-type]
    finally:
        lab.close()


def known(arm: str, path: str, task: str = "t", **rest: object) -> Run:
    return Run(arm=arm, task=task, tokens=path, prompt=path, text=path, actions=path, tree=path, **rest)  # type: ignore[arg-type]


def clean(n_items: int, arms: str = "ab", n_repeats: int = 2) -> list[Run]:
    """Items on which arms repeat themselves and differ from each other."""
    return [known(arm, arm, f"t{n}") for n in range(n_items) for arm in arms for _ in range(n_repeats)]


def codes(found: ExperimentResult) -> set[str]:
    return {caution.code for caution in found.cautions}


def test_all_tests_that_are_printed_are_one_family() -> None:
    runs = [
        known(arm, arm, f"t{n}", outcome="true" if arm == "a" else "false")
        for n in range(6)
        for arm in "ab"
        for _ in range(2)
    ]
    found = asked(runs, margin=0.5)
    tests = [across.test for level in found.levels for across in level.across if across.test.p is not None]
    flips = found.success.flips[0]
    p_values = [test.p for test in tests] + [flips.p, flips.margin.p_non_inferior, flips.margin.p_equivalent]
    adjusted = [test.p_holm for test in tests]
    adjusted += [flips.p_holm, flips.margin.p_non_inferior_holm, flips.margin.p_equivalent_holm]
    assert found.family.n_tests == len(p_values)
    assert adjusted == pytest.approx(holm(p_values))


def test_an_arm_without_repeats_is_named_before_any_number() -> None:
    runs = [run for run in clean(5) if run.arm == "a"] + [known("b", "b", f"t{n}") for n in range(5)]
    found = asked(runs)
    assert {"no-control", "more-runs"} <= codes(found)
    assert all(across.test.p is None for level in found.levels for across in level.across)
    assert "b has one run of each item" in next(c.text for c in found.cautions if c.code == "no-control")


def test_an_aliased_pair_among_three_arms_is_withheld_and_the_others_tested() -> None:
    runs = clean(4, arms="abc")
    starts = []
    for number, run in enumerate(runs):
        day = {"a": 1, "b": 2, "c": 1 + number % 2}[run.arm]
        starts.append(f"2026-01-0{day}T00:00:{number:02}Z")
    found = asked(runs, "a", "b", "c", starts=starts)
    tests = {(across.a, across.b): across.test for across in found.levels[0].across}
    assert tests["a", "b"].p is None
    assert "one arm started before all of the other" in tests["a", "b"].reason
    assert tests["a", "c"].p == pytest.approx((1 / 3) ** 4)
    assert "aliased" in codes(found)


def test_arms_that_all_ran_one_after_the_other_are_refused() -> None:
    runs = clean(4)
    starts = [f"2026-01-0{1 if run.arm == 'a' else 2}T00:00:{place:02}Z" for place, run in enumerate(runs)]
    with pytest.raises(EvidenceError, match="aliased with run order"):
        asked(runs, starts=starts)


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        (["1", "2"], ["3", "4"], Order.ALIASED),
        (["3", "4"], ["1", "2"], Order.ALIASED),
        (["1", "3"], ["2", "4"], Order.FIXED),
        (["1", "4"], ["2", "3"], Order.INTERLEAVED),
        (["1", None], ["3", "4"], Order.UNKNOWN),
        (["1", None], [None, None], Order.UNKNOWN),
        (["1", "1"], ["1", "1"], Order.INTERLEAVED),
        (
            ["2026-01-01T00:00:00Z", "2026-01-01T00:00:02"],
            ["2026-01-01T01:00:00+01:00", "2026-01-02"],
            Order.INTERLEAVED,
        ),
        (["soon", "later"], ["1", "2"], Order.UNKNOWN),
    ],
)
def test_order_in_time(a: list[str | None], b: list[str | None], want: Order) -> None:
    """One run an item and arm, two items."""
    runs = [
        [PlacedRun(0, "", f"t{place}", arm, arm, at) for place, at in enumerate(starts)]
        for arm, starts in (("a", a), ("b", b))
    ]
    assert order(*runs) is want


def test_nothing_known_is_refused() -> None:
    with pytest.raises(EvidenceError, match="nothing is known"):
        asked([Run(arm=arm) for arm in "aabb"])


def test_one_run_an_arm_is_refused_even_with_an_outcome() -> None:
    with pytest.raises(EvidenceError, match="has one run"):
        asked([known("a", "x", outcome="true"), known("b", "y", outcome="false")])


def test_an_arm_of_one_run_beside_two_that_repeat_is_shown_without_a_test() -> None:
    found = asked([*clean(4), known("c", "c", "t0")], "a", "b", "c")
    tests = {(across.a, across.b): across.test.p for across in found.levels[0].across}
    assert tests["a", "b"] is not None
    assert tests["a", "c"] is tests["b", "c"] is None
    assert "no-control" in codes(found)


def test_single_runs_with_outcomes_give_flips_but_no_test_of_paths() -> None:
    runs = [known(arm, arm, f"t{n}", outcome="true" if arm == "a" else "false") for n in range(7) for arm in "ab"]
    found = asked(runs)
    assert found.success.flips[0].p == pytest.approx(2 / 2**7)
    assert all(across.test.p is None for level in found.levels for across in level.across)
    assert "no-control" in codes(found)


def test_runs_that_divide_too_little_are_no_test() -> None:
    test = asked(clean(2)).levels[0].across[0].test
    assert test.smallest_p == pytest.approx(1 / 9)
    assert test.p is None
    assert "no sharing of these runs" in test.reason


def test_a_difference_that_is_not_detected_is_called_so() -> None:
    paths = ["ab", "ba", "aa", "bb", "ab", "ab"]
    runs = [known(arm, path, f"t{n}") for n, item in enumerate(paths * 2) for arm in "ab" for path in item]
    test = asked(runs).levels[0].across[0].test
    assert test.p is not None
    assert test.p > 0.05
    assert test.sentence.startswith("not detected")


def test_items_without_any_call_say_nothing_of_actions() -> None:
    lab = Lab([known(arm, "x") for arm in "aabb"] + [known(arm, arm, "u") for arm in "aabb"])
    lab.db.execute("update facet_digest set vacuous = true where facet = 'actions' and run_key <= 4")
    found = experiment(lab, Question(arms=("a", "b"), levels=("actions",)))
    lab.close()
    (level,) = found.levels
    assert level.n_not_applicable == 1
    assert (level.across[0].found.same, level.across[0].found.different) == (0, 4)


def test_runs_without_the_field_are_listed_and_in_no_arm() -> None:
    lab = Lab([known(path, path) for path in "aabbc"])
    for key, value in ((1, '"f16"'), (2, '"f16"'), (3, '"q8"'), (4, '"q8"')):
        lab.db.execute("insert into manifest_field values (?, 'kv.dtype', ?, 'measured', null, null)", [key, value])
    lab.db.execute("insert into manifest_field values (5, 'kv.dtype', null, null, 'redacted', null)")
    found = experiment(lab, Question(by="kv.dtype"))
    lab.close()
    assert [arm.arm for arm in found.arms] == ["kv.dtype=f16", "kv.dtype=q8"]
    assert [(run.run_id, run.reason) for run in found.unplaced] == [(f"{5:016x}", "redacted")]
    assert "unplaced-runs" in codes(found)


def test_a_text_and_a_number_are_two_arms() -> None:
    lab = Lab([known(path, path) for path in "aabb"])
    for key, value in ((1, '"1"'), (2, '"1"'), (3, "1"), (4, "1")):
        lab.db.execute("insert into manifest_field values (?, 'batch.n', ?, 'measured', null, null)", [key, value])
    found = experiment(lab, Question(by="batch.n"))
    lab.close()
    assert [arm.arm for arm in found.arms] == ['batch.n="1"', "batch.n=1"]


def test_a_field_that_was_set_by_arm_is_toggled_and_an_unordered_one_is_not() -> None:
    runs = clean(4)
    lab = Lab(runs)
    for key, run in enumerate(runs, start=1):
        value = '"f16"' if run.arm == "a" else '"q8"'
        lab.db.execute("insert into manifest_field values (?, 'kv.dtype', ?, 'measured', null, null)", [key, value])
    unordered = experiment(lab, Question(arms=("a", "b"), levels=("tokens",)))
    for key in range(1, len(runs) + 1):
        turn = [0, 2, 1, 3][(key - 1) % 4]
        lab.db.execute("update run set started = ? where run_key = ?", [f"2026-01-01T00:{key // 4:02}:0{turn}", key])
    in_turn = experiment(lab, Question(arms=("a", "b"), levels=("tokens",)))
    lab.close()
    assert not any("toggled" in text for text in unordered.limits)
    assert any("tokens is toggled by kv.dtype" in text for text in in_turn.limits)


def test_a_field_with_many_values_asks_which() -> None:
    lab = Lab([known("a", "x") for _ in range(20)])
    for key in range(1, 21):
        lab.db.execute("insert into manifest_field values (?, 'seed', ?, 'measured', null, null)", [key, str(key)])
    with pytest.raises(UsageError, match="20 values"):
        experiment(lab, Question(by="seed"))
    lab.close()


def transplanted(*, donor: str = "d", field: str = "state.donor", follows: str = "d") -> Lab:
    """Five items; runs of arm x hold the state of d in r, and take the path of `follows`; one item is not apart."""
    lab = Lab()
    for n in range(6):
        for arm in ("d", "d", "r", "r", "x"):
            path = "same" if n == 5 else follows if arm == "x" else arm
            key = lab.add(known(arm, path, f"t{n}"))
            if arm == "x":
                for name, value in ((field, donor), ("state.recipient", "r")):
                    lab.db.execute(
                        "insert into manifest_field values (?, ?, to_json(?), 'measured', null, null)",
                        [key, name, value],
                    )
    return lab


@pytest.mark.parametrize(("donor", "field"), [("d", "state.donor"), ("transplant from d", "reuse.how_made")])
def test_a_run_that_follows_its_donor_does_so_where_paths_differ(donor: str, field: str) -> None:
    lab = transplanted(donor=donor, field=field)
    (found,) = experiment(lab, Question(arms=("d", "r"))).donors
    lab.close()
    assert (found.follows_donor, found.follows_recipient, found.n_items) == (6, 1, 6)
    assert (found.apart_donor, found.apart_recipient, found.n_apart) == (5, 0, 5)
    assert found.p == pytest.approx(2 / 2**5)


def test_a_run_may_follow_neither_and_that_counts_against_the_donor() -> None:
    lab = transplanted(follows="z")
    (found,) = experiment(lab, Question(arms=("d", "r"))).donors
    lab.close()
    assert (found.apart_donor, found.apart_neither, found.n_apart) == (0, 5, 5)
    assert found.sentence.startswith("not detected")


def test_a_transplant_may_be_named_where_nobody_recorded_it() -> None:
    lab = transplanted(donor="nobody")
    question = Question(arms=("d", "r"), donors=("x=r,d",))
    (found,) = experiment(lab, question).donors
    assert (found.apart_donor, found.apart_recipient, found.source) == (0, 5, "--donor")
    assert experiment(lab, Question(arms=("d", "r"))).donors == ()
    lab.close()


def test_a_flaky_verifier_is_told_from_a_flaky_agent() -> None:
    """Item t: one tree, a test that flips. Item u: two trees, each graded twice alike, success by tree."""
    passed, failed = Report(outcomes={"n": "passed"}), Report(outcomes={"n": "failed"})
    runs = [
        known("a", "x", "t", reports=(passed, failed)),
        known("a", "x", "t"),
        known("b", "x", "t", reports=(passed,)),
    ]
    for arm in "ab":
        for tree, report in (("x", passed), ("y", failed)):
            runs.append(known(arm, tree, "u", reports=(report, report)))
    found = asked(runs)
    assert found.verifier.cells == 3
    assert found.verifier.cells_flipping == 1
    assert found.verifier.nodes == {"t": ("n",)}
    assert found.verifier.success_other_trees == (1, 1)
    assert "flaky-verifier" in codes(found)


def test_a_screen_says_its_false_discovery_rate_and_only_where_one_item_can_tell() -> None:
    runs = [known(arm, arm if n < 2 else "x", f"t{n}") for n in range(6) for arm in "ab" for _ in range(4)]
    items = asked(runs).levels[0].across[0].items
    assert [item.task for item in items] == ["t0", "t1"]
    assert [item.p for item in items] == pytest.approx([2 / 70] * 2)
    assert [item.q for item in items] == pytest.approx([6 / 70] * 2)
    assert all(item.q is None for item in asked(clean(6)).levels[0].across[0].items)


def test_uncommon_items_are_counted_and_left_out() -> None:
    found = asked([*clean(3), known("a", "x", "alone")])
    assert (found.n_items, found.n_uncommon) == (3, 1)
    assert "uncommon-items" in codes(found)
