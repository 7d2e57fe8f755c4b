"""Every query of the store's room binds in an empty store, and has the columns that its header names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from samework.model.words import EndReason
from samework.store import ddl, sql
from samework.store.connection import create_store, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from samework.store.connection import StoreHandle

_PACKAGE = "samework.store"
_CALLS = {"pairs": "pairs('task')", "manifest_diff": "manifest_diff('a', 'b')"}
_SCALARS = {"digest_verdict"}
_DOCUMENTED = {
    *("runs", "events", "tool_calls", "observations", "facet_digests", "classes", "forks", "fork_branches", "trees"),
    *("tree_entries", "patches", "test_outcomes", "cells", "manifest_fields", "reviews", "pairs", "manifest_diff"),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreHandle]:
    path = tmp_path_factory.mktemp("sql") / ".samework"
    create_store(path).close()
    with open_store(path, read_only=True) as handle:
        yield handle


def _view(name: str) -> str:
    return name.partition("_")[2]


def _described(handle: StoreHandle, text: str) -> list[str]:
    names = sorted(set(re.findall(r"\$([a-z_]+)", re.sub(r"--.*", "", text))))
    rows = handle.db.execute(f"DESCRIBE {text}", dict.fromkeys(names)).fetchall()
    return [row[0] for row in rows]


def _columns_of_header(text: str) -> list[str]:
    listed = sql.header(text).replace("\n", " ").partition("Columns: ")[2].rstrip(".")
    return [part.split()[0] for part in listed.split(", ")]


@pytest.mark.parametrize("folder", ["named", "queries", "orphans"])
def test_a_query_has_the_columns_that_its_header_names(store: StoreHandle, folder: str) -> None:
    for name, text in sql.scripts(_PACKAGE, folder):
        assert sql.header(text).startswith(f"{folder}/{name}: "), name
        assert _described(store, text) == _columns_of_header(text), name


@pytest.mark.parametrize("name", sql.names(_PACKAGE, "views"))
def test_a_view_answers_and_so_does_its_example(store: StoreHandle, name: str) -> None:
    text = sql.load(_PACKAGE, f"views/{name}")
    head = sql.header(text)
    assert head.startswith(f"views/{_view(name)}: ")
    example = store.db.execute(head.partition("Example: ")[2]).fetchall()
    if _view(name) in _SCALARS:
        assert len(example) == 1
        return
    assert example == []
    assert store.db.execute(f"FROM {_CALLS.get(_view(name), _view(name))}").fetchall() == []


def test_every_view_of_the_product_is_there() -> None:
    views = {_view(name) for name in sql.names(_PACKAGE, "views")}
    assert views | {"ingest_ledger"} >= _DOCUMENTED
    assert "ingest_ledger" in ddl.tables_by_name()


def test_a_view_has_the_same_columns_in_the_file_as_in_the_connection(store: StoreHandle) -> None:
    query = "SELECT view_name, column_count FROM duckdb_views() WHERE NOT internal AND temporary = ? ORDER BY ALL"
    assert store.db.execute(query, [True]).fetchall() == store.db.execute(query, [False]).fetchall()


def test_the_engine_can_stand_in_for_the_views_that_it_refines(store: StoreHandle) -> None:
    expected = {
        "classes": "task tests_class tree_class token_class size run_id representative placed",
        "forks": "task node step seq event origin consequence tool_calls token_offset evidence n_branches "
        "effect consequence_reason",
        "fork_branches": "task node branch run_id tool arguments excerpt tree_classes tests_classes",
    }
    for view, columns in expected.items():
        assert _described(store, f"FROM {view}") == columns.split()


def test_every_query_takes_the_same_ends_for_cut_off(root: Path) -> None:
    lists = [
        found
        for path in (root / "src" / "samework").rglob("*.sql")
        for found in re.findall(r"end_reason (?:not )?in \((.+?)\)", path.read_text(encoding="utf-8"), re.IGNORECASE)
    ]
    cut_off = {EndReason.TIMEOUT, EndReason.CRASH, EndReason.CANCELLED, EndReason.LOG_TRUNCATED}
    named = [set(re.findall(r"\w+", found)) for found in lists]
    assert sum(names == cut_off for names in named) >= 6
    assert [names for names in named if names != cut_off and names & cut_off] == []
