"""Rows of one run, kept as tuples until its key is known, then handed to the writer as columns.

Refuses to know what a row means; the columns are those of store/tables.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from samework.store.ddl import tables_by_name
from samework.text import storable_bytes

if TYPE_CHECKING:
    from samework.store.write import BatchWriter


@cache
def row_columns(table: str) -> tuple[str, ...]:
    """Columns of a table in order, without the run's key.

    >>> row_columns("run_outcome")
    ('name', 'value')
    """
    return tuple(name for name in tables_by_name()[table].model_fields if name != "run_key")


class RunRows:
    """Rows of one run by table. n_bytes: text held back, for deciding when to flush."""

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[object, ...]]] = {}
        self.body_keys: list[bytes] = []
        self.body_texts: list[bytes] = []
        self.n_bytes = 0

    def table(self, name: str) -> list[tuple[object, ...]]:
        """The rows of a table: tuples in the order of `row_columns`."""
        return self.rows.setdefault(name, [])

    def body(self, key: bytes, raw: bytes) -> None:
        """A body of text under the sha256 of its raw bytes."""
        self.body_keys.append(key)
        self.body_texts.append(storable_bytes(raw))
        self.n_bytes += len(raw)

    def flush(self, writer: BatchWriter, run_key: int) -> None:
        """Hand everything to the writer and forget it."""
        for table, rows in self.rows.items():
            if rows:
                columns: dict[str, list[object] | tuple[object, ...]] = {"run_key": [run_key] * len(rows)}
                columns.update(zip(row_columns(table), zip(*rows, strict=True), strict=True))
                writer.append(table, columns)
                rows.clear()
        if self.body_keys:
            writer.append_bodies(self.body_keys, self.body_texts)
            self.body_keys, self.body_texts = [], []
        self.n_bytes = 0
