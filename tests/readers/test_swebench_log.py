"""The reader of test logs: each family's lines, a status only beside an id, and when a log is complete."""

from __future__ import annotations

import json
import re

import pytest

from samework.decode.source import BytesSource, FileSource
from samework.errors import DamagedRecord
from samework.readers.swebench_log import READER
from tests.reportlab import outcomes, report_of

PYTEST = """\
collecting ... collected 7 items

t.py::a PASSED                                                           [ 14%]
t.py::b FAILED                                                           [ 28%]
t.py::c PASSED                                                           [ 42%]
t.py::c ERROR                                                            [ 42%]
t.py::d SKIPPED (no)                                                     [ 57%]
t.py::e XFAIL                                                            [ 71%]
t.py::f XPASS                                                            [ 85%]
[gw0] [100%] PASSED t.py::g[x - y]
=========================== short test summary info ============================
PASSED t.py::a
SKIPPED [1] t.py:3: no
FAILED t.py::b - assert 1 - 2
ERROR t.py::c - RuntimeError
"""
SUMMARY = "=== 1 failed, 3 passed, 1 skipped, 1 xfailed, 1 xpassed, 1 error in 0.05s ===\n"


def test_both_forms_of_pytest_are_read_once():
    report = report_of(READER, PYTEST + SUMMARY)
    assert outcomes(report) == {
        "t.py::a": ["passed"], "t.py::b": ["failed"], "t.py::c": ["error"], "t.py::d": ["skipped"],
        "t.py::e": ["xfailed"], "t.py::f": ["xpassed"], "t.py::g[x - y]": ["passed"],
    }  # fmt: skip
    assert report.complete
    assert report.runner == "pytest"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PYTEST, "no_summary"),
        (PYTEST + "=== 4 passed, 1 error in 0.1s ===\n", "count_mismatch"),
        (PYTEST + "=== 1 failed, 3 passed, 1 skipped, 1 xfailed, 1 xpassed in 0.1s ===\n", "count_mismatch"),
        (PYTEST + "ERROR u.py\n" + SUMMARY, "collection_failed"),
        (PYTEST + "!!!!!!!! KeyboardInterrupt !!!!!!!!\n" + SUMMARY, "stopped_early"),
        (PYTEST + "! _pytest.outcomes.Exit: no disk !\n" + SUMMARY, "stopped_early"),
        (PYTEST + SUMMARY + "INTERNALERROR> Traceback\n", "stopped_early"),
        (PYTEST + "!!!!!! stopping after 1 failures !!!!!!\n" + SUMMARY, "stopped_early"),
        (PYTEST.replace("7 items", "9 items") + SUMMARY, "not_all_ran"),
        ("+ : '>>>>> Start Test Output'\n" + PYTEST + SUMMARY, "cut"),
        ("+ : '>>>>> Start Test Output'\n" + PYTEST + SUMMARY + "+ : '>>>>> End Test Output'\n", None),
        (PYTEST + SUMMARY + ">>>>> Tests Timed Out after 1800 seconds\n", "harness_failed"),
    ],
)
def test_a_log_that_lost_something_is_incomplete(text, reason):
    assert report_of(READER, text).incomplete_reason == reason


def test_a_skipped_test_without_a_name_is_told():
    report = report_of(READER, "PASSED t.py::a\nSKIPPED [1] t.py:3: no\n=== 1 passed, 1 skipped in 0.05s ===\n")
    assert report.complete
    assert report.findings == ("1 skipped tests are counted, not named",)


def test_a_failing_subtest_counts_for_its_test():
    text = "SUBFAILED(i=1) t.py::a - assert\nFAILED t.py::a - contains\n== 2 failed, 1 subtests passed in 0.1s ==\n"
    report = report_of(READER, text)
    assert (outcomes(report), report.complete) == ({"t.py::a": ["failed"]}, True)


def test_a_bare_status_is_output():
    text = "tests/t.py::a PASSED\nPASSED\nFAILED\nERROR \nPASSED tests/t.py::b\nFAILED because\n"
    assert outcomes(report_of(READER, text)) == {"tests/t.py::a": ["passed"], "tests/t.py::b": ["passed"]}


def test_a_test_that_passed_and_failed_keeps_both():
    assert outcomes(report_of(READER, "t.py::a FAILED\nt.py::a PASSED\n")) == {"t.py::a": ["passed", "failed"]}


