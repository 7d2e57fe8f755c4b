"""The reader of go test -json: tests, subtests, packages that broke, and what has no end."""

from __future__ import annotations

import pytest

from samework.decode.source import BytesSource
from samework.errors import DamagedRecord
from samework.readers.go_test import READER
from tests.reportlab import damage_of, lines, outcomes, report_of


def event(action: str, test: str | None = None, package: str = "ex/p", **more: object) -> dict[str, object]:
    return {"Action": action, "Package": package, **({"Test": test} if test else {}), **more}


def test_tests_and_subtests_have_their_outcomes():
    report = report_of(
        READER,
        lines(
            event("start"), event("run", "TestA"), event("run", "TestA/x"), event("output", "TestA", Output="ok\n"),
            event("pass", "TestA/x"), event("pass", "TestA"), event("run", "TestB"), event("skip", "TestB"),
            event("run", "TestC"), event("fail", "TestC"), event("output", Output="FAIL\n"), event("fail"),
            event("skip", package="ex/empty"),
        ),
    )  # fmt: skip
    assert outcomes(report) == {
        "ex/p::TestA/x": ["passed"],
        "ex/p::TestA": ["passed"],
        "ex/p::TestB": ["skipped"],
        "ex/p::TestC": ["failed"],
    }
    assert report.complete


def test_a_package_that_does_not_build_is_an_error_of_its_own():
    report = report_of(
        READER,
        lines(
            {"ImportPath": "ex/p [ex/p.test]", "Action": "build-output", "Output": "undefined: f"},
            {"ImportPath": "ex/p [ex/p.test]", "Action": "build-fail"},
            event("start"),
            event("fail", FailedBuild="ex/p [ex/p.test]"),
        ),
    )
    assert [(one.node, one.outcome, one.detail) for one in report.outcomes] == [("ex/p::<package>", "error", "build")]
    assert report.incomplete_reason == "collection_failed"


def test_a_build_that_failed_is_told_from_older_output_too():
    for why in ("build failed", "setup failed"):
        report = report_of(READER, lines(event("output", Output=f"FAIL\tex/p [{why}]\n"), event("fail")))
        assert [(one.outcome, one.detail) for one in report.outcomes] == [("error", "build")]
        assert report.incomplete_reason == "collection_failed"


def test_a_binary_that_broke_off_leaves_the_report_incomplete():
    """A panic ends the binary: the test that panicked failed, and those after it never ran."""
    panicked = lines(
        event("run", "T"), event("output", "T", Output="--- FAIL: T (0.00s)\n"),
        event("output", "T", Output="panic: no\n"), event("fail", "T"),
        event("output", Output="FAIL\tex/p\t0.01s\n"), event("output", Output="FAIL\n"), event("fail"),
    )  # fmt: skip
    report = report_of(READER, panicked)
    assert outcomes(report) == {"ex/p::T": ["failed"]}
    assert report.incomplete_reason == "not_all_ran"
    timed_out = lines(
        event("run", "T"), event("output", "T", Output="panic: test timed out after 1s\n"), event("pass", "T"),
        event("output", Output="FAIL\tex/p\t1.01s\n"), event("fail"),
    )  # fmt: skip
    report = report_of(READER, timed_out)
    assert outcomes(report) == {"ex/p::T": ["passed"], "ex/p::<package>": ["error"]}
    assert report.incomplete_reason == "not_all_ran"


@pytest.mark.parametrize("said", [[event("fail", "T")], [event("pass", "T"), event("output", Output="FAIL\n")]])
def test_a_package_that_passed_beside_a_failure_leaves_the_report_incomplete(said):
    report = report_of(READER, lines(event("run", "T"), *said, event("pass")))
    assert report.incomplete_reason == "contradiction"
    assert report.findings == ("1 packages passed that printed FAIL or had a failing test",)


def test_a_package_that_ran_to_its_end_and_failed_is_complete():
    said = [event("run", "T"), event("pass", "T"), event("output", Output="PASS\n")]
    report = report_of(READER, lines(*said, event("output", Output="FAIL\tex/p\t0.01s\n"), event("fail")))
    assert outcomes(report) == {"ex/p::T": ["passed"], "ex/p::<package>": ["error"]}
    assert report.complete


def test_a_line_fail_of_a_test_is_no_verdict_of_its_binary():
    report = report_of(
        READER, lines(event("run", "T"), event("output", "T", Output="FAIL\n"), event("fail", "T"), event("fail"))
    )
    assert report.incomplete_reason == "not_all_ran"


def test_a_rerun_of_a_package_counts_for_itself():
    """The error of the first run stays, and a second one that was cut has no end."""
    first = [event("run", "T"), event("output", Output="FAIL\tex/p\t0.01s\n"), event("fail")]
    again = [event("start"), event("run", "T"), event("pass", "T"), event("output", Output="PASS\n"), event("pass")]
    report = report_of(READER, lines(*first, *again))
    assert outcomes(report) == {"ex/p::<package>": ["error"], "ex/p::T": ["passed"]}
    assert report.incomplete_reason == "not_all_ran"
    assert report_of(READER, lines(*again)).complete
    assert report_of(READER, lines(*again, *again[:1])).incomplete_reason == "not_all_ran"


