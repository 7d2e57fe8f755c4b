"""The same content is known however it comes again, and no verdict depends on the order in which it came."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.command import answer, new_store, samework

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
EVENTS = '{"kind":"meta","task":"t","arm":"a"}\n{"kind":"user","text":"go"}\n{"kind":"completion","text":"yes"}\n'


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return new_store(tmp_path)


def take(*paths: Path, store: Path) -> tuple[int, int]:
    """Runs that were new, and runs that were known."""
    summary = answer("ingest", *paths, store=store)
    assert not summary["n_refused"], summary
    return summary["n_new"] + summary["n_incomplete"], summary["n_known"]


def pytest_report(outcome: str) -> str:
    test = {"nodeid": "test_x.py::test_x", "outcome": outcome, "call": {"duration": 0, "outcome": outcome}}
    summary = {outcome: 1, "total": 1, "collected": 1}
    return json.dumps(
        {"created": 1.0, "duration": 1.0, "exitcode": 0, "root": "/r", "environment": {}, "summary": summary,
         "collectors": [], "tests": [test]}
    )  # fmt: skip


def test_the_same_file_again_is_known(tmp_path: Path, store: Path) -> None:
    (tmp_path / "one.jsonl").write_text(EVENTS)
    assert take(tmp_path / "one.jsonl", store=store) == (1, 0)
    before = answer("runs", store=store)
    assert take(tmp_path / "one.jsonl", store=store) == (0, 1)
    assert answer("runs", store=store) == before


def test_a_copy_under_another_name_or_compressed_is_known(tmp_path: Path, store: Path) -> None:
    (tmp_path / "one.jsonl").write_text(EVENTS)
    (tmp_path / "two.txt").write_text(EVENTS)
    (tmp_path / "three.jsonl.gz").write_bytes(gzip.compress(EVENTS.encode()))
    assert take(tmp_path / "one.jsonl", store=store) == (1, 0)
    assert take(tmp_path / "two.txt", store=store) == (0, 1)
    assert take(tmp_path / "three.jsonl.gz", store=store) == (0, 1)
    assert len(answer("runs", store=store)) == 1


def test_the_same_bundle_at_another_place_is_known(tmp_path: Path, store: Path) -> None:
    source = FIXTURES / "small" / "tree-identical" / "one-1"
    assert take(source, store=store) == (1, 0)
    copy = shutil.copytree(source, tmp_path / "elsewhere" / "under-another-name")
    assert take(copy, store=store) == (0, 1)
    assert take(tmp_path / "elsewhere", store=store) == (0, 1)
    packed = shutil.make_archive(str(tmp_path / "packed"), "zip", source)
    assert take(Path(packed), store=store)[0] + 1 == len(answer("runs", store=store))


def test_a_bundle_inside_of_another_is_one_run_however_it_is_reached(tmp_path: Path, store: Path) -> None:
    outer = shutil.copytree(FIXTURES / "small" / "tree-identical" / "one-1", tmp_path / "outer")
    inner = shutil.copytree(FIXTURES / "small" / "tree-identical" / "two-1", outer / "again")
    assert take(outer, store=store) == (2, 0)
    assert take(inner, store=store) == (0, 1)
    assert take(tmp_path / "outer", inner, store=store) == (0, 2)


def test_overlapping_paths_of_one_command_count_once(store: Path) -> None:
    task = FIXTURES / "small" / "tree-identical"
    assert take(task, task / "one-1", task / "one-1" / ".." / "two-1", store=store) == (3, 0)


def test_one_trial_in_two_places_is_one_run(tmp_path: Path, store: Path) -> None:
    for place in ("first", "second"):
        shutil.copytree(FIXTURES / "codex-fix-add" / "sed-1", tmp_path / place / "sed-1")
    summary = answer("ingest", tmp_path / "first", tmp_path / "second", store=store)
    assert (summary["n_new"], summary["n_known"]) == (1, 1)
    assert len(answer("runs", store=store)) == 1


def test_two_trials_of_equal_content_and_other_repeats_are_two_runs(tmp_path: Path, store: Path) -> None:
    for repeat in ("1", "2"):
        place = shutil.copytree(FIXTURES / "codex-fix-add" / "sed-1", tmp_path / repeat)
        run = json.loads((place / "run.json").read_text())
        (place / "run.json").write_text(json.dumps(run | {"repeat": repeat}))
    assert take(tmp_path / "1", tmp_path / "2", store=store) == (2, 0)


def test_a_file_that_grew_replaces_nothing_and_is_said(tmp_path: Path, store: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(EVENTS)
    take(path, store=store)
    path.write_text(EVENTS + '{"kind":"user","text":"more"}\n')
    take(path, store=store)
    sizes = [row["n_events"] for row in answer("query", "select n_events from run order by 1", store=store)]
    assert sizes == [2, 3]


def test_a_known_store_is_not_written_to(store: Path) -> None:
    task = FIXTURES / "small" / "flaky-cell"
    take(task, store=store)
    tables = (
        "run",
        "event",
        "body",
        "test_report",
        "test_outcome",
        "manifest_field",
        "facet_digest",
        "source",
        "defect",
    )
    counts = (f"select '{table}' as name, count(*) as n from {table}" for table in tables)
    sql = f"{' union all '.join(counts)} order by all"
    before = answer("query", sql, store=store)
    take(task, store=store)
    assert answer("query", sql, store=store) == before
    assert samework("verify", store=store).stdout == "Whole.\n"


def test_an_attached_report_again_is_known(tmp_path: Path, store: Path) -> None:
    (tmp_path / "one.jsonl").write_text(EVENTS)
    (tmp_path / "report.json").write_text(pytest_report("passed"))
    take(tmp_path / "one.jsonl", store=store)
    for _ in range(2):
        assert samework("attach", "t:a:1", "--tests", tmp_path / "report.json", store=store).returncode == 0
    [row] = answer("query", "select count(*) as n from test_report", store=store)
    assert row["n"] == 1


def test_a_report_joins_the_run_beside_it_and_no_task_of_its_folders_name(tmp_path: Path, store: Path) -> None:
    """Two tools name their runs alike: a1 is a folder of the one and a task of the other."""
    for folder, task in (("one/a1", "first"), ("other", "a1")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "events.jsonl").write_text(EVENTS.replace('"t"', f'"{task}"'))
    (tmp_path / "one" / "a1" / "report.json").write_text(pytest_report("passed"))
    for _ in range(2):
        answer("ingest", tmp_path / "one", tmp_path / "other", store=store)
        evidence = {run["task"]: run["evidence"]["tests"] for run in answer("runs", store=store)}
        assert evidence["first"] != "none"
        assert evidence["a1"] == "none"


def verdicts(store: Path) -> dict[str, Any]:
    """Classes as they are, numbers and representatives included; pairs whichever side a run is on."""
    pairs = answer("pairs", "--limit", "100000", store=store)
    unordered = [{**pair, "a": None, "b": sorted((pair["a"], pair["b"]))} for pair in pairs]
    return {"classes": answer("classes", store=store), "pairs": sorted(unordered, key=str)}


def test_verdicts_do_not_depend_on_the_order_of_ingest(tmp_path: Path) -> None:
    places = sorted(path.parent for path in FIXTURES.glob("small/*/*/run.json"))
    places += sorted(path.parent for path in FIXTURES.glob("codex-fix-add/*/run.json"))
    found = []
    for seed in (None, 1, 2):
        order = list(places)
        if seed is not None:
            random.Random(seed).shuffle(order)
        store = new_store(tmp_path / str(seed))
        third = len(order) // 3
        for part in (order[:third], order[third : 2 * third], order[2 * third :]):
            take(*part, store=store)
        found.append(verdicts(store))
    assert found[0]["pairs"]
    assert found[1] == found[0]
    assert found[2] == found[0]
