"""Make a fresh schema, and bring an older store up to it by numbered SQL files that are never edited.

Views and macros are no data: they are dropped and made again from `views/*.sql`, in the file for other programs, and
as temporary ones in each connection, so that those of a foreign file are never what a query of ours runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import duckdb

from samework.store import foreign, sql
from samework.store.version import APPLICATION_ID, SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROGRAM: Final = "samework"


def schema_version(db: duckdb.DuckDBPyConnection) -> int | None:
    """Version that the store itself names; None where the database is not a store of samework."""
    try:
        if not foreign.has_plain_table(db, "meta"):
            return None
        facts = dict(db.execute("SELECT key, value FROM main.meta").fetchall())
    except (duckdb.CatalogException, duckdb.BinderException):
        return None
    version = facts.get("schema_version", "")
    if facts.get("application_id") != APPLICATION_ID or not str(version).isdigit():
        return None
    return int(version)


def create_schema(db: duckdb.DuckDBPyConnection) -> None:
    """The schema of this program in an empty database, in one transaction."""
    from samework.store import ddl  # late: it loads the typed schema, which readers do not need

    db.execute("BEGIN")
    db.execute(ddl.store_ddl())
    db.executemany(
        "INSERT INTO meta VALUES (?, ?)",
        [["application_id", APPLICATION_ID], ["schema_version", str(SCHEMA_VERSION)], ["made_by", _PROGRAM]],
    )
    install_views(db)
    db.execute("COMMIT")


def migrations() -> list[tuple[int, str]]:
    """Every migration: (version that it leads to, script), oldest first."""
    return [(int(name[:4]), text) for name, text in sql.scripts("samework.store", "migrations")]


def migrate(db: duckdb.DuckDBPyConnection, *, to: int = SCHEMA_VERSION) -> None:
    """Bring the schema from the version it has (0 for an empty database) to `to`, in one transaction.

    The views are those of the present version; they need all of its tables.
    """
    have = schema_version(db) or 0
    db.execute("BEGIN")
    for version, script in migrations():
        if have < version <= to:
            db.execute(script)
    db.execute("INSERT OR REPLACE INTO meta VALUES ('application_id', ?)", [APPLICATION_ID])
    db.execute("INSERT OR REPLACE INTO meta VALUES ('schema_version', ?)", [str(to)])
    db.execute("INSERT OR REPLACE INTO meta VALUES ('made_by', ?)", [_PROGRAM])
    if to == SCHEMA_VERSION:
        install_views(db)
    db.execute("COMMIT")


def install_views(db: duckdb.DuckDBPyConnection) -> None:
    """Write the documented views and table functions into the file."""
    for _, script in sql.scripts("samework.store", "views"):
        db.execute(script)


def install_temporary_views(db: duckdb.DuckDBPyConnection) -> None:
    """Make the same views in this connection alone, where they hide those of the file."""
    for _, script in sql.scripts("samework.store", "views"):
        db.execute(script.replace("CREATE OR REPLACE ", "CREATE OR REPLACE TEMP ", 1))


def install_tables(db: duckdb.DuckDBPyConnection, tables: Mapping[str, Any]) -> None:
    """Put Arrow tables into this connection, in the place of the views of their names."""
    for name, table in tables.items():
        db.register(f"extra_{name}", table)
        db.execute(f"CREATE OR REPLACE TEMP VIEW {sql.quoted(name)} AS SELECT * FROM {sql.quoted(f'extra_{name}')}")  # noqa: S608
