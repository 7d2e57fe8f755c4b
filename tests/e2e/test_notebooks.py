"""Every cell of every notebook runs, in order, and says what the notebook's text says."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def run_cells(path: Path) -> list[Any]:
    """Value of the last expression of each code cell, None where it has none."""
    names: dict[str, Any] = {}
    values = []
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(path), "exec"), names)
        values.append(eval(compile(ast.Expression(last.value), str(path), "eval"), names) if last else None)
    return values


def test_the_tour_of_forks(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root / "notebooks")
    values = run_cells(root / "notebooks" / "did_the_fork_change_the_work.ipynb")
    n_new, pairs, blocks, forks, _, pair, claims = values
    assert n_new == 5
    assert pairs == {"total": 10, "tree-identical": 3, "tests-identical": 3, "divergent": 4}
    assert [size for _, _, size, _ in blocks] == [3, 1, 1]
    assert {consequence for _, _, _, consequence, _ in forks} >= {"C2", "C3"}
    assert [str(word) for word in pair] == ["tree-identical", "at_least", "different", "same"]
    assert ("tree_replay", "not_establishable") in {(claim, verdict) for claim, verdict, _ in claims}
