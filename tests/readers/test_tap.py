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


@pytest.mark.parametrize(
    ("remark", "finding"),
    [
        ("# fail 1", None),
        ("# pass 7", None),
        ("# fail  2", "a remark counts 2 failures, 1 are listed"),
        ("# failed 3 of 4 tests", "a remark counts 3 failures, 1 are listed"),
        ("# cancelled 2", "a remark counts 2 failures, 1 are listed"),
        ("# Looks like you failed 2 tests of 2.", "a remark counts 2 failures, 1 are listed"),
        ("# Looks like your test exited with 255 just after 2.", "Looks like your test exited with 255 just after 2."),
    ],
)
def test_a_remark_that_knows_of_more_failures_leaves_the_report_incomplete(remark, finding):
    report = report_of(READER, f"1..2\nok 1 - a\nnot ok 2 - b\n{remark}\n")
    assert outcomes(report) == {"a": ["passed"], "b": ["failed"]}
    assert report.incomplete_reason == ("count_mismatch" if finding else None)
    assert report.findings == ((finding,) if finding else ())


def test_a_subtest_lies_below_its_point():
    text = "TAP version 14\n# Subtest: f\n    ok 1 - x\n    not ok 2 - y\n    1..2\nnot ok 1 - f\nok 2 - g\n1..2\n"
    report = report_of(READER, text)
    assert outcomes(report) == {"f::x": ["passed"], "f::y": ["failed"], "f": ["failed"], "g": ["passed"]}
    assert report.complete


def test_a_subtest_in_braces_lies_below_the_point_before_it():
    text = (
        "TAP version 13\nok 1 - f {\n    ok 1 - x {\n        ok 1 - deep\n        1..1\n    }\n    1..1\n}\n\n"
        "not ok 2 - g # TODO later {\n    1..1\n    not ok 1 - y\n}\n"
        "not ok 3 - h\n  ---\n  at: 1\n  ...\n{\n    ok 1 - z\n    1..1\n}\n1..3\n"
    )
    report = report_of(READER, text)
    assert outcomes(report) == {
        "f::x::deep": ["passed"],
        "f::x": ["passed"],
        "f": ["passed"],
        "g::y": ["failed"],
        "g": ["xfailed"],
        "h::z": ["passed"],
        "h": ["failed"],
    }
    assert report.complete


def test_a_brace_that_nobody_closes_is_part_of_the_description():
    report = report_of(READER, "1..2\nok 1 - reads {\nok 2 - f\n")
    assert outcomes(report) == {"reads {": ["passed"], "f": ["passed"]}
    assert report.complete
    assert report_of(READER, "ok 1 - reads {\n1..1\n").complete


@pytest.mark.parametrize(
    "text",
    [
        "1..2\nok 1 - a {\n    not ok 1 - b\nok 2 - c\n",
        "1..2\nok 1 - a {\n    ok 1 - x\n    1..1\nok 2 - f\n",
        "1..2\nok 1 - a\n{\n    not ok 1 - b\nok 2 - c\n",
        "1..2\nok 1 - a {\n    1..1\nok 2 - c\n",
        "1..2\nok 1 - a {\n    ok 1 - b {\n        not ok 1 - c\n    ok 2 - d\n    1..2\n}\nok 2 - e\n",
        "1..2\nok 1 - a {\n    ok 1 - b {\n        not ok 1 - c\nok 2 - e\n",
    ],
)
def test_a_subtest_in_a_brace_that_nobody_closes_leaves_the_report_incomplete(text):
    report = report_of(READER, text)
    assert report.incomplete_reason is not None
    assert any("in braces that nobody closed" in finding for finding in report.findings)


def test_a_subtest_whose_point_never_comes_is_kept_and_told():
    for text in (
        "1..1\n    ok 1 - y\n        not ok 1 - x\nok 1 - a\n",
        "1..1\nok 1 - a {\n    ok 1 - y\n        not ok 1 - x\n}\n",
    ):
        report = report_of(READER, text)
        assert outcomes(report) == {"a::y": ["passed"], "a::x": ["failed"], "a": ["passed"]}
        assert report.incomplete_reason == "count_mismatch"


def test_braces_that_a_program_prints_after_a_subtest_take_it_from_no_point():
    report = report_of(READER, '1..2\nok 1 - a\n    ok 1 - x\n    1..1\n{\n  "b": 1\n}\nok 2 - f\n')
    assert outcomes(report) == {"a": ["passed"], "f::x": ["passed"], "f": ["passed"]}
    assert report.complete


def test_subtests_that_plan_nothing_leave_no_plan_behind():
    text = "TAP version 14\n    1..0 # skip\nok 1 - a # SKIP\n    1..2\n    ok 1 - x\n    ok 2 - y\nok 2 - b\n1..2\n"
    report = report_of(READER, text)
    assert report.complete
    lost = report_of(READER, text.replace("1..0 # skip", "1..3"))
    assert lost.incomplete_reason == "count_mismatch"


def test_the_time_that_a_point_took_is_no_part_of_its_name():
    text = (
        "1..6\nok 1 - a # time=1.25ms\nnot ok 2 - b # in 7 ms # timeout after 1 s\n"
        "ok 3 - c # time=2s # SKIP\nok 4 - d #5\nok 5 # time=1ms\nnot ok 6 - f # time=3ms # TODO\n"
    )
    found = outcomes(report_of(READER, text))
    assert list(found) == ["a", "b", "c", "d #5", "test 5", "f"]
    assert found["c"] == ["skipped"]
    assert found["f"] == ["xfailed"]


