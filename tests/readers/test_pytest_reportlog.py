"""The reader of report logs: phases become outcomes, as the other reports of pytest give them."""

from __future__ import annotations

import pytest

from samework.decode.source import BytesSource
from samework.errors import DamagedRecord
from samework.readers.pytest_reportlog import READER
from tests.reportlab import lines, outcomes, report_of

START = {"pytest_version": "9.2.0", "$report_type": "SessionStart"}


def phases(node: str, *said: str | tuple[str, dict[str, object]]) -> list[dict[str, object]]:
    names = ("setup", "call", "teardown") if len(said) == 3 else ("setup", "teardown")
    made = []
    for when, word in zip(names, said, strict=True):
        outcome, more = word if isinstance(word, tuple) else (word, {})
        made.append({"$report_type": "TestReport", "nodeid": node, "when": when, "outcome": outcome, **more})
    return made


def finish(status: int) -> dict[str, object]:
    return {"exitstatus": status, "$report_type": "SessionFinish"}


@pytest.mark.parametrize(
    ("said", "result"),
    [
        (("passed", "passed", "passed"), "passed"),
        (("passed", "failed", "passed"), "failed"),
        (("passed", "failed", "failed"), "error"),
        (("passed", "passed", "failed"), "error"),
        (("failed", "passed"), "error"),
        (("skipped", "passed"), "skipped"),
        (("passed", ("skipped", {"wasxfail": ""}), "passed"), "xfailed"),
        (("passed", ("passed", {"wasxfail": "why"}), "passed"), "xpassed"),
    ],
)
def test_the_phases_of_a_test_make_its_outcome(said, result):
    status = int(result in {"failed", "error"})
    report = report_of(READER, lines(START, *phases("t.py::a", *said), finish(status)))
    assert outcomes(report) == {"t.py::a": [result]}
    assert (report.complete, report.exit_code) == (True, status)
    assert report_of(READER, lines(START, *phases("t::a", *said), finish(1 - status))).incomplete_reason == (
        "contradiction"
    )
    assert report.runner == "pytest 9.2.0"


def test_a_rerun_test_disagreed_with_itself():
    first, second = phases("t::a", "passed", "rerun", "passed"), phases("t::a", "passed", "passed", "passed")
    report = report_of(READER, lines(START, *first, *second, finish(0)))
    assert set(outcomes(report)["t::a"]) == {"failed", "passed"}


@pytest.mark.parametrize("kind", ["$report_type", "_report_type"])
def test_a_failed_subtest_fails_a_test_whose_call_passed(kind):
    """As of unittest: pytest counts the failure, though the report of the test itself says passed."""
    setup, call, teardown = phases("t::a", "passed", "passed", "passed")
    said = [{kind: "SubtestReport", "nodeid": "t::a", "when": "call", "outcome": word} for word in ("passed", "failed")]
    report = report_of(READER, lines(START, setup, *said, call, teardown, finish(1)))
    assert outcomes(report) == {"t::a": ["failed"]}
    assert report.complete
    broken = phases("t::a", "passed", "passed", "failed")[2]
    assert outcomes(report_of(READER, lines(START, setup, *said, call, broken, finish(1)))) == {"t::a": ["error"]}
    skipped = {**said[0], "outcome": "skipped"}
    assert outcomes(report_of(READER, lines(START, setup, skipped, call, teardown, finish(0)))) == {"t::a": ["passed"]}


def test_warnings_are_known_and_other_reports_are_damage():
    warning = {"category": "UserWarning", "message": "m", "$report_type": "WarningMessage", "when": "runtest"}
    data = lines(START, warning, *phases("t::a", "passed", "passed", "passed"), finish(0))
    assert report_of(READER, data).complete
    data = lines(START, {"$report_type": "CoverageReport"}, finish(0))
    assert report_of(READER, data).incomplete_reason == "damaged_report"


def test_a_subtest_counts_for_its_test():
    subtest = {"$report_type": "SubTestReport", "nodeid": "t::a", "when": "call", "outcome": "failed"}
    report = report_of(READER, lines(START, subtest, *phases("t::a", "passed", "failed", "passed"), finish(1)))
    assert outcomes(report) == {"t::a": ["failed"]}


def test_a_worker_that_crashed_is_an_error_and_no_failed_assertion():
    crash = {
        "$report_type": "TestReport", "nodeid": "t::a", "when": "???", "outcome": "failed",
        "longrepr": "worker 'gw1' crashed while running 't::a'",
    }  # fmt: skip
    report = report_of(READER, lines(START, phases("t::a", "passed", "passed")[0], crash, finish(1)))
    assert [(one.outcome, one.detail) for one in report.outcomes] == [("error", "crash")]
    assert report.complete


