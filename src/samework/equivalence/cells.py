"""Flaky tests of a group of cells: tests that disagree with themselves on one tree, in one suite and environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.store.sql import load

if TYPE_CHECKING:
    from samework.store.connection import StoreHandle


def quarantined_nodes(handle: StoreHandle, task: str) -> tuple[str, ...]:
    """Nodes of a task with more than one outcome in some cell, sorted; reads the temp tables of `prepare`."""
    rows = handle.db.execute(load("samework.equivalence", "sql/quarantined_nodes"), {"task": task}).fetchall()
    return tuple(row[0] for row in rows)
