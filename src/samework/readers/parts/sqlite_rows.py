"""Rows of an SQLite file that nobody vouches for: read in memory, plain tables and named columns only.

Nothing of the file is run: views, virtual tables and generated columns are not read, triggers cannot fire, the work is
bounded. What stands in a write-ahead log beside the file is not part of it. Refuses a file of more than the limit.
"""

from __future__ import annotations

import re
import sqlite3
from typing import TYPE_CHECKING

from samework.decode.document import read_bytes
from samework.errors import DamagedRecord, LimitExceeded
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source

MAGIC = b"SQLite format 3\0"
_JOURNAL = slice(18, 20)
_WAL = b"\x02\x02"
_STEPS_BETWEEN_CHECKS = 100_000
_MAX_CHECKS = 3_000
_MAX_VALUE_BYTES = 64 << 20
_PLAIN_TABLE = re.compile(r"\s*CREATE\s+TABLE\b", re.IGNORECASE)
_HEADER_BYTES = 100
_FAR_BYTES = 4 << 20


def has_tables(head: bytes, source: Source, *tables: str) -> bool:
    """True for an SQLite file whose schema names these tables, as far as its first pages show."""
    if not head.startswith(MAGIC):
        return False
    return _names(head, tables) or (len(head) < source.size() and _names(source.head(_FAR_BYTES), tables))


def _names(head: bytes, tables: tuple[str, ...]) -> bool:
    text = head[_HEADER_BYTES:].decode("latin-1")
    return all(re.search(rf"CREATE TABLE (?:IF NOT EXISTS )?[`\"\[]?{table}[`\"\]]?\s*\(", text) for table in tables)


class Rows:
    """An SQLite file in memory. has_log: it was in write-ahead mode, so that later rows may lie in its log."""

    def __init__(self, source: Source) -> None:
        """Read the file.

        Raises: DamagedRecord: it is no SQLite file. LimitExceeded: it is too large.
        """
        self.place = visible(source.path)
        data = bytearray(read_bytes(source))
        self.has_log = bytes(data[_JOURNAL]) == _WAL
        if self.has_log:
            data[_JOURNAL] = b"\x01\x01"  # a database in memory has no log; the pages are the same
        self.checks = 0
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        try:
            self.db.deserialize(bytes(data))
            self.db.text_factory = bytes
            self.db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
            self.db.set_progress_handler(self._check, _STEPS_BETWEEN_CHECKS)
            for pragma in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON"):
                self.db.execute(f"PRAGMA {pragma}")
        except (sqlite3.Error, OverflowError) as error:
            self.db.close()
            raise self._damaged(error) from error

    def _check(self) -> int:
        self.checks += 1
        return self.checks > _MAX_CHECKS

    def close(self) -> None:
        """Free the memory."""
        self.db.close()

    def select(self, table: str, columns: tuple[str, ...], order: tuple[str, ...]) -> Iterator[dict[str, object]]:
        """Rows of a plain table, in order; a column that it lacks is absent from the rows.

        Args:
            table: its name, one of ours.
            columns: names of ours.
            order: those of the columns to sort by.

        Yields:
            Values by column; text is bytes.

        Raises:
            DamagedRecord: there is no such plain table, or the file is damaged. LimitExceeded: too much work.
        """
        try:
            if not _PLAIN_TABLE.match(self._definition(table) or ""):
                raise DamagedRecord(f"no plain table {table}", place=self.place)
            held = self._plain_columns(table)
            wanted = [column for column in columns if column in held]
            if not wanted:
                raise DamagedRecord(f"the table {table} has none of the columns it should have", place=self.place)
            listed = ", ".join(f'"{column}"' for column in wanted)
            sorted_by = ", ".join(f'"{column}"' for column in order if column in wanted) or "rowid"
            query = f'SELECT {listed} FROM main."{table}" ORDER BY {sorted_by}'  # noqa: S608 (own names)
            for values in self.db.execute(query):
                yield dict(zip(wanted, values, strict=True))
        except (sqlite3.Error, OverflowError, UnicodeError) as error:
            raise self._damaged(error) from error

    def has_table(self, table: str) -> bool:
        """Whether the file names such a table, of whatever kind.

        Raises: DamagedRecord: the file is damaged. LimitExceeded: too much work.
        """
        try:
            return self._definition(table) is not None
        except sqlite3.Error as error:
            raise self._damaged(error) from error

    def _definition(self, table: str) -> str | None:
        """The statement that made a table, None where there is none."""
        found = self.db.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
        row = found.fetchone()
        if row is None:
            return None
        return row[0].decode("utf-8", "replace") if isinstance(row[0], bytes) else ""

    def _plain_columns(self, table: str) -> set[str]:
        rows = self.db.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (table,)).fetchall()
        return {name.decode("utf-8", "replace") for name, hidden in rows if hidden == 0 and isinstance(name, bytes)}

    def _damaged(self, error: Exception) -> DamagedRecord | LimitExceeded:
        if self.checks > _MAX_CHECKS:
            return LimitExceeded("the SQLite file asks for too much work", place=self.place)
        return DamagedRecord(f"a damaged SQLite file ({shortened(str(error), 120)})", place=self.place)


def text_of(value: object) -> str | None:
    """Text of a column, None for anything else."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else None