@pytest.mark.parametrize("kind", ["TestReport", "SubTestReport", "SubtestReport", "CollectReport"])
@pytest.mark.parametrize("outcome", [[], {}, 1, True, None])
def test_an_outcome_that_is_no_word_never_passes(kind, outcome):
    said = {"$report_type": kind, "nodeid": "t::a", "when": "call", "outcome": outcome}
    report = report_of(READER, lines(START, said, finish(0)))
    assert not report.complete
    assert all(words == ["error"] for words in outcomes(report).values())


@pytest.mark.parametrize("word", ["passed", "skipped", "rerun"])
@pytest.mark.parametrize("when", [None, "???", "collect", []])
def test_a_report_without_a_phase_that_is_no_failure_is_damage(when, word):
    """The failed call of a test is not forgotten for it, and it gives no outcome of its own."""
    setup, call, teardown = phases("t::a", "passed", "failed", "passed")
    stray = {**call, "when": when, "outcome": word}
    report = report_of(READER, lines(START, setup, call, stray, teardown, finish(0)))
    assert outcomes(report) == {"t::a": ["failed"]}
    assert report.incomplete_reason == "damaged_report"
    assert not report_of(READER, lines(START, stray, finish(0))).outcomes


def test_a_test_that_was_never_called_has_no_outcome():
    """As `--setup-only` leaves it, and a line that was lost."""
    setup, teardown = phases("t::a", "passed", "passed")
    for said in ([setup, teardown], [teardown]):
        report = report_of(READER, lines(START, *said, *phases("t::b", "passed", "passed", "passed"), finish(0)))
        assert outcomes(report) == {"t::b": ["passed"]}
        assert report.incomplete_reason == "not_all_ran"
        assert "1 tests were torn down without a call" in report.findings


def test_the_end_of_an_attempt_that_is_run_again_is_no_outcome():
    first, second = phases("t::a", "passed", "rerun", "passed"), phases("t::a", "passed", "failed", "passed")
    for attempts in ([*first, *second], [*first[:2], *second]):
        report = report_of(READER, lines(START, *attempts, finish(1)))
        assert outcomes(report) == {"t::a": ["failed", "failed"]}
        assert report.complete


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        ([], "exit_code_unrecorded"),
        ([finish(2)], "exit_code_2"),
        ([finish(0)], None),
        ([phases("t::b", "passed", "passed")[0], finish(0)], "not_all_ran"),
        ([{"$report_type": "CollectReport", "nodeid": "b.py", "outcome": "failed"}, finish(1)], "collection_failed"),
        ([{"$report_type": "CollectReport", "nodeid": "b.py", "outcome": "passed"}, finish(0)], None),
        (["x", finish(0)], "damaged_report"),
    ],
)
def test_a_log_that_lost_something_is_incomplete(tail, reason):
    report = report_of(READER, lines(START, *phases("t::a", "passed", "passed", "passed"), *tail))
    assert report.incomplete_reason == reason


@pytest.mark.parametrize(
    ("statuses", "reason", "exit_code"),
    [
        ((0, 0), None, 0),
        ((0, None), "exit_code_unrecorded", 0),
        ((None, 0), "exit_code_unrecorded", 0),
        ((2, 0), "exit_code_2", 2),
        ((0, 1), "contradiction", 1),
    ],
)
def test_each_session_of_a_log_has_to_finish(statuses, reason, exit_code):
    said = phases("t::a", "passed", "passed", "passed")
    sessions = [[START, *said, *([] if status is None else [finish(status)])] for status in statuses]
    report = report_of(READER, lines(*sessions[0], *sessions[1]))
    assert (report.incomplete_reason, report.exit_code) == (reason, exit_code)


def test_a_key_that_stands_twice_leaves_the_log_incomplete():
    text = lines(START, *phases("t::a", "passed", "passed", "passed"), finish(0)).decode()
    for key in ('"outcome": "failed", "outcome":', '"outcome" : "failed", "outcome" :'):
        assert report_of(READER, text.replace('"outcome":', key)).incomplete_reason == "damaged_report"


def test_a_file_without_reports_is_refused():
    with pytest.raises(DamagedRecord):
        list(READER.read(BytesSource("x", b"{}\n")))