def test_output_before_the_status_does_not_make_a_django_test_fail():
    text = (
        "test_a (app.T) ... System check identified no issues\nok\ntest_b (app.T.test_b)\nWhat it does. ... ok\n"
        "test_c (app.T) ... skipped 'no'\ntest_d (app.T) ... FAIL\ntest_e (app.T) ... expected failure\n"
        "test_f (app.T) ... ERROR\ntest_g (app.T) ... unexpected success\n\nRan 7 tests in 0.1s\n\n"
        "FAILED (failures=1, errors=1, skipped=1, expected failures=1, unexpected successes=1)\n"
    )
    report = report_of(READER, text)
    assert [result for (result,) in outcomes(report).values()] == [
        "passed", "passed", "skipped", "failed", "xfailed", "error", "xpassed",
    ]  # fmt: skip
    assert report.complete


def test_a_django_test_without_a_status_has_none():
    report = report_of(READER, "test_a (app.T) ... output\ntest_b (app.T) ... ok\nRan 2 tests in 0.1s\n")
    assert outcomes(report) == {"test_b (app.T)": ["passed"]}
    assert report.incomplete_reason == "not_all_ran"


DJANGO = "test_a (m.T) ... ok\n\nRan 1 test in 0.1s\n\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (DJANGO + "OK\n", None),
        (DJANGO, "no_summary"),
        (DJANGO + "FAILED (errors=1)\n", "count_mismatch"),
        (DJANGO + "FAILED (failures=1)\n", "count_mismatch"),
        (DJANGO + "FAILED\n", "count_mismatch"),
        (DJANGO + "OK (skipped=1)\n", "count_mismatch"),
        (DJANGO.replace("ok", "FAIL") + "OK\n", "count_mismatch"),
        (DJANGO.replace("ok", "skipped 'x'") + "OK (skipped=1)\n", None),
    ],
)
def test_a_django_log_is_held_to_its_own_totals(text, reason):
    assert report_of(READER, text).incomplete_reason == reason


def test_a_django_test_that_is_named_twice_keeps_both_outcomes():
    text = "test_a (m.T) ... FAIL\ntest_a (m.T) ... ok\n\nRan 2 tests in 0.1s\n\nFAILED (failures=1)\n"
    report = report_of(READER, text)
    assert (outcomes(report), report.complete) == ({"test_a (m.T)": ["failed", "passed"]}, True)


def test_results_of_a_second_runner_are_not_left_out_in_silence():
    text = PYTEST + SUMMARY + GO + "PASS\nok  \tex/p\t0.1s\n"
    report = report_of(READER, text)
    assert (report.incomplete_reason, report.runner) == ("several_runners", "pytest")
    assert report.findings[-1] == "1 result of go test not read beside those of pytest"
    assert report_of(READER, PYTEST + SUMMARY + GO).complete  # what one of its tests printed


def test_sympy_is_read():
    text = (
        "sympy/core/tests/test_a.py[3] \ntest_one ok\ntest_two f\ntest_three E       [FAIL]\n"
        "====== tests finished: 1 passed, 1 expected to fail, 1 exceptions, in 0.50 seconds ======\n"
    )
    report = report_of(READER, text)
    assert outcomes(report) == {
        "sympy/core/tests/test_a.py::test_one": ["passed"],
        "sympy/core/tests/test_a.py::test_two": ["xfailed"],
        "sympy/core/tests/test_a.py::test_three": ["error"],
    }
    assert report.complete
    assert report_of(READER, text.replace("[3]", "[4]")).incomplete_reason == "count_mismatch"
    for told in ("2 failed, 1 exceptions", "2 exceptions", "0 exceptions"):
        assert report_of(READER, text.replace("1 exceptions", told)).incomplete_reason == "count_mismatch"
    again = report_of(READER, text.replace("test_three E", "test_one F").replace("1 exceptions", "1 failed"))
    assert (outcomes(again)["sympy/core/tests/test_a.py::test_one"], again.complete) == (["passed", "failed"], True)


