"""The tests of a pair as its report lists them: what the verdict above rests on, and nothing that contradicts it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import samework as sw
from tests.stores import empty_store

if TYPE_CHECKING:
    from pathlib import Path

Tests = dict[str, str]
Suite = tuple[str, Tests]
PASSED = {"a": "passed", "b": "passed"}


def report(folder: Path, first: list[Suite], second: list[Suite], *, lost: int = 0) -> tuple[dict[str, Any], str]:
    """The page of two runs with reports of named suites, and its sentence on them. lost: tests that b lacks."""
    for arm, reports in (("a", first), ("b", second)):
        place = folder / arm
        place.mkdir()
        (place / "tree").mkdir()
        (place / "tree" / "f").write_text(arm)
        for number, (_, outcomes) in enumerate(reports):
            tests = [{"name": name, "status": status} for name, status in outcomes.items()]
            n_tests = len(tests) + (lost if arm == "b" else 0)
            results = {"tool": {"name": f"x{number}"}, "summary": {"tests": n_tests}, "tests": tests}
            (place / f"{number}.json").write_text(json.dumps({"reportFormat": "CTRF", "results": results}))
        listed = [{"report": f"{n}.json", "suite": suite, "env": "e"} for n, (suite, _) in enumerate(reports)]
        run = {"task": "t", "arm": arm, "kind": "coding", "tree": {"worktree": "tree"}, "tests": listed}
        (place / "run.json").write_text(json.dumps(run))
    store = sw.Store(empty_store(folder / "store"))
    assert store.ingest(folder / "a", folder / "b").n_refused == 0
    for ending in ("json", "md", "html"):
        store.report(folder / f"pair.{ending}", a="t:a:1", b="t:b:1")
    page = json.loads((folder / "pair.json").read_text())["pair"]
    said = (folder / "pair.md").read_text()
    counted = said.partition("## Tests\n\n")[2].partition("\n")[0].replace("\\", "")
    assert all(part in (folder / "pair.html").read_text() for part in counted.partition(" Whether"))
    return page, counted


def test_a_difference_is_listed_once_and_counted(tmp_path: Path) -> None:
    page, said = report(tmp_path, [("s1", PASSED)], [("s1", {**PASSED, "b": "failed"})])
    assert page["result"]["facets"]["tests"]["verdict"] == "different"
    assert said == "1 node has equal outcomes, 1 differs."
    assert [(row["node"], row["a"], row["b"]) for row in page["tests"]["differing"]] == [("b", ["passed"], ["failed"])]
    assert (page["tests"]["suite"], page["tests"]["note"]) == ("s1", None)


def test_a_suite_that_one_run_has_alone_makes_no_difference(tmp_path: Path) -> None:
    page, said = report(tmp_path, [("s1", PASSED)], [("s1", PASSED), ("s2", {"c": "failed"})])
    facet = page["result"]["facets"]["tests"]
    assert (facet["verdict"], facet["reason"]) == ("unknown", "suite_or_env_differs")
    assert page["tests"]["differing"] == []
    assert said == (
        "2 nodes have equal outcomes, 0 differ. Whether the tests are the same is unknown (suite or env differs); only "
        "suites that both runs have are counted here."
    )


def test_a_flaky_test_is_marked_and_makes_no_difference(tmp_path: Path) -> None:
    page, said = report(tmp_path, [("s1", {"a": "passed"}), ("s1", {"a": "failed"})], [("s1", {"a": "passed"})])
    assert page["result"]["facets"]["tests"]["reason"] == "vacuous"
    assert said.startswith("0 nodes have equal outcomes, 0 differ; 1 set aside as flaky.")
    (row,) = page["tests"]["differing"]
    assert (row["a"], row["b"], row["quarantined"]) == (["failed", "passed"], ["passed"], True)
    assert '<span class="chip">flaky</span>' in (tmp_path / "pair.html").read_text()
    assert "`a` flaky" in (tmp_path / "pair.md").read_text()


def test_a_test_that_is_missing_in_one_of_two_whole_reports_is_flaky(tmp_path: Path) -> None:
    page, said = report(tmp_path, [("s1", PASSED), ("s1", {"a": "passed"})], [("s1", {"a": "passed"})])
    assert page["result"]["facets"]["tests"]["verdict"] == "same"
    assert said == "1 node has equal outcomes, 0 differ; 1 set aside as flaky."
    assert sw.open(tmp_path / "store").classes(task="t").by_task[0].quarantined == ("b",)


def test_a_test_that_an_incomplete_report_lacks_is_unknown(tmp_path: Path) -> None:
    page, said = report(tmp_path, [("s1", PASSED)], [("s1", {"a": "passed"})], lost=3)
    assert page["result"]["facets"]["tests"]["reason"] == "report_incomplete"
    assert said.startswith(
        "1 node has equal outcomes, 0 differ, 1 unknown, for a report that lacks them is incomplete. Whether"
    )
    assert [(row["node"], row["open"]) for row in page["tests"]["differing"]] == [("b", True)]


def test_a_file_that_could_not_be_collected_differs_from_one_whose_tests_ran(tmp_path: Path) -> None:
    broken, cut = {"m.py::<collection>": "failed", "n.py::u": "passed"}, {"m.py::t": "passed", "n.py::u": "passed"}
    page, said = report(tmp_path, [("s1", broken)], [("s1", cut)], lost=3)
    assert page["result"]["facets"]["tests"]["verdict"] == "different"
    rows = {row["node"]: (row["a"], row["b"], row["open"]) for row in page["tests"]["differing"]}
    assert rows["m.py::<collection>"] == (["failed"], ["passed"], False)
    assert said.startswith("1 node has equal outcomes, ")
