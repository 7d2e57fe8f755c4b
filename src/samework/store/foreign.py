"""Refuse a database that holds what would run when we ask it: a macro, view, type, trigger or table rule of another's.

A macro named `hex` or `+` answers in the place of the function of that name, and a store is found upward, so it may
have come with a clone. What is asked here is asked by names that no file can take over, before any other query. Views
and macros of our own names are let be: those of each connection hide them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from samework.errors import StoreDamaged
from samework.store import sql
from samework.text import shortened

if TYPE_CHECKING:
    import duckdb

_RULE: Final = re.compile(r"\b(?:GENERATED|DEFAULT|CHECK)\b")  # of a column; no table of ours has one
_TABLES: Final = "SELECT schema_name, table_name, sql FROM system.main.duckdb_tables() WHERE NOT internal"
_OTHERS: Final = (
    ("macro", "SELECT function_name FROM system.main.duckdb_functions() WHERE NOT internal"),
    ("view", "SELECT view_name FROM system.main.duckdb_views() WHERE NOT internal"),
    ("type", "SELECT type_name FROM system.main.duckdb_types() WHERE NOT internal"),
    ("trigger", "SELECT trigger_name FROM system.main.duckdb_triggers()"),
    ("index", "SELECT index_name FROM system.main.duckdb_indexes()"),
)


def has_plain_table(db: duckdb.DuckDBPyConnection, name: str) -> bool:
    """True where a name stands for a table that only holds rows: reading it runs nothing."""
    found = [text for schema, table, text in db.execute(_TABLES).fetchall() if (schema, table) == ("main", name)]
    return len(found) == 1 and not _RULE.search(found[0])


def refuse(db: duckdb.DuckDBPyConnection, place: str) -> None:
    """Refuse what is not ours; to be asked before our views are made in the connection.

    Raises: StoreDamaged: there is some.
    """
    for _, name, text in db.execute(_TABLES).fetchall():
        if _RULE.search(text):
            raise _refusal("rule of the table", name, place)
    for kind, query in _OTHERS:
        for (name,) in db.execute(query).fetchall():
            if name not in _own_names(kind):
                raise _refusal(kind, name, place)


def _refusal(kind: str, name: str, place: str) -> StoreDamaged:
    return StoreDamaged(
        f"the database holds the {kind} {shortened(name, 80)!r}, which is not of this program",
        place=place,
        effect="Nothing of it was run.",
        hint="`samework repair` makes the database again without it, from the bytes in sources/.",
    )


@cache
def _own_names(kind: str) -> frozenset[str]:
    texts = "\n".join(text for _, text in sql.scripts("samework.store", "views"))
    return frozenset(re.findall(rf"^CREATE OR REPLACE {kind.upper()} (\w+)", texts, re.MULTILINE))
