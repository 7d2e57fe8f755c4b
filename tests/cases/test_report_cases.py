"""Field cases of test reports, traces, JSON and trajectories behave as their expected.json says."""

from __future__ import annotations

import json

import pytest

import samework as sw
from samework.decode.source import FileSource
from samework.ingest.detect import detect
from samework.model.events import Event
from tests.cases import words
from tests.stores import empty_store

pytestmark = pytest.mark.shared


@pytest.fixture
def case(request, shared_path):
    return shared_path("cases", request.param)


def the_case(name):
    return pytest.mark.parametrize("case", [name], indirect=True, ids=[name])


@the_case("junit-teardown-double")
def test_a_failure_and_an_error_in_teardown_are_one_test(case, tmp_path):
    expected = words.expected(case)
    xml, other = words.report(case / "report.xml"), words.report(case / "report.json")
    assert len(words.tests(xml)) == len(words.tests(other)) == expected["tests"]
    assert (case / "report.xml").read_text().count("<testcase") == expected["xml_elements"]
    assert sorted(next(iter(found)) for found in words.tests(xml).values()) == ["error", "error", "passed"]
    assert words.verdict(words.two_reports(case / "report.json", case / "report.xml", tmp_path)) == expected["verdict"]


@the_case("subtests-count")
def test_a_count_of_subtests_is_not_a_count_of_tests(case):
    expected = words.expected(case)
    for name in ("report.json", "report.xml"):
        report = words.report(case / name)
        assert len(words.tests(report)) == expected["tests"]
        assert words.count_of(report, "failed") == expected["failed"]
    mismatch = f"its header says {expected['header_tests']} tests"
    assert any(mismatch in finding for finding in words.report(case / "report.xml").findings)


@the_case("flaky-two-testcases")
def test_a_test_that_passed_and_failed_is_one_test_in_conflict(case, tmp_path):
    expected = words.expected(case)
    report = words.report(case / "report.xml")
    assert len(words.tests(report)) == expected["tests"]
    assert words.has_conflict(report) is expected["conflict"]
    clean = tmp_path / "clean.xml"
    clean.write_text('<testsuite name="pytest" tests="1"><testcase classname="T" name="test_x"/></testsuite>')
    pair = words.two_reports(case / "report.xml", clean, tmp_path / "pair")
    assert words.verdict(pair) != "tests-identical"


@the_case("xdist-crash")
def test_a_crash_is_no_failed_assertion_and_no_pass(case):
    expected = words.expected(case)
    crashed = words.report(case / "a.xml")
    assert len(words.tests(crashed)) == expected["a_tests"]
    assert words.tests(crashed)["test_crash.py::test_boom"] == {"error"}
    assert [one.detail for one in crashed.outcomes if one.outcome == "error"] == ["crash"]
    assert words.tests(words.report(case / "a.json")) == words.tests(crashed)
    assert words.has_conflict(words.report(case / "b.xml")) is expected["b_conflict"]


@the_case("absent-not-passed")
def test_an_absent_test_did_not_pass(case, tmp_path):
    expected = words.expected(case)
    pair = words.two_reports(case / "a.json", case / "b.json", tmp_path)
    assert words.verdict(pair) == expected["verdict"]
    (note,) = [note for note in pair.notes if "lacks" in note]
    assert all(node in note for node in expected["absent_in_b"])


@the_case("nodeid-rootdir")
def test_ids_of_another_root_directory_differ_and_the_prefix_is_told(case, tmp_path):
    expected = words.expected(case)
    pair = words.two_reports(case / "a.json", case / "b.json", tmp_path)
    assert words.verdict(pair) == expected["default"]
    assert any(expected["hint"] in note and "'tests/'" in note for note in pair.notes)


@the_case("log-param-spaces")
def test_spaces_in_parameters_do_not_merge_tests(case):
    expected, report = words.expected(case), words.report(case / "test.log")
    assert len(words.tests(report)) == expected["tests"]
    assert {word: words.count_of(report, word) for word in ("passed", "failed")} == {
        word: expected[word] for word in ("passed", "failed")
    }


@the_case("log-bare-status")
def test_a_bare_status_word_is_output(case):
    expected, report = words.expected(case), words.report(case / "test.log")
    assert list(words.tests(report)) == expected["ids"]
    assert words.count_of(report, "passed") == expected["tests"]


