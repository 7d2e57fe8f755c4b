"""The reader of TAP: points, directives, subtests, plans."""

from __future__ import annotations

import pytest

from samework.decode.source import BytesSource
from samework.errors import DamagedRecord
from samework.readers.tap import READER
from tests.reportlab import outcomes, report_of


def test_points_and_directives_have_their_outcomes():
    report = report_of(
        READER,
        "TAP version 13\n1..6\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no\nnot ok 4 - d # TODO later\n"
        "ok 5 - e # todo\nok\n",
    )
    assert outcomes(report) == {
        "a": ["passed"],
        "b": ["failed"],
        "c": ["skipped"],
        "d": ["xfailed"],
        "e": ["xpassed"],
        "test 6": ["passed"],
    }
    assert report.complete


def test_a_subtest_lies_below_its_point():
    text = "TAP version 14\n# Subtest: f\n    ok 1 - x\n    not ok 2 - y\n    1..2\nnot ok 1 - f\nok 2 - g\n1..2\n"
    report = report_of(READER, text)
    assert outcomes(report) == {"f::x": ["passed"], "f::y": ["failed"], "f": ["failed"], "g": ["passed"]}
    assert report.complete


def test_points_that_share_a_description_are_numbered():
    assert list(outcomes(report_of(READER, "1..2\nok 1 - a\nnot ok 2 - a\n"))) == ["a", "a (2)"]


def test_what_stands_in_a_yaml_block_is_no_point():
    text = "TAP version 13\nnot ok 1 - a\n  ---\n  got: |\n    ok 2 - b\n  ...\n1..1\n"
    assert outcomes(report_of(READER, text)) == {"a": ["failed"]}


def test_an_escaped_mark_is_part_of_the_description():
    assert list(outcomes(report_of(READER, "1..1\nok 1 - issue \\#4 # skip\n"))) == ["issue #4"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1..2\nok 1 - a\n", "count_mismatch"),
        ("ok 1 - a\n", "plan_unrecorded"),
        ("TAP version 13\nok 1 - a\nok 2 - b", "cut"),
        ("1..1\nok 1 - a\nBail out! no database\n", "bailed_out"),
        ("TAP version 13\n1..1\n    ok 1 - x\n", "count_mismatch"),
        ("1..1\nnot ok 1 - a # TO", "cut"),
        ("TAP version 13\n1..0\n", "no_tests"),
    ],
)
def test_a_report_that_lost_something_is_incomplete(text, reason):
    report = next(READER.read(BytesSource("x", text.encode())))
    assert report.incomplete_reason == reason


def test_text_without_points_is_refused():
    assert READER.sniff(b"all is ok 1\n", BytesSource("x", b"")) == 0
    with pytest.raises(DamagedRecord):
        list(READER.read(BytesSource("x", b"hello\n")))
