"""The committed notebooks hold what their text says; that they run from a clean kernel is `run.py --check`, in CI."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOTEBOOKS = ("did_the_fork_change_the_work", "same_transcript_different_continuation", "what_the_numbers_say")
MOST_BYTES = 500_000
FEWEST_PICTURES = 2


@pytest.fixture
def notebook(root: Path) -> Callable[[str], dict[str, Any]]:
    return lambda name: json.loads((root / "notebooks" / f"{name}.ipynb").read_text())


def outputs(notebook: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {cell["id"]: cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"}


def text(notebook: dict[str, Any], cell: str | None = None) -> str:
    """What one cell shows, or all of them: tables as Markdown, prints as they are."""
    found = []
    for place, shown in outputs(notebook).items():
        for output in shown if cell in (None, place) else ():
            data = output.get("data", {})
            found.append("".join(output.get("text") or data.get("text/markdown") or data.get("text/plain") or ""))
    return "\n".join(found)


def test_every_notebook_is_known_here(root: Path) -> None:
    assert sorted(path.stem for path in (root / "notebooks").glob("*.ipynb")) == sorted(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_cell_ran_in_order_and_none_raised(name: str, notebook: Callable[[str], dict[str, Any]]) -> None:
    cells = [cell for cell in notebook(name)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert "error" not in {output["output_type"] for cell in cells for output in cell["outputs"]}
    assert "stderr" not in {output.get("name") for cell in cells for output in cell["outputs"]}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_pictures_are_committed_and_small(name: str, root: Path, notebook: Callable[[str], dict[str, Any]]) -> None:
    shown = [output for each in outputs(notebook(name)).values() for output in each]
    assert sum("image/png" in output.get("data", {}) for output in shown) >= FEWEST_PICTURES
    assert (root / "notebooks" / f"{name}.ipynb").stat().st_size < MOST_BYTES


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_place_on_a_machine_is_shown(name: str, root: Path, notebook: Callable[[str], dict[str, Any]]) -> None:
    found = text(notebook(name))
    assert re.findall(r"(?:/tmp|/home|/root|/Users|/var|[A-Z]:\\)[/\\]?\S*", found) == []
    assert str(root) not in found


def test_the_engines_runs_give_the_numbers_of_the_record(notebook: Callable[[str], dict[str, Any]]) -> None:
    told = notebook("same_transcript_different_continuation")
    controls = text(told, "rates")
    for arm in ("retained", "recomputed", "split"):
        assert f"| {arm}, again | 0 | 60 |" in controls
    for arms, n_differ in (("retained against recomputed", 14), ("retained against split", 11)):
        assert f"| {arms} | {n_differ} | 60 |" in controls
    assert "| recomputed against chunked | 3 | 60 |" in controls
    assert "No control: chunked has one run of each item" in text(told, "experiment")
    assert "| tokens | recomputed against chunked | 0 | none | none | none | no test:" in text(told, "paths")
    assert "| retained against recomputed | 30 | 13 | 8 | 30 | 1 | 1 | 1 |" in text(told, "funnel-table")
    assert text(told, "transplant").count("| 60 of 60 | 11 of 11 | 0 of 11 |") == 2
    changed = [line for line in text(told, "origins").splitlines() if line.startswith("| tool") and "| yes |" in line]
    assert changed
    assert all("model/greedy" in line for line in changed)
    assert text(told, "work").count("divergent, established") == 1


def test_every_published_number_is_computed(root: Path, notebook: Callable[[str], dict[str, Any]]) -> None:
    assert re.search(
        r"(\d+) numbers computed and held to the file, 0 of \1 left out", text(notebook("what_the_numbers_say"))
    )


def test_the_tour_of_forks(notebook: Callable[[str], dict[str, Any]]) -> None:
    tour = notebook("did_the_fork_change_the_work")
    assert "{'total': 10, 'tree-identical': 3, 'tests-identical': 3, 'divergent': 4}" in text(tour, "classes")
    assert {line.split(" | ")[3] for line in text(tour, "forks").splitlines()[2:]} == {"C0", "C2", "C3"}
    assert "tree-identical (at_least)" in text(tour, "pair")
    assert "| tree replay | not establishable |" in text(tour, "claims")


def made(path: Path, source: str, printed: str) -> Path:
    """A notebook of one cell, with what it is said to have printed."""
    shown = {"name": "stdout", "output_type": "stream", "text": printed}
    cell = {
        "cell_type": "code",
        "execution_count": 1,
        "id": "one",
        "metadata": {},
        "outputs": [shown],
        "source": source,
    }
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def checked(root: Path, *notebooks: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("nbclient", reason="the extra `notebooks` is not installed")
    command = [sys.executable, str(root / "notebooks" / "run.py"), "--check", *map(str, notebooks)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_notebook_that_says_other_things_than_committed_fails_the_check(root: Path, tmp_path: Path) -> None:
    same = made(tmp_path / "same.ipynb", "print(6 * 7)", "42\n")
    other = made(tmp_path / "other.ipynb", "print(6 * 7)", "41\n")
    before = other.read_text()
    done = checked(root, same, other)
    assert done.returncode == 1
    assert "same.ipynb: ran" in done.stdout
    assert "other.ipynb: differs" in done.stdout
    assert "-one: 41\n+one: 42" in done.stdout
    assert other.read_text() == before


def test_a_notebook_that_raises_fails_the_check_and_starts_with_nothing(root: Path, tmp_path: Path) -> None:
    done = checked(root, made(tmp_path / "raises.ipynb", "print(left_over)", ""))
    assert done.returncode == 1
    assert "name 'left_over' is not defined" in done.stderr
