"""The reader of Jest's JSON: ids without the checkout's path, statuses, retries, files that did not run."""

from __future__ import annotations

import json

import pytest

from samework.decode.source import BytesSource
from samework.errors import DamagedRecord
from samework.readers.jest import READER
from tests.reportlab import outcomes, report_of


def case(title: str, status: str = "passed", *titles: str, **more: object) -> dict[str, object]:
    return {
        "ancestorTitles": list(titles),
        "title": title,
        "fullName": " ".join([*titles, title]),
        "status": status,
        **more,
    }


def document(files: dict[str, list[dict[str, object]]], **more: object) -> str:
    results = [
        {"name": name, "status": "passed" if tests else "failed", "assertionResults": tests}
        for name, tests in files.items()
    ]
    listed = [test["status"] for tests in files.values() for test in tests]
    counts = {"numPassedTests": listed.count("passed"), "numTotalTests": len(listed)}
    is_success = "failed" not in listed and all(files.values())
    return json.dumps({**counts, "success": is_success, "testResults": results, **more})


def test_ids_do_not_hold_the_place_of_the_checkout():
    tests = {"src/a.test.js": [case("x", "passed", "math", "sum")], "lib/b.test.js": [case("y", "failed")]}
    found = [
        outcomes(report_of(READER, document({f"{root}/{name}": cases for name, cases in tests.items()})))
        for root in ("/w", "/home/me/project", "C:/w")
    ]
    assert found[0] == {"src/a.test.js::math::sum::x": ["passed"], "lib/b.test.js::y": ["failed"]}
    assert found[0] == found[1] == found[2]


def test_each_status_has_its_outcome():
    tests = [case(word, word) for word in ("passed", "failed", "pending", "todo", "disabled", "skipped")]
    found = outcomes(report_of(READER, document({"/w/a.js": tests})))
    assert [result for (result,) in found.values()] == ["passed", "failed", *["skipped"] * 4]


@pytest.mark.parametrize("more", [{"retryReasons": ["e"]}, {"invocations": 2}, {"failureMessages": ["e"]}])
def test_a_test_that_passed_on_a_retry_is_flaky(more):
    assert outcomes(report_of(READER, document({"/a.js": [case("x", **more)]}))) == {"a.js::x": ["failed", "passed"]}


def test_a_file_that_did_not_run_is_an_error_of_its_own():
    report = report_of(READER, document({"/w/a.js": [case("x")], "/w/b.js": []}))
    assert outcomes(report) == {"a.js::x": ["passed"], "b.js::<collection>": ["error"]}
    assert report.incomplete_reason == "collection_failed"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({}, None),
        ({"numTotalTests": 2}, "count_mismatch"),
        ({"wasInterrupted": True}, "interrupted"),
        ({"numRuntimeErrorTestSuites": 1}, "collection_failed"),
        ({"numRuntimeErrorTestSuites": 0, "numTotalTestSuites": 1, "numFailedTestSuites": 0}, None),
        ({"numRuntimeErrorTestSuites": 0, "numTotalTestSuites": 2}, "count_mismatch"),
        ({"numTotalTestSuites": 2}, None),  # Vitest counts describe blocks
        ({"numFailedTests": 1}, "count_mismatch"),
        ({"numPassedTests": 0}, "count_mismatch"),
        ({"numFailedTestSuites": 1}, "count_mismatch"),
        ({"success": False}, "count_mismatch"),
    ],
)
def test_a_report_that_lost_something_is_incomplete(more, reason):
    assert report_of(READER, document({"/a.js": [case("x")]}, **more)).incomplete_reason == reason


def test_a_report_that_calls_a_failure_a_success_is_incomplete():
    report = report_of(READER, document({"/a.js": [case("x", "failed")]}, success=True))
    assert (report.incomplete_reason, report.findings) == ("count_mismatch", ("success is true, a failure is listed",))


@pytest.mark.parametrize("more", [{"status": "failed"}, {"message": "afterAll"}, {"failureMessage": "afterAll"}])
def test_a_file_that_failed_beside_its_tests_is_an_error_of_its_own(more):
    file = {"name": "/w/a.js", "status": "passed", "message": "", "assertionResults": [case("x")], **more}
    report = report_of(READER, document({"/w/a.js": [case("x")]}, testResults=[file], success=False))
    assert outcomes(report) == {"a.js::x": ["passed"], "a.js::<file>": ["error"]}
    assert report.incomplete_reason == "file_failed"


def test_a_key_that_stands_twice_leaves_the_report_incomplete():
    text = document({"/a.js": [case("x")]}).replace('"status": "passed"', '"status": "failed", "status": "passed"')
    assert report_of(READER, text).incomplete_reason == "repeated_key"


def test_a_status_without_an_outcome_leaves_the_report_incomplete():
    assert report_of(READER, document({"/a.js": [case("x", "odd")]})).incomplete_reason == "unknown_outcome"


def test_another_document_is_refused():
    with pytest.raises(DamagedRecord):
        list(READER.read(BytesSource("x", b'{"numTotalTests": 1}')))


@pytest.mark.shared
def test_a_real_report_has_the_tests_that_it_counts(shared_path):
    path = shared_path("data", "test-reports", "pytest-json", "Significant-Gravitas__opensoft__report.json")
    given = json.loads(path.read_text())
    report = report_of(READER, path.read_bytes())
    assert (report.complete, len(outcomes(report))) == (True, given["numTotalTests"])
    assert sum(found == ["failed"] for found in outcomes(report).values()) == given["numFailedTests"]
