"""The published schema is the generator's own bytes, and holds the documents that users write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
import jsonschema
import pytest

from samework.readers.bundle import RunFile
from samework.readers.events_jsonl import _NativeLine
from samework.store import ddl, migrate, schema_dump
from samework.store.tables import TABLES

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", sorted(schema_dump.published()))
def test_a_published_file_equals_what_make_schema_writes(root: Path, name: str) -> None:
    path = root / name
    written = path.read_text(encoding="utf-8") if path.exists() else None
    assert written == schema_dump.published()[name], f"{name} is out of date: run `make schema`"


@pytest.mark.parametrize("name", sorted(n for n in schema_dump.published() if n.endswith(".schema.json")))
def test_a_published_json_schema_is_a_valid_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_dump.published()[name]))


def _schema(name: str) -> dict[str, Any]:
    return json.loads(schema_dump.published()[f"schema/{name}.schema.json"])


def test_the_run_schema_names_the_keys_that_the_bundle_reader_takes() -> None:
    assert set(_schema("run")["properties"]) == set(RunFile.__struct_fields__)


def test_the_event_schema_names_the_keys_that_the_events_reader_takes() -> None:
    assert set(_schema("event")["properties"]) == set(_NativeLine.__struct_fields__)


@pytest.mark.parametrize(
    ("name", "document", "is_right"),
    [
        ("run", {"task": "t", "repeat": 1, "tree": {"repo": "r", "commit": "c"}, "note": 1}, True),
        ("run", {"tree": {"worktree": "w", "oid": "o"}}, False),
        ("run", {"tests": [{"suite": "s"}]}, False),
        ("event", {"kind": "completion", "tool_calls": [{"name": "bash", "arguments": "{}"}]}, True),
        ("event", {"text": "no kind"}, False),
        ("manifest", {"kv": {"dtype": "f16"}, "model.id": {"value": "m", "source": "measured"}}, True),
    ],
)
def test_the_schema_tells_a_right_document_from_a_wrong_one(name: str, document: object, is_right: bool) -> None:
    assert jsonschema.Draft202012Validator(_schema(name)).is_valid(document) is is_right


def test_every_table_and_column_has_its_meaning_in_the_database() -> None:
    with duckdb.connect() as db:
        db.execute(ddl.store_ddl())
        silent = db.execute(
            "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND coalesce(comment, '') = ''"
        ).fetchall()
    assert silent == []


def test_every_bulk_table_is_a_table() -> None:
    assert {ddl.table_name(table) for table in TABLES} >= ddl.BULK_TABLES


def _catalogue(db: duckdb.DuckDBPyConnection) -> list[list[tuple[Any, ...]]]:
    queries = [
        "SELECT table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns() WHERE NOT internal",
        "SELECT table_name, comment FROM duckdb_tables()",
        "SELECT table_name, constraint_type, constraint_column_names FROM duckdb_constraints()",
        "SELECT table_name, index_name FROM duckdb_indexes()",
        "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal",
        "SELECT function_name, macro_definition FROM duckdb_functions() WHERE NOT internal",
    ]
    return [sorted(db.execute(query).fetchall(), key=str) for query in queries]


def test_migrations_from_the_first_give_the_catalogue_of_the_fresh_schema() -> None:
    with duckdb.connect() as fresh, duckdb.connect() as migrated:
        migrate.create_schema(fresh)
        migrate.migrate(migrated)
        assert _catalogue(migrated) == _catalogue(fresh)
        assert migrate.schema_version(migrated) == migrate.schema_version(fresh)


def test_migrations_are_numbered_without_a_gap_up_to_the_present_version() -> None:
    numbers = [number for number, _ in migrate.migrations()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers[-1] == migrate.SCHEMA_VERSION
