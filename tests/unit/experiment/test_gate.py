"""The gate: a task passes, fails or stays open by its pairs; what is unknown or vacuous never passes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from samework.equivalence.counts import Selection
from samework.equivalence.judge import judge
from samework.equivalence.lattice import ORDER
from samework.equivalence.signatures import load_signatures
from samework.errors import EvidenceError, UsageError
from samework.experiment.gate import gate
from samework.experiment.gate_counts import standings
from samework.experiment.gate_requirement import Requirement, requirement, standing_of_pair
from samework.experiment.gate_result import verdict
from samework.experiment.gate_terms import Terms, parsed_share
from samework.model.gate import Control, GateVerdict, PairStanding, TaskStanding
from samework.model.words import Facet, RunClass, Status, Verdict
from tests.lab import Lab, Report, Run

if TYPE_CHECKING:
    from samework.model.gate import GateResult, GateTask

GREEN = Report({"a": "passed", "b": "failed"})
RED = Report({"a": "failed", "b": "failed"})
CLASSES = (RunClass.TOKEN, RunClass.TREE, RunClass.TESTS)

_report = st.sampled_from(
    [
        GREEN,
        RED,
        Report({"a": "passed"}, complete=False),
        Report({"a": "failed"}, complete=False),
        Report({"a": "passed", "b": "failed"}, env=None),
        Report({"a": "failed", "b": "failed"}, env=None),
        Report({"a": "skipped"}),
        Report({}, suite=None),
    ]
)


@st.composite
def _runs(draw: st.DrawFn) -> Run:
    walk = tuple(draw(st.lists(st.sampled_from("pq"), min_size=1, max_size=2)))
    words = "".join(walk)
    return Run(
        task=draw(st.sampled_from(["t", "t", "u"])),
        arm=draw(st.sampled_from("ab")),
        kind=draw(st.sampled_from(["coding", "coding", "tool-use"])),
        tokens=words if draw(st.booleans()) else None,
        prompt=words if draw(st.booleans()) else None,
        text=words,
        actions=words,
        tree=draw(st.sampled_from([None, None, "x", "y"])),
        patch=draw(st.sampled_from([None, {"f": "a" * 40}, {"f": "b" * 40}])),
        base=draw(st.sampled_from([None, "base"])),
        reports=tuple(draw(st.lists(_report, max_size=2))),
        outcome=draw(st.sampled_from([None, "true", "false"])),
        end_reason=draw(st.sampled_from(["finished", "finished", "timeout"])),
        events=walk,
    )


_law = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
_batches = st.lists(_runs(), min_size=2, max_size=7)
_names = st.sampled_from([*CLASSES, Facet.TOKENS, Facet.TREE, Facet.TESTS, Facet.ACTIONS, Facet.OUTCOME])


@_law
@given(_batches, _names, st.booleans())
def test_counts_of_standings_equal_those_of_all_pairs_one_by_one(batch: list[Run], name: str, strict: bool) -> None:
    lab = Lab(batch)
    wanted = requirement(name)
    signed = load_signatures(lab, strict=strict)
    for selection in (Selection(across=("a", "b")), Selection(arms=["a"]), Selection(arms=["b"])):
        want: Counter[tuple[str, PairStanding]] = Counter()
        for task, members in signed.by_task().items():
            for a, b in combinations(members, 2):
                if selection.holds(a.arm, b.arm):
                    want[task, standing_of_pair(wanted, a, b, signed)] += 1
        counted = standings(lab, wanted, selection, signed)
        assert {(task, word): n for task, found in counted.items() for word, n in found.items()} == want
    lab.close()


@_law
@given(_batches, st.sampled_from(CLASSES), st.booleans())
def test_a_standing_follows_from_class_status_and_what_is_possible(
    batch: list[Run], least: RunClass, strict: bool
) -> None:
    lab = Lab(batch)
    signed = load_signatures(lab, strict=strict)
    met = set(ORDER[: ORDER.index(least) + 1])
    for members in signed.by_task().values():
        for a, b in product(members, repeat=2):
            found = standing_of_pair(Requirement(run_class=least), a, b, signed)
            placed = judge(a, b, signed).placement
            if placed.run_class in met and placed.status in (Status.ESTABLISHED, Status.AT_LEAST):
                assert found is PairStanding.MET
            if found is PairStanding.MET:
                assert met.issuperset(placed.possible)
            if found is PairStanding.PROVISIONAL:
                assert placed.run_class in met
                assert placed.status is Status.PROVISIONAL
            below = found in (PairStanding.BELOW, PairStanding.PRESUMED_BELOW)
            assert below == met.isdisjoint(placed.possible)
            if found is PairStanding.PRESUMED_BELOW:
                assert placed.status in (Status.PROVISIONAL, Status.UNRESOLVED)
    lab.close()


@_law
@given(_batches, _names, st.booleans(), st.booleans())
def test_a_task_stands_as_its_pairs_say_one_by_one(batch: list[Run], name: str, strict: bool, lenient: bool) -> None:
    lab = Lab(batch)
    wanted = requirement(name)
    signed = load_signatures(lab, strict=strict)
    try:
        found = gate(lab, Terms("a", "b", wanted, strict=strict, accept_provisional=lenient))
    except EvidenceError as error:
        common = any(len({run.arm for run in members}) > 1 for members in signed.by_task().values())
        lab.close()
        if common and error.code != "anomaly-a5":
            raise
        return
    enough = {PairStanding.MET} | ({PairStanding.PROVISIONAL} if lenient else set())
    for task in found.by_task:
        members = signed.by_task()[task.task]
        pairs = [
            standing_of_pair(wanted, a, b, signed) for a, b in combinations(members, 2) if {a.arm, b.arm} == {"a", "b"}
        ]
        if not pairs:
            assert task.standing is TaskStanding.ONE_ARM
        elif {PairStanding.BELOW, PairStanding.PRESUMED_BELOW} & set(pairs):
            assert task.standing is TaskStanding.FAILED
            assert task.presumed == (PairStanding.BELOW not in pairs)
            assert task.examples
        elif enough.issuperset(pairs):
            assert task.standing is TaskStanding.PASSED
        else:
            assert task.standing is TaskStanding.UNDECIDED
            assert task.missing, "an undecided task says what is missing"
        for pair in task.examples:
            a, b = (next(run for run in members if run.run_id == name) for name in (pair.a, pair.b))
            assert (a.arm, b.arm) == ("a", "b")
            assert standing_of_pair(wanted, a, b, signed) is pair.standing
    lab.close()


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.fractions(0, Fraction(99, 100)))
def test_a_share_passes_or_fails_only_where_no_unknown_could_turn_it(
    failed: int, n_open: int, passed: int, share: Fraction
) -> None:
    total = failed + n_open + passed
    if not total:
        return
    over = {Fraction(failed + turned, total) > share for turned in range(n_open + 1)}
    want = GateVerdict.DOES_NOT_DECIDE
    if over == {True}:
        want = GateVerdict.FAILS
    elif over == {False}:
        want = GateVerdict.PASSES
    assert verdict(failed, n_open, total, share) is want
    if want is GateVerdict.PASSES:
        assert passed, "a gate that nothing passed does not pass"


@pytest.mark.parametrize("text", ["5", "0.05", "100%", "-1%", "%", "nan%", "inf%", "5%%", "five%", "", "1e999999%"])
def test_a_share_without_sign_or_out_of_bounds_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="share such as 5%"):
        parsed_share(text)


def test_a_share_is_exact() -> None:
    assert parsed_share(" 2.5 % ") == Fraction(1, 40)
    assert verdict(1, 0, 3, parsed_share("33.3%")) is GateVerdict.FAILS
    assert verdict(1, 0, 3, parsed_share("33.4%")) is GateVerdict.PASSES


def test_an_unknown_requirement_lists_the_known() -> None:
    with pytest.raises(UsageError, match="tests-identical"):
        requirement("divergent")


def _gated(*runs: Run, name: str = "tests-identical", **asked: bool) -> GateResult:
    lab = Lab(runs)
    try:
        return gate(lab, Terms("a", "b", requirement(name), **asked))
    finally:
        lab.close()


def _only(found: GateResult) -> GateTask:
    (task,) = found.by_task
    return task


def _run(arm: str, tree: str | None = None, report: Report | None = None, task: str = "t") -> Run:
    return Run(task=task, arm=arm, tree=tree, reports=(report,) if report else ())


def test_the_same_tests_of_another_tree_pass_and_other_tests_fail() -> None:
    found = _gated(_run("a", "x", GREEN), _run("b", "y", GREEN))
    assert (found.verdict, found.tasks["passed"]) == (GateVerdict.PASSES, 1)
    found = _gated(_run("a", "x", GREEN), _run("b", "y", GREEN), _run("b", "z", RED))
    assert found.verdict is GateVerdict.FAILS
    assert _only(found).pairs == {"met": 1, "provisional": 0, "unknown": 0, "presumed_below": 0, "below": 1}
    assert _only(found).examples[0].run_class is RunClass.DIVERGENT


def test_a_stronger_class_is_enough_and_a_weaker_one_is_not() -> None:
    same_tree = (_run("a", "x"), _run("b", "x"))
    assert _gated(*same_tree).verdict is GateVerdict.PASSES
    assert _gated(*same_tree, name="tree-identical").verdict is GateVerdict.PASSES
    assert _gated(*same_tree, name="token-identical").verdict is GateVerdict.DOES_NOT_DECIDE
    other_tree = (_run("a", "x", GREEN), _run("b", "y", GREEN))
    assert _gated(*other_tree, name="tree-identical").verdict is GateVerdict.FAILS


def test_nothing_recorded_never_passes_and_says_which_run_lacks_what() -> None:
    found = _gated(_run("a", "x", GREEN), _run("b"))
    assert found.verdict is GateVerdict.DOES_NOT_DECIDE
    assert {(gap.facet, gap.reason): gap.runs for gap in found.missing} == {
        ("tests", "no_report"): ("0000000000000002",),
        ("tree", "tree_unrecorded"): ("0000000000000002",),
    }


def test_reports_of_two_suites_are_missing_from_neither_run() -> None:
    found = _gated(_run("a", "x", GREEN), _run("b", "y", Report(GREEN.outcomes, suite="other")))
    assert [(gap.reason, gap.runs) for gap in found.missing] == [("suite_or_env_differs", ())]


def test_tests_of_which_none_ran_never_pass() -> None:
    idle = Report({"a": "skipped"})
    for name in ("tests-identical", "tests"):
        found = _gated(_run("a", "x", idle), _run("b", "y", idle), name=name)
        assert found.verdict is GateVerdict.DOES_NOT_DECIDE, name
        assert [gap.reason for gap in found.missing if gap.facet == "tests"] == ["vacuous"]


def test_agreement_about_no_call_at_all_never_passes() -> None:
    lab = Lab(
        [Run(arm=arm, actions="none") for arm in "aab"] + [Run(arm=arm, actions="some", task="u") for arm in "ab"]
    )
    lab.db.execute("update facet_digest set vacuous = true where facet = 'actions' and run_key <= 3")
    found = gate(lab, Terms("a", "b", requirement("actions")))
    idle, busy = found.by_task
    assert (idle.standing, idle.baseline_control, busy.standing) == ("undecided", Control.UNKNOWN, "passed")
    assert idle.pairs["unknown"] == 2
    assert [gap.reason for gap in idle.missing] == ["vacuous"]
    signed = load_signatures(lab)
    assert judge(signed.runs[1], signed.runs[3], signed).facets[Facet.ACTIONS].verdict is Verdict.SAME
    lab.close()


def test_an_assumed_environment_passes_only_where_that_is_accepted() -> None:
    assumed = Report(GREEN.outcomes, env=None)
    pair = (_run("a", "x", assumed), _run("b", "y", assumed))
    found = _gated(*pair)
    assert found.verdict is GateVerdict.DOES_NOT_DECIDE
    assert [gap.reason for gap in found.missing] == ["env_assumed"]
    found = _gated(*pair, accept_provisional=True)
    assert found.verdict is GateVerdict.PASSES
    assert any("1 passing task rests on one" in sentence for sentence in found.said)
    assert _gated(*pair, strict=True, accept_provisional=True).verdict is GateVerdict.DOES_NOT_DECIDE


def test_a_failure_by_assumption_only_is_counted_apart() -> None:
    pair = (_run("a", "x", Report(GREEN.outcomes, env=None)), _run("b", "y", Report(RED.outcomes, env=None)))
    found = _gated(*pair)
    assert (found.verdict, found.tasks["presumed"], _only(found).presumed) == (GateVerdict.FAILS, 1, True)
    assert _gated(*pair, strict=True).verdict is GateVerdict.DOES_NOT_DECIDE


def test_a_tree_that_is_known_to_differ_is_no_presumption_for_want_of_an_environment() -> None:
    pair = (_run("a", "x", Report(GREEN.outcomes, env=None)), _run("b", "y", Report(RED.outcomes, env=None)))
    assert not _only(_gated(*pair, name="tree-identical")).presumed


def test_a_task_of_one_arm_leaves_the_gate_open() -> None:
    found = _gated(_run("a", "x"), _run("b", "x"), _run("a", "x", task="u"))
    assert found.verdict is GateVerdict.DOES_NOT_DECIDE
    assert [(task.standing, task.lacking_arm) for task in found.by_task] == [("passed", None), ("one_arm", "b")]
    assert found.share == (0, 0.5)


def test_arms_without_a_common_task_are_no_gate() -> None:
    with pytest.raises(EvidenceError, match="no task in common"):
        _gated(_run("a", "x"), _run("b", "x", task="u"))


def test_a_baseline_that_differs_from_itself_as_often_is_said() -> None:
    found = _gated(_run("a", "x", GREEN), _run("a", "y", RED), _run("b", "x", GREEN))
    control = found.baseline_control
    assert (control.tasks, control.differs, control.candidate_differs) == (1, 1, 1)
    assert any("at least as often" in sentence for sentence in found.said)
    quiet = _gated(_run("a", "x", GREEN), _run("a", "x", GREEN), _run("b", "y", RED))
    assert not any("at least as often" in sentence for sentence in quiet.said)
    alone = _gated(_run("a", "x", GREEN), _run("b", "y", RED))
    assert any(sentence.startswith("No control") for sentence in alone.said)


def test_a_run_cut_off_before_it_could_differ_is_undecided() -> None:
    cut = Run(arm="a", actions="p", text="p", events=("p",), end_reason="timeout")
    whole = Run(arm="b", actions="pq", text="pq", events=("p", "q"))
    found = _gated(cut, whole, name="actions")
    assert _only(found).standing is TaskStanding.UNDECIDED
    assert [gap.reason for gap in found.missing] == ["censored@0"]


def test_one_odd_run_among_many_is_found_and_shown() -> None:
    many = [_run("a", "x", GREEN) for _ in range(60)] + [_run("b", f"tree {n}", GREEN) for n in range(60)]
    found = _gated(*many, _run("b", "odd", RED))
    (shown, *_) = _only(found).examples
    assert shown.b == f"{121:016x}"
    assert _only(found).pairs["below"] == 60
