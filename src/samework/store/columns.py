"""Columns of Python values as Arrow tables with the types of the store. Refuses columns that a table does not have."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from samework.store import ddl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_ARROW_TYPES: Final = {
    "BIGINT": pa.int64(),
    "VARCHAR": pa.string(),
    "BLOB": pa.binary(),
    "BOOLEAN": pa.bool_(),
    "DOUBLE": pa.float64(),
}


class ArrowChunk:
    """A name under which DuckDB sees whichever Arrow table is set.

    Registering a new table for each chunk would keep every chunk alive until the transaction ends, for the catalogue
    keeps old versions; this one is registered once and hands out its present table.
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.table.schema.__arrow_c_schema__()


@cache
def arrow_schema(table: str) -> pa.Schema:
    """Arrow schema of a table of the store."""
    columns = ddl.column_types(ddl.tables_by_name()[table])
    return pa.schema(
        [pa.field(name, _ARROW_TYPES[sql_type], nullable) for name, (sql_type, nullable) in columns.items()]
    )


@cache
def defaults(table: str) -> dict[str, object]:
    """Column -> value for columns that may be left out."""
    return ddl.column_defaults(ddl.tables_by_name()[table])


def empty_table(table: str) -> pa.Table:
    """No rows, right types."""
    schema = arrow_schema(table)
    return pa.Table.from_arrays([array([], field.type) for field in schema], schema=schema)


def n_rows(table: str, columns: Mapping[str, Sequence[object]]) -> int:
    """Number of rows of some columns, after a check of their names and lengths.

    Raises: ValueError: unknown or missing columns, or unequal lengths: mistakes of the program.
    """
    schema = arrow_schema(table)
    unknown = columns.keys() - set(schema.names)
    missing = set(schema.names) - columns.keys() - defaults(table).keys()
    if unknown or missing:
        raise ValueError(f"{table}: unknown columns {sorted(unknown)}, missing columns {sorted(missing)}")
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        raise ValueError(f"{table}: columns of unequal length")
    return lengths.pop()


def arrow_table(table: str, columns: Mapping[str, Sequence[object]]) -> pa.Table:
    """An Arrow table with all columns of `table`, in order, left-out ones filled with their default.

    Raises: TypeError, OverflowError, UnicodeEncodeError: a value has the wrong type. pyarrow.ArrowInvalid: NULL where
    it may not be.
    """
    schema = arrow_schema(table)
    count = n_rows(table, columns)
    arrays = []
    for field in schema:
        if field.name in columns:
            column = array(columns[field.name], field.type)
        else:
            column = pa.repeat(pa.scalar(defaults(table)[field.name], field.type), count)
        if not field.nullable and column.null_count:
            raise pa.ArrowInvalid(f"{table}.{field.name} holds a NULL")
        arrays.append(column)
    return pa.Table.from_arrays(arrays, schema=schema)


def array(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    """A column of Python values, None for NULL.

    Made from buffers: Arrow's own conversion looks for pandas first, and importing it takes longer than most ingests.

    Raises: TypeError, OverflowError, UnicodeEncodeError: a value that the type cannot hold.
    """
    validity = None
    n_null = values.count(None)
    if n_null and n_null == len(values):
        return pa.nulls(n_null, kind)
    if n_null:
        present = np.array([value is not None for value in values])
        validity = pa.py_buffer(np.packbits(present, bitorder="little"))
        filler = _FILLERS[kind]
        values = [filler if value is None else value for value in values]
    if kind in (pa.string(), pa.binary()):
        data, offsets = _joined(values, is_text=isinstance(values[0], str) if values else False)
        buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(data)]
    elif kind == pa.bool_():
        if not set(map(type, values)) <= {bool}:
            raise TypeError("not a boolean")
        buffers = [validity, pa.py_buffer(np.packbits(np.array(values, np.bool_), bitorder="little"))]
    elif kind == pa.int64():
        if not set(map(type, values)) <= {int, bool}:
            raise TypeError("not an integer")
        buffers = [validity, pa.py_buffer(np.array(values, np.int64))]
    else:
        buffers = [validity, pa.py_buffer(np.array(values, np.float64))]
    return pa.Array.from_buffers(kind, len(values), buffers, n_null)


_FILLERS: Final[dict[pa.DataType, object]] = {
    pa.string(): "",
    pa.binary(): b"",
    pa.bool_(): False,
    pa.int64(): 0,
    pa.float64(): 0.0,
}


def _joined(values: Sequence[object], *, is_text: bool) -> tuple[bytes, NDArray[np.int32]]:
    """Bytes of all values, and where each begins; texts are joined and encoded at once."""
    lengths = np.fromiter(map(len, values), np.int32, len(values))  # type: ignore[arg-type]
    if is_text:
        data = "".join(values).encode("utf-8")  # type: ignore[arg-type]
        if int(lengths.sum(dtype=np.int64)) != len(data):
            lengths = np.array([len(value.encode("utf-8")) for value in values], np.int32)  # type: ignore[attr-defined]
    else:
        data = b"".join(values)  # type: ignore[arg-type]
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return data, offsets