@the_case("log-django-split")
def test_output_before_the_status_makes_no_failure(case):
    expected, report = words.expected(case), words.report(case / "test.log")
    found = words.tests(report)
    assert (found.get("test_a (app.tests.T)") or {"unknown"}) <= set(expected["t1_in"])
    assert all(expected["never"] not in outcomes for outcomes in found.values())


@the_case("log-jest-trailing-space")
def test_a_duration_is_no_part_of_an_id(case, tmp_path):
    expected = words.expected(case)
    assert len(words.tests(words.report(case / "a.log"))) == expected["tests"]
    assert words.verdict(words.two_reports(case / "a.log", case / "b.log", tmp_path)) == expected["verdict"]


@the_case("otel-parent-child")
def test_a_model_call_is_counted_once(case, tmp_path):
    left = words.left_by(case, tmp_path)
    assert {word: words.WORDS[word](left) for word in words.expected(case)} == words.expected(case)


def texts_of(left, kind):
    """Texts of the events of a kind, by the name of their file, out of their bodies."""
    sql = (
        "select r.run_id, b.text from event e join run r using (run_key) join body b on b.sha256 = e.body "
        f"where e.kind = '{kind}' order by e.seq"
    )
    texts = dict(left.rows(sql))
    return {
        each.path.rsplit("/", 1)[-1]: texts[run] for each in left.summary.sources for run in each.runs if run in texts
    }


@the_case("json-nul-escape")
def test_a_nul_in_a_text_stays(case, tmp_path):
    expected, texts = words.expected(case), texts_of(words.left_by(case, tmp_path), "user")
    assert len(texts["session.jsonl"]) == expected["text_len"]
    assert (texts["session.jsonl"] == texts["stripped.jsonl"]) is expected["equals_stripped"]


@the_case("json-pair-escape")
def test_an_escaped_pair_is_the_character_itself(case, tmp_path):
    """The two files are records of one session; under arms of their own they are two runs that say the same."""
    expected, left = words.expected(case), words.left_by(case, tmp_path)
    assert (len(left.rows("select run_id from run")) == 1) is expected["a_equals_b"]
    assert {len(text) for text in texts_of(left, "user").values()} == {expected["text_len"]}
    apart = sw.Store(empty_store(tmp_path / "apart"))
    for name in ("a", "b"):
        apart.ingest(case / f"{name}.jsonl", arm=name)
    chains = apart.sql("select arm, last_chain from run").fetchall()
    assert [arm for arm, _ in sorted(chains)] == ["a", "b"]
    assert (chains[0][1] == chains[1][1]) is expected["a_equals_b"]


@the_case("json-surrogate-key")
def test_a_lone_surrogate_in_a_key_is_kept(case, tmp_path):
    expected = words.expected(case)
    left, again = words.left_by(case, tmp_path), words.left_by(case, tmp_path / "again")
    digests = [each.rows("select arguments, canonical_sha256 from call") for each in (left, again)]
    assert len(digests[0]) == expected["records"]
    assert digests[0] == digests[1]
    source = FileSource(case / "session.jsonl")
    (call,) = [call for event in detect(source).read(source) if isinstance(event, Event) for call in event.calls]
    assert json.loads(call.arguments) == {json.loads('"' + expected["key"] + '"'): 1}


@the_case("traj-cut-off")
def test_a_cut_trajectory_is_refused_and_the_others_land(case, tmp_path):
    expected = words.expected(case)
    left = words.left_by(case, tmp_path)
    statuses = {name: left.outcome(name).status for name in ("cut.traj", "done.traj", "noinfo.traj")}
    assert statuses == {"cut.traj": "refused", "done.traj": "new", "noinfo.traj": "new"}
    assert sorted(statuses.values()) == ["new"] * expected["ingested"] + ["refused"] * expected["damaged"]
    unchanged = all((case / name).read_bytes() == (left.folder / name).read_bytes() for name in statuses)
    assert unchanged is expected["files_unchanged"]
    assert left.rows("select end_detail from run where task = 'noinfo'") in ([(None,)], [])


@the_case("traj-patch-null")
def test_no_patch_and_an_empty_patch_are_two_things(case, tmp_path):
    with sw.Store(empty_store(tmp_path / "store")) as store:
        store.ingest(case / "empty.traj.json", case / "null.traj.json", task="t")
        first, second = [run.run_id for run in store.runs()]
        pair = store.compare(first, second)
    assert (pair.facets["patch"].verdict == "same") is words.expected(case)["null_vs_empty_equal"]
    assert pair.facets["patch"].verdict == "unknown"
    assert str(pair.run_class) != "tree-identical"
