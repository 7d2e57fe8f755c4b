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
            event("run", "TestC"), event("fail", "TestC"), event("fail"), event("skip", package="ex/empty"),
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