def test_go_is_read_with_its_packages():
    text = (
        "=== RUN   TestA\n=== RUN   TestA/x\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/x (0.00s)\nPASS\n"
        "ok  \tex/p\t0.1s\n"
        "=== RUN   TestA\n--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tex/q\t0.1s\n"
    )
    report = report_of(READER, text + "FAIL\n")
    found = {"ex/p::TestA": ["passed"], "ex/p::TestA/x": ["passed"], "ex/q::TestA": ["failed"]}
    assert (outcomes(report), report.complete) == (found, True)
    report = report_of(READER, text + "FAIL\tex/r [build failed]\nFAIL\n")
    assert (outcomes(report), report.incomplete_reason) == (
        {**found, "ex/r::<package>": ["error"]}, "collection_failed",
    )  # fmt: skip
    assert report_of(READER, text + "=== RUN   TestB\n").incomplete_reason == "not_all_ran"


GO = "--- PASS: TestA (0.00s)\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (GO + "PASS\nok  \tex/p\t0.1s\n", None),
        (GO + "FAIL\nok  \tex/p\t0.1s\n", "count_mismatch"),
        (GO + "PASS\nok  \tex/p\t0.1s\nFAIL\n", "count_mismatch"),
        ("--- FAIL: TestA (0.00s)\nok  \tex/p\t0.1s\n", "count_mismatch"),
        (GO + "FAIL\nexit status 1\nFAIL\tex/p\t0.1s\nFAIL\n", None),
        ("--- FAIL: TestA (0.00s)\npanic: no\nFAIL\tex/p\t0.1s\nFAIL\n", "not_all_ran"),
    ],
)
def test_a_go_package_that_its_tests_contradict_or_that_broke_off_leaves_the_log_incomplete(text, reason):
    assert report_of(READER, text).incomplete_reason == reason


def test_a_go_test_that_ran_twice_keeps_both_outcomes():
    text = "--- FAIL: TestA (0.00s)\n--- PASS: TestA (0.00s)\nFAIL\nFAIL\tex/p\t0.1s\n"
    assert outcomes(report_of(READER, text)) == {"ex/p::TestA": ["failed", "passed"]}


def test_jest_ids_do_not_hold_durations():
    text = "FAIL ./a.test.js (5 s)\n  sum\n    ✓ adds (12 ms)\n    ✕ takes\n  ○ skipped later\n\n  ● sum takes\n"
    one = report_of(READER, text + "\nTests:       1 failed, 1 skipped, 1 passed, 3 total\n")
    assert outcomes(one) == {
        "a.test.js::sum::adds": ["passed"], "a.test.js::sum::takes": ["failed"],
        "a.test.js::skipped later": ["skipped"],
    }  # fmt: skip
    assert one.complete
    other = report_of(READER, text.replace(" (12 ms)", "") + "Tests:       1 failed, 3 total\n")
    assert one.outcomes == other.outcomes
    for told in (
        "Tests: 9 total\n",
        "Tests: 2 failed, 1 passed, 3 total\n",
        "Tests: 1 failed, 2 passed, 3 total\n",
        "Test Suites: 2 failed, 2 total\nTests: 1 failed, 1 skipped, 1 passed, 3 total\n",
    ):
        assert report_of(READER, text + told).incomplete_reason == "count_mismatch"


def test_a_jest_file_that_failed_without_a_failing_test_did_not_run():
    report = report_of(READER, "FAIL a.test.js\n  ● Test suite failed to run\nPASS b.test.js\n  ✓ x\n")
    assert outcomes(report) == {"b.test.js::x": ["passed"], "a.test.js::<collection>": ["error"]}
    assert report.incomplete_reason == "collection_failed"
    report = report_of(READER, "FAIL b.test.js\n  ✓ x\n\n  ● Test suite failed to run\n")
    assert outcomes(report) == {"b.test.js::x": ["passed"], "b.test.js::<file>": ["error"]}
    assert report.incomplete_reason == "file_failed"


