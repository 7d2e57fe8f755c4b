"""T2: nothing that a run, a file or a test is called, or says, reaches a terminal or a report raw."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from samework.text import visible
from tests.command import samework
from tests.threats.lab import TERMINAL, stored

if TYPE_CHECKING:
    from pathlib import Path

BRANCH = "feature/\x1b]0;owned\x07"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    place, (a, b) = stored(tmp_path_factory.mktemp("t2"), TERMINAL)
    return place, a, b


def test_every_answer_shows_escapes_and_obeys_none(store: tuple[Path, str, str], tmp_path: Path) -> None:
    place, a, b = store
    arms = f"a {TERMINAL}", f"b {TERMINAL}"
    asked: list[tuple[object, ...]] = [
        ("runs",), ("show", a), ("compare", a, b), ("classes",), ("pairs",), ("forks",), ("claims", a, b), ("scan",),
        ("query", "from runs"), ("query", "from bodies"), ("query", "from test_outcomes"), ("query", "from trees"),
        ("query", f"select 1 as \"{TERMINAL.replace(chr(34), '')}\""), ("experiment", "--arms", ",".join(arms)),
        ("gate", "--baseline", arms[0], "--candidate", arms[1]), ("verify",), ("formats",), ("causes",),
        ("runs", "--task", TERMINAL), ("show", TERMINAL), ("ingest", tmp_path / TERMINAL), (TERMINAL,),
        ("query", f"select {TERMINAL}"), ("attach", a, "--tests", tmp_path / TERMINAL), ("query", "--named", TERMINAL),
    ]  # fmt: skip
    in_json = {"runs", "show", "compare", "forks", TERMINAL}
    for words in [*asked, *((*words, "--json") for words in asked if words[0] in in_json)]:
        done = samework(*words, store=place)
        assert done.returncode in {0, 1, 2, 3}, (words, done.stderr)
        assert visible(done.stdout) == done.stdout, words
        assert visible(done.stderr) == done.stderr, words


@pytest.mark.parametrize("ending", ["md", "json", "html"])
def test_no_file_holds_a_control_character(store: tuple[Path, str, str], ending: str, tmp_path: Path) -> None:
    place, a, b = store
    for number, words in enumerate(((a, b), ())):
        out = tmp_path / f"{number}.{ending}"
        assert samework("report", *words, "-o", out, store=place).returncode == 0
        text = out.read_text(encoding="utf-8")
        assert not set(text) & set("\x1b\x07\x9b\u202e\x7f")
        assert "x1b" in text


def test_a_branch_name_is_shown_visibly(tmp_path: Path, store: tuple[Path, str, str]) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"task": "t", "tree": {"repo": ".", "commit": BRANCH}}))
    done = samework("ingest", tmp_path, "--json", store=store[0])
    assert visible(done.stdout) == done.stdout
    assert visible(done.stderr) == done.stderr
