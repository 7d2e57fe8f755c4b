"""Patches and reports find their runs, whichever came first; a guess between several runs is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import samework as sw
from samework.ingest.pipeline import ingest
from samework.ingest.settings import IngestSettings
from tests.stores import open_empty
from tests.unit.ingest.conftest import patch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from samework.model.results import IngestSummary
    from samework.store.connection import StoreHandle
    from tests.unit.ingest.conftest import Lab

    Take = Callable[..., IngestSummary]


def rows(store: StoreHandle, query: str) -> list[tuple[Any, ...]]:
    return store.db.execute(query).fetchall()


TASK = "org__repo-1"


def test_predictions_beside_trajectories_make_no_second_run(store: StoreHandle, lab: Lab, take: Take) -> None:
    lab.traj(f"run/{TASK}.traj", patch=patch())
    lab.predictions("run/all_preds.jsonl", {TASK: patch()}, model="a-name-of-its-own")
    summary = take(lab.root)
    assert (summary.n_new, summary.n_joined, summary.n_known) == (1, 1, 0)
    assert take(lab.root).n_new == 0
    assert rows(store, "SELECT count(*) FROM run") == [(1,)]


def test_a_prediction_gives_a_trajectory_the_patch_that_it_lacks(store: StoreHandle, lab: Lab, take: Take) -> None:
    lab.traj(f"run/{TASK}.traj")
    lab.predictions("run/preds.jsonl", {TASK: patch()})
    assert take(lab.root).n_joined == 1
    assert rows(store, "SELECT status, n_paths FROM patch") == [("parsed", 1)]
    assert rows(store, "SELECT path, blob_id FROM patch_path") == [("f", "0000002")]


def test_a_prediction_that_differs_is_a_finding_and_the_trajectory_is_kept(
    store: StoreHandle, lab: Lab, take: Take
) -> None:
    lab.traj(f"run/{TASK}.traj", patch=patch(2))
    lab.predictions("run/preds.jsonl", {TASK: patch(3)})
    summary = take(lab.root)
    assert "differs from the patch of the trajectory" in (summary.sources[1].message or "")
    assert rows(store, "SELECT blob_id FROM patch_path") == [("0000002",)]
    assert rows(store, "SELECT code FROM defect") == [("patch-differs",)]


def test_the_order_of_trajectory_and_patch_does_not_matter(lab: Lab, tmp_path: Path) -> None:
    found = []
    paths = [
        lab.traj(f"{TASK}.traj", patch=patch()),
        lab.predictions("preds.jsonl", {TASK: patch()}),
        lab.write("report.json", {TASK: {"resolved": True, "tests_status": {"FAIL_TO_PASS": {"success": ["t"]}}}}),
    ]
    for number, order in enumerate(([0, 1, 2], [1, 0, 2], [1, 2, 0])):
        with open_empty(tmp_path / f"s{number}") as store:
            for place in order:
                ingest(store, [paths[place]], IngestSettings(arm="a"))
            found.append(
                [
                    rows(store, "SELECT run_id, task, arm, repeat, has_trajectory, n_events FROM run"),
                    rows(store, "SELECT patch_sha256, status FROM patch"),
                    rows(store, "SELECT path, blob_id FROM patch_path"),
                    rows(store, "SELECT facet, digest FROM facet_digest ORDER BY ALL"),
                    rows(store, "SELECT name, value FROM run_outcome"),
                    rows(
                        store, "SELECT suite, test_report.layout, map_sha256 FROM test_report JOIN run USING (run_key)"
                    ),
                ]
            )
    assert found[0] == found[1] == found[2]
    assert len(found[0][0]) == 1


def test_predictions_alone_are_runs_of_their_own(store: StoreHandle, lab: Lab, take: Take) -> None:
    path = lab.predictions("preds.jsonl", {TASK: patch(), "org__repo-2": ""}, model="m")
    assert take(path).n_new == 2
    assert take(path, arm="b").n_new == 2
    got = rows(store, "SELECT arm, task, has_trajectory, status FROM run JOIN patch USING (run_key) ORDER BY ALL")
    assert got[:2] == [("b", TASK, False, "parsed"), ("b", "org__repo-2", False, "empty")]
    assert [row[0] for row in got] == ["b", "b", "m", "m"]


def test_a_patch_of_another_repeat_is_a_run_of_its_own(store: StoreHandle, lab: Lab, take: Take) -> None:
    take(lab.traj(f"one/{TASK}.traj", patch=patch(2)), arm="a")
    take(lab.predictions("two/preds.jsonl", {TASK: patch(3)}), arm="a")
    assert rows(store, "SELECT repeat, has_trajectory FROM run ORDER BY repeat") == [("1", True), ("2", False)]


def test_the_nearest_trajectory_is_joined_where_several_runs_lie_in_one_tree(
    store: StoreHandle, lab: Lab, take: Take
) -> None:
    for number in (1, 2):
        lab.traj(f"run{number}/{TASK}.traj", action=f"ls {number}")
        lab.predictions(f"run{number}/preds.jsonl", {TASK: patch(number + 1)})
    take(lab.root)
    got = rows(store, "SELECT repeat, blob_id FROM run JOIN patch_path USING (run_key) ORDER BY repeat")
    assert got == [("1", "0000002"), ("2", "0000003")]


@pytest.mark.parametrize("is_prediction_first", [False, True])
@pytest.mark.parametrize("names", [("one", "two"), ("two", "one")])
def test_a_prediction_that_fits_two_runs_stays_apart(
    store: StoreHandle, lab: Lab, take: Take, names: tuple[str, str], is_prediction_first: bool
) -> None:
    """The name of a file is no reason to think that a patch is its run's."""
    trajectories = [lab.traj(f"{name}/{TASK}.traj", action=f"ls {number}") for number, name in enumerate(names)]
    prediction = lab.predictions("preds/preds.jsonl", {TASK: patch()})
    steps: list[list[Path]] = [[prediction], trajectories] if is_prediction_first else [[*trajectories, prediction]]
    for step in steps:
        take(*step, arm="a")
    got = rows(store, "SELECT repeat, has_trajectory, patch_sha256 IS NULL FROM run LEFT JOIN patch USING (run_key)")
    assert sorted(got) == [("1", True, True), ("2", True, True), ("3", False, False)]
    assert rows(store, "SELECT code, repeat FROM defect JOIN run USING (run_key)") == [("fits-several-runs", "3")]
    assert rows(store, "SELECT count(*), count(DISTINCT run_id) FROM run") == [(3, 3)]


