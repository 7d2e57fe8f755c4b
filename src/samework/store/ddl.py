"""Data definition of the store, made from `tables.TABLES`: CREATE TABLE and COMMENT ON, nothing else.

Bulk tables carry no primary key in the database, for an index on them makes each write slower and larger; `verify`
checks by query that their keys are unique. Foreign keys are never declared; orphans are found by query.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Union, get_args, get_origin

from samework.store.sql import literal, quoted
from samework.store.tables import TABLES

if TYPE_CHECKING:
    from sqlmodel import SQLModel

BULK_TABLES = frozenset(
    {
        "event",
        "body",
        "call",
        "call_usage",
        "token",
        "token_rank",
        "facet_digest",
        "test_outcome",
        "patch_path",
        "patch_edit",
        "manifest_field",
    }
)
_SQL_TYPES: dict[object, str] = {int: "BIGINT", str: "VARCHAR", bytes: "BLOB", bool: "BOOLEAN", float: "DOUBLE"}


# DuckDB tries every method on every column; for digests none helps and for long text zstd wins (half the time, a third
# of the size), so both are said here.
_COMPRESSION: dict[str, str] = {"BLOB": " USING COMPRESSION uncompressed", "body.text": " USING COMPRESSION zstd"}


def table_name(table: type[SQLModel]) -> str:
    """Name of a table in the database."""
    return str(table.__tablename__)


def tables_by_name() -> dict[str, type[SQLModel]]:
    """Every table of the store, by its name, in order of creation."""
    return {table_name(table): table for table in TABLES}


def column_types(table: type[SQLModel]) -> dict[str, tuple[str, bool]]:
    """Column -> (SQL type, may be NULL), in order.

    Raises: KeyError: a column has a Python type for which no SQL type is declared.
    """
    return {name: _sql_type(field.annotation) for name, field in table.model_fields.items()}


def column_defaults(table: type[SQLModel]) -> dict[str, object]:
    """Columns that a writer may leave out, with the value that then is written."""
    return {name: field.default for name, field in table.model_fields.items() if not field.is_required()}


def primary_key(table: type[SQLModel]) -> tuple[str, ...]:
    """Columns that together name a row, declared in the database or not."""
    return tuple(name for name, field in table.model_fields.items() if getattr(field, "primary_key", None) is True)


def create_statements(table: type[SQLModel]) -> list[str]:
    """CREATE TABLE and its comments, one statement each, without the final semicolon."""
    name = table_name(table)
    lines = [
        f"    {quoted(column)} {sql_type}{'' if nullable else ' NOT NULL'}{_compression(name, column, sql_type)}"
        for column, (sql_type, nullable) in column_types(table).items()
    ]
    if name not in BULK_TABLES:
        lines.append(f"    PRIMARY KEY ({', '.join(map(quoted, primary_key(table)))})")
    body = ",\n".join(lines)
    statements = [f"CREATE TABLE {quoted(name)} (\n{body}\n)"]
    statements.append(f"COMMENT ON TABLE {quoted(name)} IS {literal(_first_line(table))}")
    statements += [
        f"COMMENT ON COLUMN {quoted(name)}.{quoted(column)} IS {literal(field.description or '')}"
        for column, field in table.model_fields.items()
    ]
    return statements


def store_ddl() -> str:
    """The whole store as a script."""
    return "\n\n".join(";\n".join(create_statements(table)) + ";" for table in TABLES) + "\n"


def _compression(table: str, column: str, sql_type: str) -> str:
    return _COMPRESSION.get(f"{table}.{column}", _COMPRESSION.get(sql_type, ""))


def _first_line(table: type[SQLModel]) -> str:
    return (table.__doc__ or "").strip().splitlines()[0]


def _sql_type(annotation: object) -> tuple[str, bool]:
    if get_origin(annotation) in {Union, types.UnionType}:
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        return _SQL_TYPES[kinds[0]], True
    return _SQL_TYPES[annotation], False
