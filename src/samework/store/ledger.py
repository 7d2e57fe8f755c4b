"""What each batch wrote, as counts and an order-free digest per table, so that a lost or changed row is found.

The digest of a set of rows is the pair of sums, mod 2^64, of the two halves of each row's MD5, taken over a text in
which every value is told apart from every other (`_row_text`). Sums do not know order, a batch's share is added, a
deleted row's share is subtracted, and all batches of a table must add up to what the table holds. MD5 stands here
against accident, not against an attacker, and keeps its value in every version of DuckDB, unlike `hash()`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import msgspec

from samework.store import ddl, sql
from samework.store.sql import quoted

if TYPE_CHECKING:
    import duckdb

_MODULUS: Final = 1 << 64
UNCOUNTED: Final = frozenset({"meta", "ingest_ledger"})


class Share(msgspec.Struct, frozen=True):
    """Rows and the two halves of their digest; shares add up."""

    n_rows: int = 0
    low: int = 0
    high: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.n_rows + other.n_rows, (self.low + other.low) % _MODULUS, (self.high + other.high) % _MODULUS)

    def __sub__(self, other: Share) -> Share:
        return Share(self.n_rows - other.n_rows, (self.low - other.low) % _MODULUS, (self.high - other.high) % _MODULUS)

    @property
    def digest(self) -> bytes:
        """16 bytes, big-endian, high half first."""
        return self.high.to_bytes(8, "big") + self.low.to_bytes(8, "big")


def share_of(n_rows: int, digest: bytes) -> Share:
    """The share that a ledger row holds."""
    return Share(n_rows, int.from_bytes(digest[8:], "big"), int.from_bytes(digest[:8], "big"))


@cache
def share_query(table: str, relation: str, condition: str = "true") -> str:
    """SQL of one row (count, sum of low halves, sum of high halves) over a relation with the columns of `table`."""
    return (
        "SELECT count(*), coalesce(sum((h & 18446744073709551615)::UBIGINT), 0), "  # noqa: S608 (own names)
        "coalesce(sum((h >> 64)::UBIGINT), 0) "
        f"FROM (SELECT md5_number({_row_text(table)}) AS h FROM {relation} WHERE {condition})"
    )


def read_share(db: duckdb.DuckDBPyConnection, query: str, parameters: list[object] | None = None) -> Share:
    """Run a `share_query`."""
    count, low, high = db.execute(query, parameters).fetchall()[0]
    return Share(int(count), int(low) % _MODULUS, int(high) % _MODULUS)


def counted_tables() -> list[str]:
    """Tables that the ledger accounts for."""
    return [name for name in ddl.tables_by_name() if name not in UNCOUNTED]


def recorded_shares(db: duckdb.DuckDBPyConnection) -> dict[str, Share]:
    """Sum over all batches, per table. Tables that no batch wrote are absent."""
    total: dict[str, Share] = {}
    for table, n_rows, digest in db.execute(sql.load("samework.store", "queries/ledger_rows")).fetchall():
        total[table] = total.get(table, Share()) + share_of(n_rows, digest)
    return total


def held_share(db: duckdb.DuckDBPyConnection, table: str) -> Share:
    """What a table holds now."""
    return read_share(db, share_query(table, f"main.{quoted(table)}"))


def _row_text(table: str) -> str:
    if table == "body":
        # The key is the digest of the text already; `verify` hashes the text itself anew.
        return "concat(hex(sha256), ' ', strlen(text))"
    columns = ddl.column_types(ddl.tables_by_name()[table])
    parts = [_value_text(quoted(name), sql_type, nullable) for name, (sql_type, nullable) in columns.items()]
    return f"concat({', '.join(parts)})"


def _value_text(column: str, sql_type: str, nullable: bool) -> str:
    text = f"hex({column})" if sql_type == "BLOB" else column
    if sql_type == "VARCHAR":
        text = f"strlen({column}), ':', {column}"
        return f"CASE WHEN {column} IS NULL THEN '-' ELSE concat({text}) END, ' '" if nullable else f"{text}, ' '"
    return f"coalesce({text}::VARCHAR, '-'), ' '" if nullable else f"{text}, ' '"
