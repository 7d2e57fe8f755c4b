"""What `forks` and `compare` tell of forks on real runs, in a narrow terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from samework.api import create
from samework.cli.app import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def kv_path(tmp_path_factory, request) -> str:
    """A store of the arms A (retained) and B (recomputed)."""
    place = tmp_path_factory.mktemp("kv") / "store"
    fixture = request.config.rootpath / "fixtures" / "kv-path"
    create(place).ingest(*sorted(fixture.glob("*/retained-1")), *sorted(fixture.glob("*/recomputed-1")))
    return str(place)


@pytest.fixture
def told(capsys, monkeypatch):
    """Run a command at 80 columns; what it printed, and its remarks."""
    monkeypatch.setenv("COLUMNS", "80")

    def ask(*words: str, code: int = 0) -> tuple[str, str]:
        assert run(list(words)) == code
        return tuple(" ".join(stream.split()) for stream in capsys.readouterr())

    return ask


def test_eight_tool_call_forks_each_greedy_at_a_near_tie(kv_path, told):
    out, err = told("forks", "--tool-calls", "--store", kv_path)
    assert out.count("origin model/greedy: prompt token ids equal in 2 runs (by digest); temperature 0") == 8
    assert out.count("logits, each at most the declared 0.5: a near tie") == 8
    assert out.count("├ ") == out.count("└ ") == 8
    assert "8 forks in 8 tasks: 8 of unknown consequence." in err


def test_no_tool_call_fork_is_known_to_have_changed_work_and_why(kv_path, told):
    out, err = told("forks", "--tool-calls", "--changed-work", "--store", kv_path)
    assert not out
    assert "8 forks: runs of this kind leave no tree, and no outcome is recorded" in err
    assert "1 other fork changed work: code-016" in err


def test_one_fork_changed_work_with_both_ways_and_margins(kv_path, told):
    out, _ = told("forks", "--changed-work", "--store", kv_path)
    assert out.count("origin") == 1
    assert "code-016 step 2, completion, token 2 C3 the tests changed: trees and tests differ" in out
    assert "retained (margin 0.00358) return len(xs) + 1" in out
    assert "recomputed (margin 0.328) return sum(xs)" in out


def test_the_limit_of_a_near_tie_is_what_was_declared(kv_path, told):
    out, _ = told("forks", "--tool-calls", "--near-tie", "0.01", "--store", kv_path)
    assert "the declared 0.01" in out
    assert "look for a difference of input or state" in out
    _, err = told("forks", "--near-tie", "-1", "--store", kv_path, code=2)
    assert "a near tie is declared as a number of nats from 0" in err


def test_steps_stand_side_by_side_where_that_is_asked(tmp_path, root: Path, told):
    create(tmp_path / "store").ingest(root / "fixtures" / "codex-fix-add")
    pair = ("fix-add:sed:1", "fix-add:sum:1", "--store", str(tmp_path / "store"))
    out, _ = told("compare", *pair, "--verbose")
    assert "= 1 to 2 1 to 2 2 steps alike" in out
    assert "no verdict rests on it" in out
    assert "Step by step" not in told("compare", *pair)[0]
