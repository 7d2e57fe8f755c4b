"""A store named by a relative path holds what one named by an absolute path does, trees included."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def samework(*args: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "samework", *args], cwd=cwd, capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout if "--json" in args else done.stdout + done.stderr


def test_trees_are_taken_into_a_store_named_relatively(root: Path, tmp_path: Path) -> None:
    samework("init", "--store", "here/.samework", cwd=tmp_path)
    said = samework("ingest", str(root / "fixtures/small/tree-identical"), "--store", "here/.samework", cwd=tmp_path)
    found = json.loads(samework("classes", "--json", "--store", "here/.samework", cwd=tmp_path))
    assert found["facets"]["tree"]["unknown"] == 0
    assert "no tree" not in said


def test_a_tree_that_cannot_be_taken_is_said_at_once(tmp_path: Path) -> None:
    bundle = tmp_path / "run"
    bundle.mkdir()
    (bundle / "run.json").write_text('{"task": "t", "arm": "a", "tree": {"worktree": "gone"}}')
    samework("init", cwd=tmp_path)
    assert "no tree" in samework("ingest", "run", cwd=tmp_path)
