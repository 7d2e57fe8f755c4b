"""`samework causes` on a terminal: what it names, how narrow it gets, and that nothing from a run is obeyed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from samework.cli.app import run
from samework.text import visible
from tests.forklab import Made, completion, store_of, user

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "\x1b[2J\u202egnp\n[red]x"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("causes") / ".samework"
    runs = [
        Made(
            f"{task}{arm}{n}",
            [user("u"), completion(arm, ("bash", json.dumps({"x": arm})))],
            task=f"task-{task}",
            arm=arm,
            manifest={"kv.dtype": arm, f"engine.{HOSTILE}": arm, "engine.name": "e"},
            absences={f"model.{HOSTILE}": HOSTILE},
        )
        for task in range(3)
        for arm in ("x", "y")
        for n in range(2)
    ]
    runs.append(Made("lone", [user("u"), completion("x")], task="lone"))
    store_of(path, runs).close()
    return path


def said(store: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run(["causes", *words, "--store", str(store)])
    return code, *capsys.readouterr()


@pytest.mark.parametrize("width", [30, 40, 80, 200])
def test_it_fits_and_shows_hostile_names_as_escapes(store, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = said(store, capsys, "--tool-calls")
    assert code == 0
    assert visible(out) == out
    assert [line for line in out.splitlines() if cell_len(line) > width] == []
    assert "co-varies" in " ".join(out.split())


def test_json_carries_every_number_and_every_gap(store, capsys):
    code, out, _ = said(store, capsys, "--json")
    found = json.loads(out)
    assert (code, found["n_tasks"], found["n_runs"]) == (0, 3, 12)
    (row,) = found["rows"]
    assert row["fields"] == [f"engine.{HOSTILE}", "kv.dtype"]
    assert (row["rung"], row["arm"], row["order"]) == ("co_varies", "same", "unrecorded")
    assert "engine.name" in found["constant"]
    assert f"model.{HOSTILE}" in {gap["field"] for gap in found["unrecorded"]}


def test_a_task_without_a_fork_is_a_sentence_and_status_3(store, capsys):
    code, out, err = said(store, capsys, "--task", "lone")
    assert (code, out) == (3, "")
    assert "no fork" in err


def test_an_unknown_task_or_fork_is_trouble(store, capsys):
    assert said(store, capsys, "--task", "nonsense")[0] == 2
    assert said(store, capsys, "--node", "zz")[0] == 2