def test_cargo_is_read():
    text = (
        "     Running unittests src/lib.rs (target/debug/deps/x-0a1b)\n\nrunning 3 tests\ntest a::b ... ok\n"
        "test c ... FAILED\ntest d ... ignored, slow\n\ntest result: FAILED. 1 passed; 1 failed; 1 ignored\n"
    )
    report = report_of(READER, text)
    assert outcomes(report) == {
        "src/lib.rs::a::b": ["passed"], "src/lib.rs::c": ["failed"], "src/lib.rs::d": ["skipped"],
    }  # fmt: skip
    assert report.complete


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("ok. 1 passed; 0 failed; 0 ignored", None),
        ("FAILED. 1 passed; 0 failed; 0 ignored", "count_mismatch"),
        ("FAILED. 0 passed; 1 failed; 0 ignored", "count_mismatch"),
        ("ok. 0 passed; 0 failed; 1 ignored", "count_mismatch"),
    ],
)
def test_a_cargo_log_is_held_to_its_own_totals(told, reason):
    text = f"running 1 test\ntest a ... ok\n\ntest result: {told}; 0 measured; 0 filtered out; finished in 0.1s\n"
    assert report_of(READER, text).incomplete_reason == reason


def test_colours_and_progress_are_no_part_of_an_id():
    assert outcomes(report_of(READER, "\x1b[32mPASSED\x1b[0m t.py::\x1b[1ma\x1b[0m\r\n")) == {"t.py::a": ["passed"]}


@pytest.mark.parametrize(
    "text", ["", "hello\n", '{"a": "t.py::a PASSED"}\n', "<t>\nPASSED t.py::a\n", "# t\nPASSED t::a\n"]
)
def test_other_text_is_no_log(text):
    assert READER.sniff(text.encode(), BytesSource("x", text.encode())) == 0


def test_a_log_without_any_status_is_refused():
    with pytest.raises(DamagedRecord):
        list(READER.read(BytesSource("x", b"hello\n")))


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    ["run_evaluation__getmoto__moto.694ce1f4.pr_7331", "run_evaluation__pandas-dev__pandas.95280573.pr_53652",
     "run_evaluation__pandas-dev__pandas.95280573.pr_53856", "run_evaluation__pydantic__pydantic.acb0f10f.pr_8316"],
)  # fmt: skip
def test_real_logs_say_what_their_graders_said(shared_path, name):
    stem = f"SWE-bench__SWE-smith__tests__test_logs__{name}"
    log = shared_path("data", "test-reports", "swebench", f"{stem}__test_output.txt")
    graded = json.loads(shared_path("data", "test-reports", "swebench", f"{stem}__report.json").read_text())
    found = outcomes(next(READER.read(FileSource(log))))
    groups = graded["tests_status"].values()
    passed = [test for group in groups for test in group["success"]]
    failed = [test for group in groups for test in group["failure"]]
    assert all(set(found[test]) <= {"passed", "xfailed"} for test in passed)
    assert all(not {"passed", "xfailed"} & set(found.get(test, [])) for test in failed)
    assert len(passed) + len(failed) > 10


@pytest.mark.shared
def test_real_logs_are_counted_as_their_runners_counted(shared_path):
    folder = shared_path("data", "test-reports", "swebench")
    n_read = 0
    for log in sorted(folder.glob("*.txt")):
        text = log.read_text(errors="replace")
        report = next(READER.read(FileSource(log)))
        assert report.complete, (log.name, report.incomplete_reason)
        passed = re.findall(r"(\d+) passed", text)
        listed = sum(one.outcome == "passed" for one in report.outcomes)
        if passed and "pr_53856" not in log.name:
            assert listed == int(passed[-1])
        elif not passed:
            assert listed == len(re.findall(r"^\s*--- PASS: ", text, re.MULTILINE))
        n_read += 1
    assert n_read == 7


@pytest.mark.parametrize(
    "text",
    [
        "collected {n} items\nt.py::a PASSED\n=== {n} passed in 0.1s ===\n",
        "test_a (m.T) ... ok\n\nRan {n} tests in 0.1s\n\nOK (skipped={n})\n",
        "sympy/a.py[{n}]\ntest_a ok\n====== tests finished: {n} passed, in 0.1 seconds ======\n",
        "PASS a.test.js\n  \u2713 a (1 ms)\nTest Suites: {n} passed, {n} total\nTests:       {n} passed, {n} total\n",
        "running {n} tests\ntest a ... ok\ntest result: ok. {n} passed; 0 failed; 0 ignored; 0 measured\n",
    ],
)
def test_a_total_of_any_length_is_no_total_of_the_list(text):
    report = report_of(READER, text.format(n="9" * 5000))
    assert len(outcomes(report)) == 1
    assert not report.complete
