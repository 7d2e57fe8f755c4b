"""The reader of CTRF reports: statuses, retries, ids, and when a report is complete."""

from __future__ import annotations

import json

import pytest

from samework.decode.source import BytesSource
from samework.errors import DamagedRecord
from samework.readers.ctrf import READER
from tests.reportlab import outcomes, report_of


def document(listed: list[object], **summary: object) -> str:
    summary = {"tests": len(listed), **summary}
    return json.dumps({"reportFormat": "CTRF", "results": {"tool": {"name": "x"}, "summary": summary, "tests": listed}})


def test_each_status_has_its_outcome():
    tests = [{"name": status, "status": status} for status in ("passed", "failed", "skipped", "pending")]
    report = report_of(READER, document(tests))
    assert outcomes(report) == {
        "passed": ["passed"],
        "failed": ["failed"],
        "skipped": ["skipped"],
        "pending": ["skipped"],
    }
    assert report.complete
    assert report.n_collected == 4


def test_what_pytest_says_beneath_a_status_is_kept():
    raw = {"teardown_failed": "error", "setup_failed": "error", "call_failed": "failed", "error": "error"}
    tests = [{"name": f"t.py::{word}", "status": "failed", "rawStatus": word} for word in raw]
    assert outcomes(report_of(READER, document(tests))) == {f"t.py::{word}": [result] for word, result in raw.items()}


@pytest.mark.parametrize("key", ["rawStatus", "raw_status"])
@pytest.mark.parametrize(
    ("status", "raw", "result"),
    [
        ("failed", "xfailed", "failed"),
        ("failed", "xpassed", "failed"),
        ("skipped", "xpassed", "skipped"),
        ("skipped", "xfailed", "xfailed"),
        ("passed", "xpassed", "xpassed"),
        ("passed", "error", "error"),
        ("passed", "failed", None),
        ("passed", "timedOut", None),
        ("skipped", "call_failed", None),
        ("failed", "timedOut", "failed"),
        ("other", "xfailed", "xfailed"),
        ("broken", "xpassed", None),
        (None, "xfailed", None),
    ],
)
def test_a_raw_status_never_makes_a_status_better(key, status, raw, result):
    report = report_of(READER, document([{"name": "a", "status": status, key: raw}]))
    assert outcomes(report) == ({"a": [result]} if result else {})
    assert report.complete == (result is not None)


@pytest.mark.parametrize(
    "more",
    [
        {"retryAttempts": [{"status": "other"}]},
        {"retryAttempts": ["failed"]},
        {"retryAttempts": [{"status": "skipped"}, {}]},
        {"retryAttempts": [None]},
        {"retryAttempts": {"status": "failed"}},
        {"retryAttempts": "failed"},
        {"retries": "1"},
        {"retries": True},
        {"retries": 1.0},
    ],
)
def test_an_attempt_without_an_outcome_leaves_the_report_incomplete(more):
    retries = min(len(more.get("retryAttempts", [])), 1)
    report = report_of(READER, document([{"name": "a", "status": "passed", "retries": retries, **more}]))
    assert report.incomplete_reason == "unknown_outcome"
    assert outcomes(report)["a"][-1] == "passed"


def test_a_flaky_flag_in_words_is_no_pass():
    assert outcomes(report_of(READER, document([{"name": "a", "status": "passed", "flaky": "true"}]))) == {
        "a": ["failed", "passed"]
    }


def test_a_status_without_an_outcome_leaves_the_report_incomplete():
    report = report_of(READER, document([{"name": "a", "status": "passed"}, {"name": "b", "status": "other"}]))
    assert outcomes(report) == {"a": ["passed"]}
    assert report.incomplete_reason == "unknown_outcome"


def test_a_retried_test_is_flaky_and_not_passed():
    attempts = [{"attempt": 1, "status": "failed"}]
    tests = [
        {"name": "a", "status": "passed", "flaky": True},
        {"name": "b", "status": "passed", "flaky": True, "retryAttempts": attempts},
    ]
    found = outcomes(report_of(READER, document(tests)))
    assert found == {"a": ["failed", "passed"], "b": ["failed", "passed"]}


def test_parameters_that_the_plugin_of_pytest_merged_are_unknown():
    """It writes how many others there were as `retries`, 0 for none, and leaves out a 1."""

    def written(**more: object) -> str:
        test = {"name": "t.py::a", "status": "passed", "file_path": "t.py", **more}
        summary = {"tests": 1, "passed": 1}
        return json.dumps({"results": {"tool": {"name": "pytest"}, "summary": summary, "tests": [test]}})

    assert report_of(READER, written(retries=0)).complete
    assert report_of(READER, written(retries=2)).incomplete_reason == "unknown_outcome"
    assert report_of(READER, written()).incomplete_reason == "unknown_outcome"


def test_attempts_that_are_not_listed_are_unknown_unless_the_end_tells_them():
    retried = {"name": "a", "status": "passed", "retries": 2}
    attempts = [{"attempt": 1, "status": "failed"}, {"attempt": 2, "status": "failed"}]
    assert report_of(READER, document([retried])).incomplete_reason == "unknown_outcome"
    for told in ({"flaky": True}, {"status": "failed"}, {"retryAttempts": attempts}):
        assert report_of(READER, document([{**retried, **told}])).complete, told


def test_a_summary_that_counts_a_status_otherwise_leaves_the_report_incomplete():
    tests = [{"name": "a", "status": "passed"}]
    assert report_of(READER, document(tests, passed=1, failed=0)).complete
    report = report_of(READER, document(tests, passed=0, failed=1))
    assert report.incomplete_reason == "count_mismatch"
    assert "the summary says 1 failed, 0 are listed" in report.findings


def test_a_key_that_stands_twice_leaves_the_report_incomplete():
    text = document([{"name": "a", "status": "passed"}]).replace('"status":', '"status": "failed", "status":')
    assert report_of(READER, text).incomplete_reason == "repeated_key"


@pytest.mark.parametrize(
    ("test", "node"),
    [
        ({"name": "t.py::a", "filePath": "t.py", "suite": ["t.py"]}, "t.py::a"),
        ({"name": "adds", "filePath": "a.test.js", "suite": ["math", "sum"]}, "a.test.js::math::sum::adds"),
        ({"name": "adds", "suite": "math"}, "math::adds"),
        ({"name": "adds"}, "adds"),
    ],
)
def test_a_test_is_known_by_file_suite_and_name(test, node):
    assert list(outcomes(report_of(READER, document([{"status": "passed", **test}])))) == [node]


@pytest.mark.parametrize(("claimed", "reason"), [(3, "count_mismatch"), (None, "count_unrecorded"), (1, None)])
def test_a_report_is_complete_iff_its_summary_counts_what_it_lists(claimed, reason):
    assert report_of(READER, document([{"name": "a", "status": "passed"}], tests=claimed)).incomplete_reason == reason


def test_a_document_without_results_is_refused():
    with pytest.raises(DamagedRecord):
        list(READER.read(BytesSource("x", b'{"reportFormat": "CTRF"}')))
