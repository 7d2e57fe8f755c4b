"""The reader of pytest-json-report: outcomes, completeness and oddities, against independent counts."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from samework.decode.source import BytesSource, FileSource
from samework.errors import InputError
from samework.model.records import SuiteReport
from samework.readers.pytest_json import READER


def report_of(document: object) -> SuiteReport:
    (report,) = READER.read(BytesSource("report.json", json.dumps(document).encode()))
    assert isinstance(report, SuiteReport)
    return report


def document(*tests: tuple[str, str], exitcode: int = 0, **changes: object) -> dict[str, object]:
    listed = [{"nodeid": node, "outcome": outcome} for node, outcome in tests]
    summary = {"total": len(tests), "collected": len(tests)}
    return {"created": 1.0, "exitcode": exitcode, "root": "/w", "summary": summary, "tests": listed} | changes


def outcomes(report: SuiteReport) -> list[tuple[str, str]]:
    return [(outcome.node, outcome.outcome.value) for outcome in report.outcomes]


SAMPLES = [
    ("numirias__pytest-json-report__sample_report.json", 10, False, "collected_unrecorded"),
    ("JeremieGince__PythonBasicTools__.report.json", 12, True, None),
    ("Significant-Gravitas__opensoft__.report.json", 2, True, None),
    ("avataristvan__a-i-d-e__.report.json", 1, False, "exit_code_2"),
    ("Huyen1974__agent-data__.report.json", 0, False, "not_all_ran"),
    ("Huyen1974__agent-data__pytest-report.json", 58, False, "not_all_ran"),
]


@pytest.mark.parametrize(("name", "n_nodes", "complete", "reason"), SAMPLES)
def test_each_sample_gives_its_nodes_and_its_completeness(shared_path, name, n_nodes, complete, reason):
    path = shared_path("data", "test-reports", "pytest-json", name)
    source = FileSource(path)
    assert READER.sniff(source.head(), source) > 0.9
    (report,) = READER.read(source)
    assert (len(report.outcomes), report.complete, report.incomplete_reason) == (n_nodes, complete, reason)
    listed = Counter(test["outcome"] for test in json.loads(path.read_bytes()).get("tests", []))
    assert Counter(outcome.outcome.value for outcome in report.outcomes if "<coll" not in outcome.node) == listed


def test_a_report_of_another_runner_is_not_claimed(shared_path):
    source = FileSource(
        shared_path("data", "test-reports", "pytest-json", "Significant-Gravitas__opensoft__report.json")
    )
    assert READER.sniff(source.head(), source) == 0
    with pytest.raises(InputError, match="summary"):
        list(READER.read(source))


def test_all_passed_and_collected_is_complete():
    report = report_of(document(("t.py::a", "passed"), ("t.py::b", "xfailed")))
    assert report.complete
    assert outcomes(report) == [("t.py::a", "passed"), ("t.py::b", "xfailed")]
    assert report.n_collected == 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"exitcode": 2}, "exit_code_2"),
        ({"exitcode": 5}, "exit_code_5"),
        ({"exitcode": None}, "exit_code_unrecorded"),
        ({"summary": {"total": 1, "collected": 4}, "exitcode": 1}, "not_all_ran"),
        ({"summary": {"total": 1, "collected": 2, "deselected": 1}}, "deselected"),
        ({"summary": {"total": 1}}, "collected_unrecorded"),
        ({"collectors": [{"nodeid": "u.py", "outcome": "failed"}], "exitcode": 1}, "collection_failed"),
        ({"collectors": [{"nodeid": "u.py", "outcome": "skipped"}]}, "collection_failed"),
        ({"summary": {"total": 2, "collected": 2}}, "tests_omitted"),
        ({"summary": {"total": 1, "collected": 1, "rerun": 1}}, "rerun"),
        ({"summary": {"total": 1, "collected": 1, "failed": 1}}, "count_mismatch"),
        ({"summary": {"total": 1, "collected": 1, "passed": "1"}}, "count_mismatch"),
        ({"exitcode": 1}, "contradiction"),
        ({"summary": {"total": 0, "collected": 0}, "tests": []}, "no_tests"),
        ({"summary": {"total": 0, "collected": 0}, "tests": [], "exitcode": 1}, "contradiction"),
    ],
)
def test_a_report_is_incomplete_by_any_one_rule(changes, reason):
    report = report_of(document(("t.py::a", "passed"), **changes))
    assert not report.complete
    assert report.incomplete_reason == reason


def test_a_summary_that_counts_what_the_list_does_not_show_is_told():
    report = report_of(document(("t.py::a", "passed"), summary={"total": 1, "collected": 1, "failed": 1}))
    assert report.findings == ("summary says 1 failed, 0 are listed", "summary says 0 passed, 1 are listed")
    summary = {"total": 2, "collected": 2, "passed": 1, "subtests passed": 1}
    assert report_of(document(("t::a", "passed"), ("t::b", "subtests passed"), summary=summary)).complete


def test_an_exit_code_without_failures_beside_one_leaves_the_report_incomplete():
    report = report_of(document(("t.py::a", "failed")))
    assert (outcomes(report), report.incomplete_reason) == ([("t.py::a", "failed")], "contradiction")
    assert report_of(document(("t.py::a", "failed"), exitcode=1)).complete


@pytest.mark.parametrize("exitcode", [0, 1])
def test_a_test_whose_call_failed_did_not_pass(exitcode):
    tests = [{"nodeid": "t.py::a", "outcome": "passed", "call": {"outcome": "failed"}}]
    report = report_of(document(("t.py::a", "passed"), tests=tests, exitcode=exitcode))
    assert (outcomes(report), report.incomplete_reason) == ([("t.py::a", "failed")], "contradiction")
    assert "t.py::a: the outcome is passed, though its call failed" in report.findings


@pytest.mark.parametrize(
    ("whole", "key"),
    [
        ('"outcome": "passed"', '"outcome": "failed", "outcome": "passed"'),
        ('"tests": ', '"tests": [{"nodeid": "t.py::b", "outcome": "failed"}], "tests": '),
    ],
)
def test_a_key_that_stands_twice_leaves_the_report_incomplete(whole, key):
    text = json.dumps(document(("t.py::a", "passed")))
    (report,) = READER.read(BytesSource("report.json", text.replace(whole, key).encode()))
    assert (report.complete, report.incomplete_reason) == (False, "repeated_key")
    assert any("occurs twice" in finding for finding in report.findings)


def test_a_failing_collector_is_a_node_with_an_error():
    report = report_of(document(("t.py::a", "passed"), collectors=[{"nodeid": "u.py", "outcome": "failed"}]))
    assert ("u.py::<collection>", "error") in outcomes(report)


def test_a_rerun_test_has_no_outcome():
    report = report_of(document(("t.py::a", "rerun"), ("t.py::b", "passed")))
    assert outcomes(report) == [("t.py::b", "passed")]
    assert report.incomplete_reason == "rerun"
    assert any("rerun" in finding for finding in report.findings)


def test_passed_subtests_are_a_passed_test():
    assert outcomes(report_of(document(("t.py::a", "subtests passed")))) == [("t.py::a", "passed")]


@pytest.mark.parametrize("phase", ["setup", "teardown"])
def test_a_failing_set_up_or_tear_down_overrides_failed(phase):
    made = document()
    made["summary"] = {"total": 1, "collected": 1}
    made["tests"] = [{"nodeid": "t.py::a", "outcome": "failed", phase: {"outcome": "failed"}}]
    assert outcomes(report_of(made)) == [("t.py::a", "error")]


def test_memory_addresses_in_ids_are_masked_and_small_hex_numbers_are_not():
    report = report_of(
        document(
            ("t.py::a[<A object at 0x7f3e4c0d5e10>]", "passed"),
            ("t.py::a[<A object at 0x7f3e4c0d5e90>]", "failed"),
            ("t.py::b[0x10]", "passed"),
        )
    )
    assert [node for node, _ in outcomes(report)] == [
        "t.py::a[<A object at 0x<ADDR:1>>]",
        "t.py::a[<A object at 0x<ADDR:2>>]",
        "t.py::b[0x10]",
    ]
    assert any("2 test ids hold a memory address" in finding for finding in report.findings)


def test_an_id_that_occurs_twice_keeps_both_outcomes():
    report = report_of(document(("t.py::a", "passed"), ("t.py::a", "failed"), exitcode=1))
    assert outcomes(report) == [("t.py::a", "passed"), ("t.py::a", "failed")]
    assert any("repeat" in finding for finding in report.findings)


def test_a_crash_of_a_worker_is_an_error_not_a_failed_assertion(shared_path):
    (report,) = READER.read(FileSource(shared_path("cases", "xdist-crash", "a.json")))
    assert report.complete
    assert dict(outcomes(report))["test_crash.py::test_boom"] == "error"
    assert len(report.outcomes) == 3


def test_an_absent_test_is_simply_absent_from_a_complete_report(shared_path):
    a, b = (
        next(READER.read(FileSource(shared_path("cases", "absent-not-passed", name)))) for name in ("a.json", "b.json")
    )
    assert a.complete
    assert b.complete
    assert {node for node, _ in outcomes(a)} - {node for node, _ in outcomes(b)} == {"t.py::test_b"}


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"{}", b'{"summary": 3}', b"\xff\xfe", b'{"summary": {}, "tests": 3}']
)
def test_hostile_bytes_are_an_input_error_or_an_incomplete_report(data):
    try:
        records = list(READER.read(BytesSource("x", data)))
    except InputError:
        return
    assert all(isinstance(record, SuiteReport) and not record.complete for record in records)


def test_a_report_cut_anywhere_never_passes_for_complete():
    whole = json.dumps(document(("t.py::a", "passed"))).encode()
    for end in range(len(whole)):
        with pytest.raises(InputError):
            list(READER.read(BytesSource("x", whole[:end])))