def test_what_an_ingest_settled_is_settled_again_by_repair(tmp_path: Path, lab: Lab) -> None:
    made = sw.create(tmp_path / "s")
    for paths in (
        [lab.predictions("preds/preds.jsonl", {TASK: patch(), "t-2": patch()})],
        [lab.traj(f"one/{TASK}.traj", action="ls 1")],
        [lab.traj("two/t-2.traj", action="ls 3"), lab.traj("three/t-2.traj", action="ls 2")],
    ):
        made.ingest(*paths, arm="a")
    asked = "SELECT task, repeat, has_trajectory, patch_sha256 FROM run LEFT JOIN patch USING (run_key) ORDER BY ALL"
    before = made.sql(asked).fetchall()
    assert len(before) == 4
    assert made.verify() == []
    assert made.repair().lost == ()
    assert made.sql(asked).fetchall() == before


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_run_that_has_no_events_is_no_part_of_another(
    store: StoreHandle, lab: Lab, take: Take, order: tuple[int, int]
) -> None:
    """What failed before its first word is a run: its outcome is not that of the next repeat."""
    failed = lab.write("failed/run.json", {"task": TASK, "arm": "a", "invariants": {"builds": False}})
    found = [failed.parent, lab.traj(f"{TASK}.traj")]
    for place in order:
        take(found[place], **({} if place == 0 else {"arm": "a"}))
    got = rows(store, "SELECT has_trajectory, value FROM run LEFT JOIN run_invariant USING (run_key) ORDER BY ALL")
    assert got == [(False, False), (True, None)]