def test_events_without_a_package_are_read_by_test_alone():
    report = report_of(
        READER,
        lines({"Action": "start"}, {"Action": "run", "Test": "T"}, {"Action": "pass", "Test": "T"}, {"Action": "pass"}),
    )
    assert outcomes(report) == {"T": ["passed"]}
    assert report.complete
    assert READER.sniff(b'{"Action": "start", "user": 1}\n', BytesSource("x", b"")) == 0.0
    killed = report_of(READER, lines({"Action": "run", "Test": "T"}, {"Action": "fail"}))
    assert outcomes(killed) == {"<package>": ["error"]}
    assert killed.findings[0] == "1 tests began and have no end: T"


def test_what_the_compiler_prints_first_is_damage_before_events():
    data = b"# ex/p\nx.go:1: no\n" + lines(event("run", "T"), event("pass", "T"), event("pass"))
    assert report_of(READER, data).incomplete_reason == "damaged_report"
    assert [one.offset for one in damage_of(READER, data)] == [0, 7]


def test_a_benchmark_without_an_end_leaves_its_package_complete():
    begun = event("run", "BenchmarkA")
    report = report_of(READER, lines(event("run", "T"), event("pass", "T"), begun, event("pass")))
    assert outcomes(report) == {"ex/p::T": ["passed"]}
    assert report.complete
    assert report_of(READER, lines(begun, event("fail"))).incomplete_reason == "not_all_ran"


def test_many_ends_of_a_package_beside_many_tests_without_an_end_are_read():
    """None is looked at again at each end, in whichever package it began."""
    n_each = 10_000
    begun = [event("run", f"T{at}", package=("a", "b")[at % 2]) for at in range(n_each)]
    report = report_of(READER, lines(*begun, *[event("pass", package="a")] * n_each))
    assert not report.outcomes
    assert report.findings[0].startswith(f"{n_each} tests began and have no end: a::T0, b::T1")
    assert report.incomplete_reason == "not_all_ran"


def test_a_benchmark_ends_with_its_own_package_alone():
    begun = [event("run", "BenchmarkA", package=package) for package in ("a", "b")]
    report = report_of(READER, lines(*begun, event("pass", package="a"), event("fail", package="b")))
    assert report.findings[0] == "1 tests began and have no end: b::BenchmarkA"
    ended = report_of(READER, lines(begun[0], event("bench", "BenchmarkA", "a"), event("pass", package="a")))
    assert outcomes(ended) == {"a::BenchmarkA": ["passed"]}
    assert ended.complete
    assert not ended.findings


@pytest.mark.parametrize(
    "data",
    [
        lines({"Action": "pass"}),
        lines({"Time": "2026-01-01T00:00:00Z", "Action": "start", "Output": "x"}),
        lines({"Action": "start"}, {"Action": "pass", "Package": ""}, {"Action": "dance", "Test": "T"}),
        lines({"Action": "pass", "Elapsed": True}, {"Test": "T"}),
    ],
)
def test_an_action_that_tells_of_no_test_is_not_claimed(data):
    assert READER.sniff(data, BytesSource("x", data)) < 0.3


def test_events_without_a_package_are_claimed_where_one_tells_of_a_test_or_its_time():
    started = {"Action": "start"}
    for more in ({"Action": "run", "Test": "T"}, {"Action": "pass", "Elapsed": 0.1}):
        data = lines(started, {"Action": "output", "Output": "x\n"}, more)
        assert READER.sniff(data, BytesSource("x", data)) >= 0.3


def test_repeats_of_a_test_that_disagree_are_both_kept():
    report = report_of(
        READER, lines(event("run", "T"), event("pass", "T"), event("run", "T"), event("fail", "T"), event("fail"))
    )
    assert outcomes(report) == {"ex/p::T": ["passed", "failed"]}


def test_a_test_without_an_end_has_no_outcome():
    report = report_of(READER, lines(event("run", "T"), event("run", "U"), event("pass", "U"), event("fail")))
    assert outcomes(report) == {"ex/p::U": ["passed"], "ex/p::<package>": ["error"]}
    assert report.incomplete_reason == "not_all_ran"


def test_a_stream_that_was_cut_is_incomplete():
    data = lines(event("run", "T"), event("pass", "T"))
    assert report_of(READER, data).incomplete_reason == "not_all_ran"
    assert report_of(READER, data + b'{"Action":"pa').incomplete_reason == "damaged_report"


def test_lines_that_are_no_events_are_damage():
    first = lines(event("pass"))
    damage = damage_of(READER, first + b"FAIL ex/p\n[1]\n")
    assert [one.offset for one in damage] == [len(first), len(first) + 10]


def test_a_file_without_events_is_refused():
    with pytest.raises(DamagedRecord):
        list(READER.read(BytesSource("x", b'{"Action": "dance"}\n')))
