"""Views whose rows the engine makes: classes, forks and fork_branches, computed where a query names them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from samework.api.judging import classes, forks
from samework.store.connection import open_store
from samework.store.migrate import install_tables

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from samework.store.connection import StoreHandle

_WORD = re.compile(r"[A-Za-z_]+")


def engine_views(path: Path, text: str) -> dict[str, Any]:
    """Arrow tables for the engine's views that `text` names; for a query that names none the store is not opened.

    Raises: StoreError: the store cannot be read now.
    """
    named = _named(text)
    if not named:
        return {}
    with open_store(path, read_only=True) as handle:
        return {name: _VIEWS[name](handle) for name in named}


def show_engine_views(handle: StoreHandle, text: str, shown: set[str]) -> None:
    """Put the engine's views that `text` names into the connection of an open store. shown: those that are there."""
    wanted = [name for name in _named(text) if name not in shown]
    install_tables(handle.db, {name: _VIEWS[name](handle) for name in wanted})
    shown.update(wanted)


def _named(text: str) -> list[str]:
    words = {found.lower() for found in _WORD.findall(text)}
    return [name for name in _VIEWS if name in words]


def _classes(handle: StoreHandle) -> Any:
    import pyarrow as pa

    schema = pa.schema(
        [
            ("task", pa.string()),
            ("tests_class", pa.int64()),
            ("tree_class", pa.int64()),
            ("token_class", pa.int64()),
            ("size", pa.int64()),
            ("run_id", pa.string()),
            ("representative", pa.string()),
            ("placed", pa.bool_()),
        ]
    )
    rows = [
        {
            "task": task.task,
            "tests_class": block.tests,
            "tree_class": block.tree,
            "token_class": block.tokens,
            "size": block.size,
            "run_id": run,
            "representative": block.representative,
            "placed": block.placed,
        }
        for task in classes(handle).by_task
        for block in task.classes
        for run in block.runs
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def _forks(handle: StoreHandle) -> Any:
    import pyarrow as pa

    names = ["task", "node", "step", "seq", "event", "origin", "consequence", "tool_calls", "token_offset", "evidence"]
    last = ["effect", "consequence_reason"]
    kinds = {"step": pa.int64(), "seq": pa.int64(), "tool_calls": pa.bool_(), "token_offset": pa.int64()}
    schema = pa.schema(
        [(name, kinds.get(name, pa.string())) for name in names]
        + [("n_branches", pa.int64()), *((name, pa.string()) for name in last)]
    )
    rows = []
    for fork in forks(handle):
        plain = msgspec.to_builtins(fork)
        rows.append({name: plain[name] for name in [*names, *last]} | {"n_branches": len(fork.branches)})
    return pa.Table.from_pylist(rows, schema=schema)


def _fork_branches(handle: StoreHandle) -> Any:
    import pyarrow as pa

    schema = pa.schema(
        [
            ("task", pa.string()),
            ("node", pa.string()),
            ("branch", pa.int64()),
            ("run_id", pa.string()),
            ("tool", pa.string()),
            ("arguments", pa.string()),
            ("excerpt", pa.string()),
            ("tree_classes", pa.int64()),
            ("tests_classes", pa.int64()),
        ]
    )
    rows = [
        {
            "task": fork.task,
            "node": fork.node,
            "branch": number,
            "run_id": run,
            "tool": branch.action.get("tool"),
            "arguments": branch.action.get("arguments"),
            "excerpt": branch.excerpt,
            "tree_classes": branch.tree_classes,
            "tests_classes": branch.tests_classes,
        }
        for fork in forks(handle)
        for number, branch in enumerate(fork.branches)
        for run in branch.runs
    ]
    return pa.Table.from_pylist(rows, schema=schema)


_VIEWS: dict[str, Callable[[StoreHandle], Any]] = {
    "classes": _classes,
    "forks": _forks,
    "fork_branches": _fork_branches,
}
