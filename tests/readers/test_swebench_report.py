"""SWE-bench reports: outcome maps are equal exactly where the reports' own triples are."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samework.decode.source import BytesSource, FileSource
from samework.errors import DamagedRecord
from samework.model.reader import Reader
from samework.model.records import Damage, OutcomeRecord, SuiteReport
from samework.readers.swebench_report import READER

if TYPE_CHECKING:
    from samework.model.words import NodeResult

TESTS = {
    "FAIL_TO_PASS": {"success": ["t.py::a"], "failure": ["t.py::b"]},
    "PASS_TO_PASS": {"success": ["t.py::c[x y]", "t.py::a"], "failure": []},
    "FAIL_TO_FAIL": {"success": [], "failure": []},
}
BARE = {
    "patch_is_None": False,
    "patch_exists": True,
    "patch_successfully_applied": True,
    "resolved": False,
    "tests_status": TESTS,
}


def read(document: object) -> list[object]:
    return list(READER.read(BytesSource("report.json", json.dumps(document).encode())))


def only(records: list[object], kind: type) -> list:
    return [record for record in records if isinstance(record, kind)]


def sniff(document: object) -> float:
    data = json.dumps(document, indent=4).encode()
    return READER.sniff(data[:65536], BytesSource("report.json", data))


def triples(report: dict) -> set[tuple[str, str, str]]:
    return {
        (category, name, status)
        for category, statuses in (report.get("tests_status") or {}).items()
        for status in ("success", "failure")
        for name in statuses.get(status, [])
    }


def outcome_map(report: dict) -> frozenset[tuple[str, NodeResult]]:
    (suite,) = only(read({"made__up-1": report}), SuiteReport)
    assert len(suite.outcomes) == len(set(suite.outcomes))
    return frozenset((outcome.node, outcome.outcome) for outcome in suite.outcomes)


def test_it_is_a_reader():
    assert isinstance(READER, Reader)


@pytest.mark.parametrize(("document", "task"), [({"made__up-1": BARE}, "made__up-1"), (BARE, None)])
def test_both_shapes_are_read(document, task):
    assert sniff(document) > 0.9
    suite, resolved = read(document)
    assert (suite.task, suite.complete, suite.n_collected) == (task, True, 4)
    assert {(outcome.node, outcome.outcome.value) for outcome in suite.outcomes} == {
        ("FAIL_TO_PASS::t.py::a", "passed"),
        ("FAIL_TO_PASS::t.py::b", "failed"),
        ("PASS_TO_PASS::t.py::c[x y]", "passed"),
        ("PASS_TO_PASS::t.py::a", "passed"),
    }
    assert resolved == OutcomeRecord("resolved", value=False, task=task)


def test_a_test_in_two_categories_is_two_nodes():
    moved = {**TESTS, "PASS_TO_PASS": {"success": ["t.py::c[x y]"], "failure": ["t.py::a"]}}
    assert outcome_map(BARE) != outcome_map({**BARE, "tests_status": moved})


names = st.sampled_from(["a", "b::c", "::a", ""])
status = st.fixed_dictionaries({"success": st.lists(names, max_size=3), "failure": st.lists(names, max_size=3)})
reports = st.fixed_dictionaries(
    {"tests_status": st.dictionaries(st.sampled_from(["A", "A::B", "A:", "A%3A"]), status, max_size=3)}
)


@given(reports, reports)
def test_maps_are_equal_exactly_where_the_triples_are(one, other):
    assert (outcome_map(one) == outcome_map(other)) == (triples(one) == triples(other))


def test_a_report_without_tests_gives_only_its_verdict():
    assert read({"made__up-1": {"resolved": False, "patch_exists": True}}) == [
        OutcomeRecord("resolved", value=False, task="made__up-1")
    ]


def test_empty_lists_are_an_incomplete_report():
    suite = read({**BARE, "tests_status": {"FAIL_TO_PASS": {"success": [], "failure": []}}})[0]
    assert (suite.complete, suite.incomplete_reason, suite.outcomes) == (False, "no_tests_listed", ())


WHOLE = {"FAIL_TO_PASS": {"success": ["a"], "failure": []}, "PASS_TO_PASS": {"success": ["b"], "failure": []}}


@pytest.mark.parametrize(
    ("more", "finding", "verdict"),
    [
        ({"resolved": True}, "resolved is true, yet 1 tests that decide failed", None),
        ({"resolved": True, "tests_status": WHOLE}, None, True),
        ({"resolved": False, "tests_status": WHOLE}, "resolved is false, yet every test that decides passed", False),
        ({"resolved": False, "tests_status": {"FAIL_TO_PASS": WHOLE["FAIL_TO_PASS"]}}, None, False),
        (
            {"resolved": True, "tests_status": WHOLE, "patch_successfully_applied": False},
            "the patch was not applied, yet resolved is true",
            None,
        ),
        (
            {"resolved": True, "tests_status": WHOLE, "patch_is_None": True},
            "the patch was not applied, yet resolved is true",
            None,
        ),
        ({"patch_successfully_applied": False}, "the patch was not applied, yet tests passed", False),
    ],
)
def test_parts_that_contradict_each_other_leave_the_report_incomplete_and_give_no_better_verdict(
    more, finding, verdict
):
    records = read({**BARE, **more})
    (suite,) = only(records, SuiteReport)
    flags = ("patch_successfully_applied is false",) if more.get("patch_successfully_applied") is False else ()
    assert suite.findings == (*flags, *((finding,) if finding else ()))
    assert (suite.complete, suite.incomplete_reason) == ((False, "contradiction") if finding else (True, None))
    assert [outcome.value for outcome in only(records, OutcomeRecord)] == ([] if verdict is None else [verdict])
    told = [f"the report: {finding}; no verdict is taken"] if verdict is None else []
    assert [damage.reason for damage in only(records, Damage)] == told


def test_a_verdict_that_its_report_contradicts_is_refused_where_nothing_else_is_there():
    with pytest.raises(DamagedRecord, match="the patch was not applied"):
        read({"made__up-1": {"resolved": True, "patch_exists": False}})


def test_a_key_that_stands_twice_leaves_reports_incomplete_and_verdicts_out():
    text = json.dumps({"made__up-1": BARE}).replace('"resolved":', '"resolved": true, "resolved":')
    records = list(READER.read(BytesSource("report.json", text.encode())))
    (suite,) = only(records, SuiteReport)
    assert (suite.complete, suite.incomplete_reason, len(suite.outcomes)) == (False, "repeated_key", 4)
    assert only(records, OutcomeRecord) == []
    finding = 'the key "resolved" occurs twice in one object; the last value is kept'
    assert [damage.reason for damage in only(records, Damage)] == [finding]
    assert suite.findings == (finding,)
    with pytest.raises(DamagedRecord, match="occurs twice"):
        list(READER.read(BytesSource("x", b'{"resolved_ids": [], "resolved_ids": ["a"]}')))


@pytest.mark.parametrize("key", ["error_ids", "empty_patch_ids", "incomplete_ids"])
def test_an_id_that_is_resolved_and_was_not_judged_has_no_verdict(key):
    records = read({"resolved_ids": ["a", "b"], "unresolved_ids": ["c"], key: ["a", "c"]})
    assert [damage.reason for damage in only(records, Damage)] == [f"a is listed as resolved and as {key}"]
    assert [(each.task, each.value) for each in only(records, OutcomeRecord)] == [("b", True), ("c", False)]


@pytest.mark.parametrize("odd", [7, {"success": 7}, {"skipped": ["t.py::d"]}, {"success": ["t.py::d", 7]}])
def test_what_may_hide_a_test_makes_the_report_incomplete(odd):
    suite = read({**BARE, "tests_status": {**TESTS, "ODD": odd}})[0]
    assert (suite.complete, suite.incomplete_reason) == (False, "damaged_report")
    assert suite.findings


def test_several_tasks_in_one_file_and_what_is_none_is_reported():
    records = read({"made__up-1": BARE, "made__up-2": {**BARE, "tests_status": {}}, "note": 7})
    assert [suite.task for suite in only(records, SuiteReport)] == ["made__up-1", "made__up-2"]
    assert [damage.taints_run for damage in only(records, Damage)] == [False]


@pytest.mark.parametrize(
    "document",
    [
        {"resolved_ids": ["a", "b"], "unresolved_ids": ["c"], "error_ids": ["d"], "total_instances": 4},
        {"ids_resolved": ["a", "b"], "ids_unresolved": ["c"], "resolved": 2, "unresolved": 1},
        {"resolved": ["a", "b"], "unresolved": ["c"], "resolved_per_project": {}},
    ],
)
def test_a_summary_gives_a_verdict_for_each_id_it_lists_and_no_tests(document):
    assert sniff(document) > 0
    assert read(document) == [
        OutcomeRecord("resolved", value=True, task="a"),
        OutcomeRecord("resolved", value=True, task="b"),
        OutcomeRecord("resolved", value=False, task="c"),
    ]


def test_an_id_in_both_lists_has_no_verdict():
    records = read({"resolved_ids": ["a", "b"], "unresolved_ids": ["b"]})
    assert [(type(record), getattr(record, "task", None)) for record in records] == [
        (OutcomeRecord, "a"),
        (Damage, None),
    ]


def test_what_is_no_report_is_refused():
    for document in ({}, [], {"a": 7}, {"resolved": 7}):
        with pytest.raises(DamagedRecord):
            read(document)


def test_other_formats_are_not_claimed():
    assert sniff({"summary": {}, "tests": [], "collectors": []}) == 0
    assert sniff({"instance_id": "a", "history": [], "report": {"resolved": True, "tests_status": {}}}) == 0
    assert sniff([BARE]) == 0


@pytest.mark.shared
def test_maps_of_real_reports_agree_with_their_triples(shared_path):
    folder = shared_path("data", "verified-cross")
    n_pairs = n_same = 0
    for one in sorted((folder / "mini-gemini3" / "logs").glob("*/report.json")):
        other = folder / "vexp" / "logs" / one.parent.name / "report.json"
        if not other.exists():
            continue
        maps, sets = [], []
        for path in (one, other):
            source, document = FileSource(path), json.loads(path.read_bytes())
            assert READER.sniff(source.head(), source) > 0.9
            (suite,) = only(list(READER.read(source)), SuiteReport)
            assert suite.complete
            maps.append(frozenset(suite.outcomes))
            sets.append(triples(document.get(one.parent.name, document)))
        assert (maps[0] == maps[1]) == (sets[0] == sets[1])
        n_pairs += 1
        n_same += sets[0] == sets[1]
    assert (n_pairs, n_same) == (98, 78)


@pytest.mark.shared
def test_real_reports_of_other_graders_and_summaries_are_read(shared_path):
    folder = shared_path("data", "test-reports", "swebench")
    for path in sorted(folder.glob("*run_evaluation*__report.json")):
        source, document = FileSource(path), json.loads(path.read_bytes())
        assert READER.sniff(source.head(), source) > 0
        records = list(READER.read(source))
        if "tests_status" in document:
            assert len(records[0].outcomes) == len(triples(document))
        else:
            assert len(records) == document["total"]
    for path in sorted(shared_path("data", "swe-agent-lite").glob("*/final_report.json")):
        assert len(list(READER.read(FileSource(path)))) == len(json.loads(path.read_bytes())["resolved"])


def test_categories_never_share_a_node():
    for one, other in itertools.combinations(["A", "A:", "A::B", "A%3A", "%", "%25"], 2):
        left, right = ({"tests_status": {category: {"success": ["B::x"]}}} for category in (one, other))
        assert outcome_map(left) != outcome_map(right)
