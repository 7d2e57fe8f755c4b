"""The reader of JUnit XML: outcomes, conflicts, ids and completeness, against independent counts."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samework.decode.source import BytesSource, FileSource
from samework.errors import InputError
from samework.model.records import SuiteReport
from samework.readers.junit import READER, node_id
from samework.readers.pytest_json import READER as PYTEST_JSON

if TYPE_CHECKING:
    from pathlib import Path


def report_of(xml: str) -> SuiteReport:
    (report,) = READER.read(BytesSource("report.xml", xml.encode()))
    assert isinstance(report, SuiteReport)
    return report


def suite(*cases: str, tests: int | None = None, name: str = "pytest") -> SuiteReport:
    count = len(cases) if tests is None else tests
    return report_of(f'<testsuites><testsuite name="{name}" tests="{count}">{"".join(cases)}</testsuite></testsuites>')


def case(name: str, child: str = "", classname: str = "test_m", extra: str = "") -> str:
    return f'<testcase classname="{classname}" name="{name}" {extra}>{child}</testcase>'


def outcomes(report: SuiteReport) -> list[tuple[str, str]]:
    return [(outcome.node, outcome.outcome.value) for outcome in report.outcomes]


def test_every_sample_gives_each_of_its_elements_or_a_named_error(shared_path):
    refused = []
    for path in sorted(shared_path("data", "test-reports", "junit").iterdir()):
        try:
            (report,) = READER.read(FileSource(path))
        except InputError as error:
            refused.append((path.name.split("__")[-1], error.place == str(path)))
            continue
        named = len(re.findall(rb"<testcase\s[^>]*\bname=", path.read_bytes()))
        assert len(report.outcomes) == named, path.name
    assert sorted(refused) == [
        (name, True)
        for name in ("TEST-test.CorruptTest.xml", "corrupt-xml.xml", "empty.xml", "non-junit.xml", "non-xml.xml")
    ]


def test_only_junit_roots_are_claimed(shared_path):
    claimed = [
        path.name
        for path in shared_path("data", "test-reports", "junit").iterdir()
        if not READER.sniff((source := FileSource(path)).head(), source)
    ]
    assert sorted(name.split("__")[-1] for name in claimed) == ["empty.xml", "non-junit.xml", "non-xml.xml"]
    assert READER.sniff(b'{"a": "<testsuites>"}', BytesSource("x", b"")) == 0


def test_both_reports_of_one_session_agree_on_a_failure_with_a_failing_tear_down(shared_path):
    folder = shared_path("cases", "junit-teardown-double")
    (xml,) = READER.read(FileSource(folder / "report.xml"))
    (json_report,) = PYTEST_JSON.read(FileSource(folder / "report.json"))
    assert sorted(outcomes(xml)) == sorted(outcomes(json_report))
    assert (len(outcomes(xml)), xml.complete, json_report.complete) == (3, True, True)
    assert any("1 tests are listed twice" in finding for finding in xml.findings)


def test_both_reports_of_one_session_agree_on_a_crashed_worker(shared_path):
    folder = shared_path("cases", "xdist-crash")
    (xml,) = READER.read(FileSource(folder / "a.xml"))
    (json_report,) = PYTEST_JSON.read(FileSource(folder / "a.json"))
    assert sorted(outcomes(xml)) == sorted(outcomes(json_report))
    assert dict(outcomes(xml))["test_crash.py::test_boom"] == "error"


def test_a_crash_and_a_pass_of_one_id_are_a_conflict(shared_path):
    (report,) = READER.read(FileSource(shared_path("cases", "xdist-crash", "b.xml")))
    assert outcomes(report) == [("test_m.py::test_x", "error"), ("test_m.py::test_x", "passed")]
    assert any("conflicting" in finding for finding in report.findings)


def test_an_id_listed_twice_keeps_both_outcomes(shared_path):
    (report,) = READER.read(FileSource(shared_path("cases", "flaky-two-testcases", "report.xml")))
    assert outcomes(report) == [("T::test_x", "passed"), ("T::test_x", "failed")]


def test_elements_outweigh_the_header_and_the_mismatch_is_reported(shared_path):
    folder = shared_path("cases", "subtests-count")
    (report,) = READER.read(FileSource(folder / "report.xml"))
    (json_report,) = PYTEST_JSON.read(FileSource(folder / "report.json"))
    assert outcomes(report) == outcomes(json_report) == [("test_sub.py::test_sub", "failed")]
    assert (report.complete, report.incomplete_reason) == (False, "count_mismatch")
    assert any("says 4 tests, 1 are listed" in finding for finding in report.findings)


@pytest.mark.parametrize(
    ("child", "outcome"),
    [
        ("", "passed"),
        ("<system-out>FAILED</system-out>", "passed"),
        ('<failure message="m"/>', "failed"),
        ('<error message="m"/>', "error"),
        ('<failure message="m"/><error message="n"/>', "error"),
        ('<skipped message="m"/>', "skipped"),
        ('<skipped type="pytest.xfail" message=""/>', "xfailed"),
        ('<skipped message="xfail-marked test passes unexpectedly"/>', "xpassed"),
        ('<skipped/><failure message="m"/>', "failed"),
        ('<failure message="[XPASS(strict)] "/>', "failed"),
        ("<failure message=\"worker 'gw1' crashed while running 'x'\"/>", "error"),
    ],
)
def test_the_weightiest_child_decides_an_element(child, outcome):
    assert outcomes(suite(case("t", child))) == [("test_m.py::t", outcome)]


def test_a_failed_collection_is_a_node_and_makes_the_report_incomplete():
    report = suite(
        '<testcase classname="" name="tests.api.test_a"><error message="collection failure">x</error></testcase>',
        case("t"),
    )
    assert outcomes(report)[0] == ("tests/api/test_a.py::<collection>", "error")
    assert report.incomplete_reason == "collection_failed"


def test_a_flaky_test_that_passed_in_the_end_has_both_outcomes():
    report = suite(case("t", '<flakyFailure message="m"/>', "org.FooTest"), name="org.FooTest")
    assert outcomes(report) == [("org.FooTest::t", "failed"), ("org.FooTest::t", "passed")]


def test_a_report_without_counts_without_tests_or_without_names_is_incomplete():
    assert report_of("<testsuite><testcase name='t'/></testsuite>").incomplete_reason == "count_unrecorded"
    assert suite().incomplete_reason == "no_tests"
    assert suite("<testcase/>").incomplete_reason == "unnamed_tests"


def test_nested_suites_and_loose_cases_are_each_counted_once():
    report = report_of(
        '<testsuites tests="3"><testcase name="a"/><testsuite tests="2"><testcase name="b"/>'
        '<testsuite tests="1"><testcase name="c"/></testsuite></testsuite></testsuites>'
    )
    assert [node for node, _ in outcomes(report)] == ["a", "b", "c"]
    assert report.complete


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ('failures="0" errors="0"', None),
        ('failures="1" errors="0"', "1 failures and 0 errors"),
        ('failures="0" errors="1"', "0 failures and 1 errors"),
        ('errors="1"', "1 errors"),
        ('failures="one"', "one failures"),
        ('skipped="1"', "1 skipped"),
        ('disabled="1"', "1 disabled"),
        ('disabled="0" skipped="0" skips="0"', None),
    ],
)
@pytest.mark.parametrize("outer", [True, False])
def test_a_header_that_counts_what_no_element_shows_leaves_the_report_incomplete(header, found, outer):
    """Of any suite, and the inner ones are not counted twice."""
    at, beneath = (header, "") if outer else ("", header)
    report = report_of(
        f'<testsuites tests="2" {at}><testsuite name="s" tests="2" {beneath}>{case("a")}{case("b")}</testsuite>'
        "</testsuites>"
    )
    assert [result for _, result in outcomes(report)] == ["passed", "passed"]
    assert report.incomplete_reason == ("count_mismatch" if found else None)
    name = "" if outer else "s"
    told = (f"suite {name!r}: its header says {found}, 0 are listed",) if found else ()
    assert report.findings == told


def test_counts_of_failures_are_those_of_all_suites_below_whichever_kind_a_writer_calls_them():
    failed, broken = case("a", "<failure/>"), case("b", "<error/>")
    inner = '<testsuite tests="1" failures="{}" errors="{}">{}</testsuite>'
    for first, second, outer in (((1, 0), (0, 1), (1, 1)), ((1, 0), (1, 0), (2, 0))):
        suites = inner.format(*first, failed) + inner.format(*second, broken)
        whole = '<testsuites tests="2" failures="{}" errors="{}">{}</testsuites>'
        assert report_of(whole.format(*outer, suites)).complete
        assert report_of(whole.format(3, 0, suites)).incomplete_reason == "count_mismatch"
        assert report_of(whole.format(0, 1, suites)).incomplete_reason == "count_mismatch"


@pytest.mark.parametrize(
    ("attributes", "child", "outcome"),
    [
        ('status="error"', "", "error"),
        ('status="Failed"', "", "failed"),
        ('status="fail"', "", "failed"),
        ('status="run" result="failed"', "", "failed"),
        ('status="run" result="completed"', "", "passed"),
        ('status="notrun" result="suppressed"', "", "skipped"),
        ('status="passed"', "<failure/>", "failed"),
        ('status="failed"', "<skipped/>", "failed"),
        ('status="timeout"', "", None),
        ('status="timeout"', "<failure/>", "failed"),
        ('status="passed" result="aborted"', "", None),
        ("", "<rerunFailure/>", "failed"),
        ("", "<rerunError/>", "error"),
        ("", "<failure/><rerunError/>", "failed"),
        ("", "<Failure/>", "failed"),
        ("", '<x:failure xmlns:x="urn:x"/>', "failed"),
        ("", "<inconclusive/>", None),
        ("", "<properties/><system-out/><system-err/>", "passed"),
    ],
)
def test_the_worst_that_is_said_of_a_test_is_its_outcome_and_what_is_not_known_is_none(attributes, child, outcome):
    report = suite(case("t", child, extra=attributes))
    assert outcomes(report) == ([("test_m.py::t", outcome)] if outcome else [])
    assert report.incomplete_reason == (None if outcome else "unknown_outcome")


def test_an_error_of_a_suite_is_a_node_and_leaves_the_report_incomplete():
    report = report_of(f'<testsuite name="s" tests="1" errors="1">{case("t")}<error message="afterAll"/></testsuite>')
    assert outcomes(report) == [("test_m::t", "passed"), ("s::<suite>", "error")]
    assert (report.incomplete_reason, report.findings) == ("suite_error", ("suite 's' failed: afterAll",))


def test_a_test_that_stands_in_no_suite_is_not_lost_in_silence():
    report = report_of(f'<testsuite tests="1">{case("t")}<group>{case("u", "<failure/>")}</group></testsuite>')
    assert report.incomplete_reason == "damaged_report"
    assert "1 tests stand in no suite, and are not read" in report.findings


@pytest.mark.parametrize(
    ("classname", "name", "file", "from_pytest", "node"),
    [
        ("tests.test_lib", "test_p[a.b::c]", "", True, "tests/test_lib.py::test_p[a.b::c]"),
        ("tests.test_lib.TestX.TestY", "t", "", True, "tests/test_lib.py::TestX::TestY::t"),
        ("pkg.mod", "pkg.mod.func", "", True, "pkg/mod.py::pkg.mod.func"),
        ("test.test_s.SparkTests", "t", "test/test_s.py", True, "test/test_s.py::SparkTests::t"),
        ("test.integ.test_e.ETests", "t", "test/integ/common.py", True, "test/integ/test_e.py::ETests::t"),
        ("T", "test_x", "", True, "T::test_x"),
        ("", "test_x", "", True, "test_x"),
        ("com.acme.test.FooTest", "bar", "", False, "com.acme.test.FooTest::bar"),
    ],
)
def test_ids_are_rebuilt_as_pytest_names_them(classname, name, file, from_pytest, node):
    assert node_id(classname, name, file, from_pytest=from_pytest) == node


SUITE = """
import unittest
import pytest