def test_the_time_of_bats_is_no_part_of_a_name():
    text = "1..4\nok 1 a in 5ms\nnot ok 2 b in 1002ms # timeout after 1s\nok 3 c in 5ms in 6ms\nok 4 e in 12ms # skip\n"
    assert outcomes(report_of(READER, text)) == {
        "a": ["passed"],
        "b": ["failed"],
        "c in 5ms": ["passed"],
        "e": ["skipped"],
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("ok 1 - resolves in 5ms", "not ok 2 - resolves in 10ms"),
        ("ok 1 resolves in 5ms", "not ok 2 resolves in 10ms"),
        ("ok 1 resolves in 5ms", "not ok 2 gives up"),
        ("ok 1 - resolves in 5ms", "not ok 2 - gives up in 10ms"),
        ("ok resolves in 5ms", "not ok gives up in 10ms"),
        ("ok 1 resolves in 5ms", "    ok 1 x\nnot ok 2 gives up in 10ms"),
        ("ok 1 resolves in 5ms", "not ok 2 gives up in 10ms # later"),
    ],
)
def test_a_description_that_ends_like_a_time_stays_whole(first, second):
    """Two tests that differ in it alone are two, whatever became of each."""
    names = list(outcomes(report_of(READER, f"1..2\n{first}\n{second}\n")))
    assert names[0] == "resolves in 5ms"
    assert "resolves" not in names


def test_two_reports_of_other_tests_are_not_the_same():
    one = report_of(READER, "1..2\nok 1 resolves in 5ms\nnot ok 2 resolves in 10ms\n")
    other = report_of(READER, "1..2\nok 1 resolves in 10ms\nnot ok 2 resolves in 5ms\n")
    assert outcomes(one) != outcomes(other)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("a" + " " * 100_000 + "b", "a" + " " * 100_000 + "b"),
        ("a # time=" + "1" * 100_000 + "!", "a # time=" + "1" * 100_000 + "!"),
        ("a" + " # time=1" * 50_000, None),
        ("a" + " #" * 50_000 + " x", None),
        ("a # time=1" + " " * 100_000 + "# TODO", "a"),
        ("a #" + " " * 100_000 + "time=1", None),
        ("1" * 100_000 + "!", None),
    ],
    ids=["spaces", "digits", "times", "marks", "spaces before a mark", "spaces behind a mark", "numbers"],
)
def test_a_long_line_is_read_from_its_end(said, name):
    """Once per character and not per pair of them, which took minutes."""
    (found,) = outcomes(report_of(READER, f"1..1\nok 1 {said}\n"))
    assert name is None or found == name


def test_a_failure_that_says_skip_is_skipped_where_the_version_says_so():
    text = "1..2\nnot ok 1 # SKIP\nnot ok 2 - a # skipped: no\n"
    for version, result in (("", "failed"), ("TAP version 13\n", "failed"), ("TAP version 14\n", "skipped")):
        assert outcomes(report_of(READER, version + text)) == {"test 1": [result], "a": [result]}, version
    late = "1..2\nok 1 - b\nTAP version 14\nnot ok 2 - a # SKIP\n"
    assert outcomes(report_of(READER, late))["a"] == ["failed"]


def test_a_todo_that_was_skipped_did_not_run():
    assert outcomes(report_of(READER, "1..1\nnot ok 1 # TODO & SKIP no\n")) == {"test 1": ["skipped"]}


def test_only_a_directive_excuses_a_failure():
    """What merely looks like one leaves the point failed: another word, a second mark, a mark inside a word."""
    text = (
        "1..6\nnot ok 1 - a # TODOS\nnot ok 2 - b # skipping\nnot ok 3 - c # 4 # TODO\nnot ok 4 - d#todo\n"
        "not\nok 5 - e\nok 6 - f # skipping\n"
    )
    found = outcomes(report_of(READER, text))
    assert [word for words in found.values() for word in words] == [*["failed"] * 5, "skipped"]
    assert list(found)[:4] == ["a # TODOS", "b # skipping", "c # 4 # TODO", "d#todo"]


def test_a_yaml_block_that_nobody_ended_hides_no_point():
    text = "1..3\nnot ok 1 - a\n  ---\n  got: 1\n\nnot ok 2 - b\nok 3 - c\n"
    assert list(outcomes(report_of(READER, text))) == ["a", "b", "c"]
    assert list(outcomes(report_of(READER, "1..2\nok 1 - a\n---\nok 2 - b\n"))) == ["a", "b"]


def test_reports_without_numbers_or_with_other_lines_first_are_known():
    for text in ("1..2\nok\nnot ok\n", "1..0 # skip all\n", "> p@1 test\n\n1..1\nok 1\n", "tap version 13\n"):
        assert READER.sniff(text.encode(), BytesSource("x", b"")) >= 0.3, text
    assert READER.sniff(b"ran\nok 1 of 2 done\n", BytesSource("x", b"")) == 0.0


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
        ("1..2\nok 1 - a\nok 1 - b\n", "count_mismatch"),
        ("1..2\nok 1 - a\nok 3 - b\n", "count_mismatch"),
        ("1..1\nok 1 - a\n1..1\n", "count_mismatch"),
        ("1..1\nok 1 - a {\n    ok 1 - x\n", "cut"),
    ],
)
def test_a_report_that_lost_something_is_incomplete(text, reason):
    report = next(READER.read(BytesSource("x", text.encode())))
    assert report.incomplete_reason == reason


def test_text_without_points_is_refused():
    assert READER.sniff(b"all is ok 1\n", BytesSource("x", b"")) == 0
    with pytest.raises(DamagedRecord):
        list(READER.read(BytesSource("x", b"hello\n")))
