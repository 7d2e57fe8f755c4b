"""The worked examples of EQUIVALENCE that concern verdicts and classes, with their stated answers."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from samework.equivalence.classes import classes
from samework.equivalence.pairs import compare, list_pairs
from samework.model.words import Facet, RunClass, Status, Verdict
from tests.lab import Lab, Report, Run

if TYPE_CHECKING:
    from samework.model.results import FacetVerdict, PairResult

S, D, U = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNKNOWN
OK = Report({"a": "passed"})


def pair(a: Run, b: Run, *others: Run, strict: bool = False) -> PairResult:
    return compare(Lab([a, b, *others]), 1, 2, strict=strict)


def judged_tests(
    a: tuple[Report, ...], b: tuple[Report, ...], *, strict: bool = False, same_tree: bool = False
) -> FacetVerdict:
    tree = "x" if same_tree else "y"
    return pair(Run(tree="x", reports=a), Run(tree=tree, reports=b), strict=strict).facets[Facet.TESTS]


# 1. Headline


def test_same_tokens_and_other_tree_with_equal_tests_is_tests_identical_and_an_anomaly() -> None:
    found = pair(
        Run(tokens="t", prompt="p", tree="x", reports=(OK,)), Run(tokens="t", prompt="p", tree="y", reports=(OK,))
    )
    assert (found.run_class, found.status) == (RunClass.TESTS, Status.ESTABLISHED)
    assert [anomaly.code for anomaly in found.anomalies] == ["A1"]


def test_a_hosted_api_with_the_same_tree_is_at_least_tree_identical() -> None:
    found = pair(Run(text="t", tree="x"), Run(text="t", tree="x"))
    assert (found.run_class, found.status) == (RunClass.TREE, Status.AT_LEAST)
    assert found.possible == (RunClass.TOKEN, RunClass.TREE)
    assert found.facets[Facet.TOKENS].reason == "token_ids_unrecorded"


def test_a_suite_that_collected_nothing_leaves_the_class_open() -> None:
    empty = Report({})
    found = pair(
        Run(tokens="t", prompt="p", tree="x", reports=(empty,)), Run(tokens="u", prompt="p", tree="y", reports=(empty,))
    )
    assert (found.run_class, found.status) == (RunClass.UNRESOLVED, Status.UNRESOLVED)
    assert found.possible == (RunClass.TESTS, RunClass.DIVERGENT)
    assert found.facets[Facet.TESTS].reason == "vacuous"
    assert found.facets[Facet.TESTS].vacuous


# 2. Tests


@pytest.mark.parametrize("outcomes", [{}, {"a": "skipped"}])
def test_agreement_in_which_nothing_ran_is_unknown(outcomes: dict[str, str]) -> None:
    found = judged_tests((Report(outcomes),), (Report(outcomes),))
    assert (found.verdict, found.reason) == (U, "vacuous")


def test_a_node_missing_from_a_complete_report_differs() -> None:
    found = judged_tests((Report({"a": "passed"}),), (Report({"a": "passed", "b": "passed"}),))
    assert (found.verdict, found.reason) == (D, "differs_single_run")


def test_a_node_absent_from_an_incomplete_report_is_no_information() -> None:
    found = judged_tests((Report({"a": "passed"}, complete=False),), (Report({"a": "passed", "b": "passed"}),))
    assert (found.verdict, found.reason) == (U, "report_incomplete")


def test_an_incomplete_report_still_refutes_by_a_node_that_both_saw() -> None:
    found = judged_tests((Report({"a": "failed"}, complete=False),), (Report({"a": "passed", "b": "passed"}),))
    assert (found.verdict, found.detail) == (D, "a")


def test_flaky_against_stable_is_unknown_without_quarantine() -> None:
    flaky = (Report({"a": "passed"}), Report({"a": "failed"}))
    assert judged_tests(flaky, (OK,), strict=True).verdict is U


def test_a_flaky_node_is_quarantined_and_the_rest_is_compared() -> None:
    flaky = (Report({"a": "passed", "b": "passed"}), Report({"a": "failed", "b": "passed"}))
    found = judged_tests(flaky, (Report({"a": "passed", "b": "passed"}),))
    assert found.verdict is S
    assert found.detail == "tests-identical, 1 repeat, 1 quarantined, 0 failing"


def test_only_flaky_nodes_leave_nothing_to_agree_on() -> None:
    flaky = (Report({"a": "passed"}), Report({"a": "failed"}))
    assert judged_tests(flaky, (OK,)).reason == "vacuous"


def test_quarantine_is_of_the_whole_group() -> None:
    third = Run(tree="z", reports=(Report({"a": "passed", "b": "passed"}), Report({"a": "failed", "b": "passed"})))
    found = pair(
        Run(tree="x", reports=(Report({"a": "passed", "b": "passed"}),)),
        Run(tree="y", reports=(Report({"a": "failed", "b": "passed"}),)),
        third,
    )
    assert found.facets[Facet.TESTS].verdict is S


def test_a_collection_error_against_tests_that_passed_differs() -> None:
    broken = Report({"m.py::<collection>": "error"}, complete=False)
    for whole in ({"m.py::t": "passed"}, {"m.py::T::t": "failed", "n.py::u": "passed"}):
        for complete in (True, False):
            found = judged_tests((broken,), (Report(whole, complete=complete),))
            assert (found.verdict, found.reason, found.detail) == (D, "collection_differs", "m.py::<collection>")


def test_two_collection_errors_are_unknown() -> None:
    broken = Report({"m.py::<collection>": "error"}, complete=False)
    found = judged_tests((broken,), (broken,))
    assert (found.verdict, found.reason, found.vacuous) == (U, "vacuous", True)
    beside = Report({"m.py::<collection>": "error", "n.py::t": "passed"}, complete=False)
    found = judged_tests((beside,), (beside,))
    assert (found.verdict, found.reason) == (U, "report_incomplete")


@pytest.mark.parametrize(
    ("one", "others"),
    [
        ({"m.py::<collection>": "error"}, [{"n.py::t": "passed"}]),  # nobody tells whether m.py was collected
        ({"m.py::<collection>": "error"}, [{"mm.py::t": "passed"}]),
        ({"m.py::T::<collection>": "error"}, [{"m.py::U::t": "passed"}]),
        ({"m.py::<collection>": "error"}, [{"m.py::<file>": "error"}]),
        ({"m.py::<collection>": "error"}, [{"m.py::t": "passed"}, {"m.py::<collection>": "error"}]),  # flaky
        ({"m.py::<collection>": "error", "m.py::t": "passed"}, [{"m.py::t": "passed"}]),
    ],
)
def test_a_collection_error_refutes_nothing_that_was_not_collected_for_certain(
    one: dict[str, str], others: list[dict[str, str]]
) -> None:
    broken = Report({**one, "z.py::t": "passed"}, complete=False)
    reports = tuple(Report({**other, "z.py::t": "passed"}, complete=False) for other in others)
    found = judged_tests((broken,), reports)
    assert (found.verdict, found.reason) == (U, "report_incomplete")


def test_two_reports_in_which_only_packages_broke_agree_about_nothing() -> None:
    broken = Report({"ex/p::<package>": "error"})
    assert judged_tests((broken,), (broken,)).reason == "vacuous"


def test_one_tree_with_unequal_reports_is_the_anomaly_of_its_cell() -> None:
    found = pair(
        Run(tree="x", reports=(Report({"a": "passed", "b": "passed"}),)),
        Run(tree="x", reports=(Report({"a": "failed", "b": "passed"}),)),
    )
    assert [anomaly.code for anomaly in found.anomalies] == ["A2"]
    assert found.run_class is RunClass.TREE


def test_other_suites_and_other_environments_are_not_compared() -> None:
    found = judged_tests((Report({"a": "passed"}, suite="one"),), (Report({"a": "passed"}, suite="two"),))
    assert (found.verdict, found.reason) == (U, "suite_or_env_differs")


def test_an_environment_nobody_recorded_makes_the_class_at_most_provisional() -> None:
    report = Report({"a": "passed"}, env=None)
    a, b = Run(tree="x", reports=(report,)), Run(tree="y", reports=(report,))
    found = pair(a, b)
    assert (found.run_class, found.status) == (RunClass.TESTS, Status.PROVISIONAL)
    assert found.facets[Facet.TESTS].reason == "env_assumed"
    assert pair(a, b, strict=True).facets[Facet.TESTS].verdict is U


def test_a_suite_without_a_name_is_not_taken_as_equal() -> None:
    report = Report({"a": "passed"}, suite=None, env=None)
    assert judged_tests((report,), (report,)).reason == "suite_unrecorded"


# 3. N runs


def test_five_runs_give_one_token_two_tree_three_tests_and_four_divergent_pairs() -> None:
    passed, failed = (Report({"a": "passed"}),), (Report({"a": "failed"}),)
    lab = Lab(
        [
            Run(tokens="t1", prompt="p", tree="x", reports=passed),
            Run(tokens="t1", prompt="p", tree="x", reports=passed),
            Run(tokens="t2", prompt="p", tree="x", reports=passed),
            Run(tokens="t3", prompt="p", tree="y", reports=passed),
            Run(tokens="t4", prompt="p", tree="z", reports=failed),
        ]
    )
    found = classes(lab)
    assert found.pairs == {
        "total": 10, "token-identical": 1, "tree-identical": 2, "tests-identical": 3, "divergent": 4, "unresolved": 0,
    }  # fmt: skip
    assert [(block.tests, block.tree, block.tokens, block.size) for block in found.by_task[0].classes] == [
        (1, 1, 1, 2), (1, 1, 2, 1), (1, 2, 3, 1), (2, 3, 4, 1),
    ]  # fmt: skip


# 9. Unknowns


def test_a_rate_carries_bounds_over_its_unknowns() -> None:
    lab = Lab([Run(tree="x"), Run(tree="x"), Run(tree="y"), Run()])
    found = classes(lab)
    assert found.facets["tree"] == {"same": 1, "different": 2, "unknown": 3, "not_applicable": 0}
    assert found.bounds["tree"] == (2 / 6, 5 / 6)


# Patches without a repository


def test_equal_post_images_on_a_recorded_base_are_one_tree() -> None:
    found = pair(Run(patch={"f": "a" * 40}, base="b"), Run(patch={"f": "a" * 7}, base="b"))
    assert (found.facets[Facet.TREE].verdict, found.facets[Facet.TREE].grade) == (S, "derived")


def test_ids_are_cut_to_the_shortest_of_the_task_so_that_same_stays_transitive() -> None:
    a, b = "aaaaaaa1" + "0" * 32, "aaaaaaa2" + "0" * 32
    two = Lab([Run(patch={"f": a}, base="b"), Run(patch={"f": b}, base="b")])
    three = Lab([Run(patch={"f": a}, base="b"), Run(patch={"f": b}, base="b"), Run(patch={"f": a[:7]}, base="b")])
    assert [row.facets["tree"] for row in list_pairs(two)] == [D]
    assert {row.facets["tree"] for row in list_pairs(three)} == {S}


def test_without_a_base_the_layout_must_be_the_same_and_the_grade_is_asserted() -> None:
    patch = {"f": "a" * 40}
    assert pair(Run(patch=patch), Run(patch=patch)).facets[Facet.TREE].grade == "asserted"
    assert pair(Run(patch=patch), Run(patch=patch, layout="other")).facets[Facet.TREE].verdict is U


ID, OTHER = "1" * 40, "9" * 40


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"f": (ID, "p")}, {"f": (ID, "q")}),  # one id before and after, another change
        ({"f": (ID, "p")}, {"f": (ID[:7], "q")}),
        ({"f": (ID, "p")}, {"f": (OTHER, "p")}),  # one base and one id after, another file before
        ({"f": (ID, "p"), "g": (ID, "p")}, {"f": (ID, "p"), "g": (ID, "q")}),
    ],
)
@pytest.mark.parametrize("base", ["b" * 40, None])
def test_patches_whose_ids_agree_and_whose_changes_do_not_are_no_evidence_of_one_tree(
    a: dict[str, tuple[str, str]], b: dict[str, tuple[str, str]], base: str | None
) -> None:
    patch = dict.fromkeys(a, "a" * 40)
    found = pair(Run(patch=patch, base=base, edits=a), Run(patch=patch, base=base, edits=b)).facets[Facet.TREE]
    assert (found.verdict, found.reason, found.grade) == (U, "patches_contradict", "none")
    assert (found.detail or "").startswith(f"{max(a)}: equal blob ids")


def test_one_change_of_one_file_cannot_give_two_files() -> None:
    a = Run(patch={"f": "a" * 40}, base="b" * 40, edits={"f": (ID, "p")})
    b = Run(patch={"f": "e" * 40}, base="b" * 40, edits={"f": (ID, "p")})
    assert pair(a, b).facets[Facet.TREE].reason == "patches_contradict"


def test_a_contested_path_leaves_runs_that_state_the_same_of_it_comparable() -> None:
    runs = [Run(patch={"f": "a" * 40}, base="b" * 40, edits={"f": (ID, change)}) for change in ("p", "q", "p")]
    other = Run(patch={"f": "e" * 40}, base="b" * 40, edits={"f": (ID, "r")})
    verdicts = {(row.a[-1], row.b[-1]): row.facets["tree"] for row in list_pairs(Lab([*runs, other]))}
    assert verdicts == {
        ("1", "2"): U, ("1", "3"): S, ("2", "3"): U, ("1", "4"): U, ("2", "4"): U, ("3", "4"): U,
    }  # fmt: skip


def test_ids_before_the_patch_may_differ_where_the_bases_do() -> None:
    a = Run(patch={"f": "a" * 40}, base="b" * 40, edits={"f": (ID, "p")})
    b = Run(patch={"f": "a" * 40}, base="c" * 40, edits={"f": (OTHER, "q")})
    assert [row.facets["tree"] for row in list_pairs(Lab([a, b, a, b]))].count(S) == 2


def test_an_abbreviated_base_is_the_base_that_it_begins() -> None:
    patch = {"f": "a" * 40}
    found = pair(Run(patch=patch, base="b" * 40), Run(patch=patch, base="b" * 7)).facets[Facet.TREE]
    assert (found.verdict, found.grade) == (S, "derived")
    assert pair(Run(patch=patch, base="b" * 40), Run(patch=patch, base="b" * 6 + "c")).facets[Facet.TREE].verdict is U


@pytest.mark.parametrize(
    ("grades", "grade", "status"),
    [
        (("direct", "direct"), "direct", Status.AT_LEAST),
        (("direct", "derived"), "derived", Status.AT_LEAST),
        (("asserted", "asserted"), "asserted", Status.PROVISIONAL),
        (("direct", "asserted"), "asserted", Status.PROVISIONAL),
    ],
)
def test_a_verdict_on_trees_has_the_weaker_grade_and_what_rests_on_a_bare_id_is_provisional(
    grades: tuple[str, str], grade: str, status: Status
) -> None:
    found = pair(*(Run(tree="x", tree_grade=each) for each in grades))
    assert (found.facets[Facet.TREE].verdict, found.facets[Facet.TREE].grade, found.status) == (S, grade, status)
    other = pair(Run(tree="x", tree_grade=grades[0]), Run(tree="y", tree_grade=grades[1])).facets[Facet.TREE]
    assert (other.verdict, other.grade) == (D, grade)


def test_a_patch_on_a_recorded_base_counts_more_than_an_asserted_tree() -> None:
    a = Run(tree="x", tree_grade="asserted", patch={"f": "a" * 40}, base="b" * 40)
    b = Run(tree="x", tree_grade="asserted", patch={"f": "e" * 40}, base="b" * 40)
    assert pair(a, b).facets[Facet.TREE].reason == "post_images_differ"
    assert classes(Lab([a, b])).pairs["tree-identical"] == 0


def test_other_bases_leave_the_tree_unknown() -> None:
    patch = {"f": "a" * 40}
    assert pair(Run(patch=patch, base="b"), Run(patch=patch, base="c")).facets[Facet.TREE].reason == "base_unrecorded"


def test_an_empty_patch_is_the_base_tree_and_no_patch_is_unknown() -> None:
    found = pair(Run(patch={}, base="b"), Run(patch={}, base="b"))
    assert (found.facets[Facet.TREE].verdict, found.facets[Facet.TREE].detail) == (S, "no_work")
    assert pair(Run(patch={}, base="b"), Run(base="b")).facets[Facet.TREE].verdict is U


def test_a_working_tree_is_not_compared_with_a_commit() -> None:
    found = pair(Run(tree="x"), Run(tree="x", policy="commit"))
    assert (found.facets[Facet.TREE].verdict, found.facets[Facet.TREE].reason) == (U, "policy")


def test_trees_of_two_object_formats_are_compared_by_content() -> None:
    found = pair(Run(tree="x"), Run(tree="x", tree_format="sha256"))
    assert (found.facets[Facet.TREE].verdict, found.facets[Facet.TREE].reason) == (S, "equal_content")


# Tokens


def test_text_refutes_tokens_within_one_recorder_and_never_confirms_them() -> None:
    assert pair(Run(text="a"), Run(text="b")).facets[Facet.TOKENS].reason == "text_refutes"
    assert pair(Run(text="a"), Run(text="b", recorder="other")).facets[Facet.TOKENS].verdict is U
    assert pair(Run(text="a"), Run(text="a")).facets[Facet.TOKENS].verdict is U


def test_counts_refute_tokens_of_equal_messages() -> None:
    a, b = Run(text="a", counts="1"), Run(text="a", counts="2")
    assert pair(a, b).facets[Facet.TOKENS].reason == "counts_refute"


def test_ids_that_stand_for_two_texts_make_no_run_of_the_task_the_same() -> None:
    """Else a run that records no text would be the same as two that contradict each other."""
    a, b = (Run(tokens="x", prompt="p", raw_text=text, text=None) for text in ("yes", "no"))
    silent, other = Run(tokens="x", prompt="p"), Run(tokens="y", prompt="p")
    lab = Lab([a, b, silent, other])
    found = [compare(lab, *keys).facets[Facet.TOKENS] for keys in ((1, 2), (1, 3), (1, 4))]
    assert [(one.verdict, one.reason) for one in found] == [
        (U, "ids_contradicted"), (U, "ids_contradicted"), (D, "completion_ids_differ"),
    ]  # fmt: skip
    assert compare(Lab([a, silent]), 1, 2).facets[Facet.TOKENS].verdict is S


def test_digests_made_by_other_rules_are_not_compared() -> None:
    lab = Lab([Run(tokens="a", prompt="p", text="a", actions="a"), Run(tokens="b", prompt="q", text="b", actions="b")])
    assert compare(lab, 1, 2).facets[Facet.ACTIONS].verdict is D
    lab.db.execute("update facet_digest set ruleset_id = 'older'::blob where run_key = 2")
    found = compare(lab, 1, 2).facets
    assert {found[facet].verdict for facet in (Facet.TOKENS, Facet.TEXT, Facet.ACTIONS)} == {U}


def test_completion_ids_alone_refute_and_never_confirm() -> None:
    assert pair(Run(tokens="a"), Run(tokens="b")).facets[Facet.TOKENS].reason == "completion_ids_differ"
    assert pair(Run(tokens="a"), Run(tokens="a")).facets[Facet.TOKENS].reason == "prompt_ids_unrecorded"


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"template.sha256": '"aa"', "template.reads_clock": "false"}, S),
        ({"template.sha256": '"aa"', "template.reads_clock": "true"}, U),
        ({"template.sha256": '"aa"'}, U),
        ({"template.reads_clock": "false"}, U),
    ],
)
def test_prompts_are_implied_only_by_a_template_that_reads_no_clock(fields: dict[str, str], verdict: Verdict) -> None:
    lab = Lab([Run(tokens="a"), Run(tokens="a")])
    lab.db.execute("update facet_digest set digest = 'seen'::blob where facet = 'prompt_tokens'")
    for key, (name, value) in itertools.product((1, 2), fields.items()):
        lab.db.execute(
            "insert into manifest_field by name select ? as run_key, ? as field, ? as value", [key, name, value]
        )
    assert compare(lab, 1, 2).facets[Facet.TOKENS].verdict is verdict


def test_other_tokenizers_are_not_compared() -> None:
    a, b = Run(tokens="a", prompt="p"), Run(tokens="a", prompt="p", tokenizer="other")
    assert pair(a, b).facets[Facet.TOKENS].reason == "tokenizer"


def test_a_run_cut_off_as_a_prefix_is_unknown_and_one_that_ended_itself_differs() -> None:
    long = Run(text="pq", actions="pq", tokens="pq", prompt="pq", events=("p", "q"))
    short = Run(text="p", actions="p", tokens="p", prompt="p", events=("p",))
    cut = Run(text="p", actions="p", tokens="p", prompt="p", events=("p",), end_reason="timeout")
    assert pair(long, short).facets[Facet.TOKENS].verdict is D
    found = pair(long, cut)
    assert found.facets[Facet.TOKENS].reason == "censored@0"
    assert found.facets[Facet.ACTIONS].reason == "censored@0"


def test_an_incomplete_record_is_never_token_identical() -> None:
    run = Run(tokens="a", prompt="p", text="a", tree="x")
    found = pair(run, Run(tokens="a", prompt="p", text="a", tree="x", complete=False))
    assert found.facets[Facet.TOKENS].reason == "incomplete_record"
    assert (found.run_class, found.status) == (RunClass.TREE, Status.AT_LEAST)


def test_no_calls_on_both_sides_is_vacuous_agreement() -> None:
    lab = Lab([Run(actions="none"), Run(actions="none")])
    lab.db.execute("update facet_digest set vacuous = true where facet = 'actions'")
    found = compare(lab, 1, 2).facets[Facet.ACTIONS]
    assert (found.verdict, found.vacuous) == (S, True)
    assert compare(lab, 1, 2).run_class is RunClass.UNRESOLVED


def test_same_tokens_and_other_grade_without_a_tree_is_an_anomaly() -> None:
    a, b = (Run(tokens="t", prompt="p", outcome=value, kind="tool-use") for value in ("true", "false"))
    assert [anomaly.code for anomaly in pair(a, b).anomalies] == ["A4"]