@pytest.fixture
def broken():
    yield
    raise RuntimeError

class TestFirst:
    class TestInner:
        def test_deep(self): pass
    @pytest.mark.parametrize("word", ["a.b", "x::y", "[z]"])
    def test_word(self, word): assert word != "a.b"

class Odd(unittest.TestCase):
    def test_case(self): self.assertEqual(1, 2)

@pytest.mark.xfail
def test_expected(): assert False

@pytest.mark.xfail(strict=True)
def test_too_good(): pass

@pytest.mark.skip
def test_skipped(): pass

def test_torn(broken): assert False

def test_half_torn(broken): pass

def test_not_set_up(missing_fixture): pass

@pytest.mark.parametrize("thing", [object()], ids=repr)
def test_thing(thing): pass
"""


def run_pytest(folder: Path, **files: str) -> tuple[SuiteReport, SuiteReport]:
    for name, text in files.items():
        path = folder / "pkg" / "sub" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--rootdir=."]
    command += ["--json-report", "--json-report-file=r.json", "--junitxml=r.xml", "pkg"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=60)
    (xml,) = READER.read(FileSource(folder / "r.xml"))
    (json_report,) = PYTEST_JSON.read(FileSource(folder / "r.json"))
    return xml, json_report


def test_both_reports_of_a_real_session_agree_on_every_test(tmp_path):
    xml, json_report = run_pytest(tmp_path, test_all=SUITE)
    assert len(json_report.outcomes) == 12
    assert sorted(outcomes(xml)) == sorted(outcomes(json_report))
    assert (xml.complete, json_report.complete) == (True, True)


def test_both_reports_of_a_real_session_name_a_failed_collection_alike(tmp_path):
    xml, json_report = run_pytest(tmp_path, test_bad="import nothing_of_this_name", test_good="def test_a(): pass")
    expected = ("pkg/sub/test_bad.py::<collection>", "error")
    assert outcomes(xml) == [expected]
    assert outcomes(json_report) == [expected]
    assert (xml.complete, json_report.complete) == (False, False)


def test_long_runs_of_space_and_brackets_are_judged_at_once():
    for head in (b" " * 65536, b"<!DOCTYPE " + b"[a]" * 20000, b"<!--" * 16000, b"<?xml" * 13000):
        assert READER.sniff(head, BytesSource("x", head)) == 0


BOMB = '<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>'
OUTSIDE = '<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/hostname">]><testsuite><testcase name="&x;"/></testsuite>'


@pytest.mark.parametrize("xml", [BOMB, OUTSIDE, '<testsuite name="\x1b"/>', "<testsuite>", "", "<a/>"])
def test_hostile_xml_is_a_named_error(xml):
    with pytest.raises(InputError) as raised:
        report_of(xml)
    assert raised.value.place == "report.xml"


WHOLE = b'<testsuites><testsuite name="pytest" tests="1"><testcase classname="m" name="t"/></testsuite></testsuites>'


def test_a_report_cut_anywhere_never_passes_for_complete():
    for end in range(len(WHOLE)):
        with pytest.raises(InputError):
            list(READER.read(BytesSource("x", WHOLE[:end])))


@settings(deadline=None)
@given(st.binary(max_size=40), st.integers(0, len(WHOLE)), st.integers(0, len(WHOLE)))
def test_overwritten_bytes_give_a_report_or_an_input_error(junk, start, end):
    with contextlib.suppress(InputError):
        (report,) = READER.read(BytesSource("x", WHOLE[:start] + junk + WHOLE[end:]))
        assert isinstance(report, SuiteReport)