def test_equal_reports_of_two_suites_are_two_reports(store: StoreHandle, lab: Lab, take: Take) -> None:
    text = '<testsuite tests="1" failures="0" errors="0"><testcase classname="t" name="a"/></testsuite>'
    tests = [{"report": f"{name}.xml", "suite": name, "env": "e"} for name in ("unit", "integration")]
    path = lab.write("b/run.json", {"task": TASK, "arm": "a", "tests": tests})
    for each in tests:
        (path.parent / each["report"]).write_text(text)
    take(path.parent)
    assert rows(store, "SELECT suite FROM test_report ORDER BY suite") == [("integration",), ("unit",)]


def test_a_report_joins_the_run_of_its_task(store: StoreHandle, lab: Lab, take: Take) -> None:
    lab.traj(f"run/{TASK}.traj", patch=patch())
    report = {"resolved": False, "tests_status": {"PASS_TO_PASS": {"success": ["a"], "failure": ["b"]}}}
    lab.write(f"run/logs/{TASK}/report.json", report)
    assert take(lab.root, suite="s").n_joined == 1
    got = rows(store, "SELECT suite, layout, n_nodes, n_failing, complete FROM test_report")
    assert got == [("s", "swe-bench", 2, 1, True)]
    assert rows(store, "SELECT name, value FROM run_outcome") == [("resolved", "false")]
    assert take(lab.root, suite="s").n_new == 0
    assert rows(store, "SELECT count(*) FROM test_report") == [(1,)]


def test_a_report_without_a_run_is_refused_with_the_way_out(store: StoreHandle, lab: Lab, take: Take) -> None:
    path = lab.write("report.json", {TASK: {"resolved": True, "tests_status": {}}})
    (outcome,) = take(path).sources
    assert (outcome.status, outcome.code) == ("refused", "report-without-run")
    assert "samework attach RUN --tests" in (outcome.hint or "")
    take(lab.traj(f"{TASK}.traj"))
    assert take(path).n_joined == 1
    assert rows(store, "SELECT status FROM source WHERE format = 'swebench_report'") == [("ingested",)]


def test_a_report_that_fits_two_runs_is_refused(lab: Lab, take: Take) -> None:
    take(lab.traj(f"one/{TASK}.traj", action="a"), lab.traj(f"two/{TASK}.traj", action="b"), arm="a")
    (outcome,) = take(lab.write("report.json", {TASK: {"resolved": True, "tests_status": {}}}), arm="a").sources
    assert (outcome.status, outcome.code) == ("refused", "ambiguous-report")
    assert take(lab.root / "report.json", arm="a", repeat="2").n_joined == 1


def test_a_real_directory_gives_its_runs_and_no_more(shared_path: Callable[..., Path], store: StoreHandle) -> None:
    folder = shared_path("data", "swe-agent-lite", "cost_2_1")
    for _ in range(2):
        ingest(store, [folder], IngestSettings(arm="cost_2_1"))
        assert rows(store, "SELECT count(*), count(DISTINCT task) FROM run") == [(51, 51)]


def test_files_of_two_directories_are_not_beside_each_other(store: StoreHandle, lab: Lab, take: Take) -> None:
    trajectory = lab.traj(f"x/{TASK}.traj", patch=patch(2))
    predictions = lab.predictions("y/preds.jsonl", {TASK: patch(3)})
    assert take(trajectory, predictions).n_new == 2
    assert rows(store, "SELECT has_trajectory FROM run ORDER BY ALL") == [(False,), (True,)]
