"""The child of `sandbox`: limits itself, opens the store read-only, answers one statement, writes it to stdout.

Runs as `python -I -m samework.store.sandbox_child`. Reads one line of JSON, then Arrow streams; writes one line of
JSON, then an Arrow stream.
"""

from __future__ import annotations

import json
import math
import os
import re
import resource
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyarrow as pa

from samework.errors import LimitExceeded, SameworkError, UsageError
from samework.store.connection import first_line, open_store
from samework.store.migrate import install_tables
from samework.store.sandbox import SandboxLimits
from samework.store.sql import quoted
from samework.text import visible

if TYPE_CHECKING:
    from samework.store.connection import StoreHandle

_WIDE_INTEGERS: Final = frozenset({"HUGEINT", "UHUGEINT"})
_MOMENT: Final = re.compile(r"DATE|TIME|INTERVAL")
_NANOSECONDS: Final = re.compile(r"(?:timestamp|time64)\[ns")
_N_THREADS: Final = 2
_N_FILES: Final = 64
_ALLOWED: Final = frozenset({duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN})


def main() -> None:
    """Answer the request on stdin."""
    out = os.fdopen(os.dup(1), "wb")
    request = json.loads(sys.stdin.buffer.readline())
    limits = SandboxLimits(**request["limits"])
    extra = {name: _table(sys.stdin.buffer.read(size)) for name, size in request["extra"].items()}
    _confine(limits)
    try:
        head, table = _answer(request, limits, extra)
    except SameworkError as error:
        _write(out, {**error.as_dict(), "kind": type(error).__name__}, None)
        return
    _write(out, head, table)


def _confine(limits: SandboxLimits) -> None:
    seconds = max(1, math.ceil(limits.seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_N_FILES, _N_FILES))
    resource.setrlimit(resource.RLIMIT_CPU, (_N_THREADS * seconds, _N_THREADS * seconds))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limits.seconds)


def _answer(
    request: dict[str, Any], limits: SandboxLimits, extra: dict[str, pa.Table]
) -> tuple[dict[str, object], pa.Table]:
    handle = open_store(Path(request["root"]), read_only=True)
    try:
        _harden(handle, limits, extra)
        return _rows(handle, request["sql"], limits)
    except (duckdb.OutOfMemoryException, MemoryError, pa.ArrowMemoryError) as error:
        raise LimitExceeded(
            f"the query needs more memory than {limits.memory_bytes >> 20} MiB",
            hint="Narrow it with WHERE, or aggregate.",
            code="query-limit",
        ) from error
    except (duckdb.PermissionException, duckdb.InvalidInputException) as error:
        raise UsageError(
            f"the query asks for what it may not have: {first_line(error)}",
            hint="A query reads the views of the store and nothing else.",
            code="sql-refused",
        ) from error
    except (duckdb.Error, pa.ArrowException, OverflowError) as error:
        raise UsageError(
            f"the query is wrong: {visible(str(error)[:2000])}",
            hint="docs/schema.md describes the views.",
            code="sql",
        ) from error


def _harden(handle: StoreHandle, limits: SandboxLimits, extra: dict[str, pa.Table]) -> None:
    db = handle.db
    install_tables(db, extra)
    for setting in (
        f"memory_limit = '{limits.memory_bytes // 3 >> 20}MiB'",
        f"threads = {_N_THREADS}",
        "lock_configuration = true",
    ):
        db.execute(f"SET {setting}")


def _rows(handle: StoreHandle, text: str, limits: SandboxLimits) -> tuple[dict[str, object], pa.Table]:
    statements = duckdb.extract_statements(text)
    if len(statements) != 1:
        raise UsageError(f"one statement is answered, {len(statements)} were given", code="sql-refused")
    if statements[0].type not in _ALLOWED:
        raise UsageError(
            f"only SELECT is answered, not {statements[0].type.name}",
            hint="A query reads the views of the store and changes nothing.",
            code="sql-refused",
        )
    answer = handle.db.sql(text)
    if answer is None:
        raise UsageError("the statement gives no rows", code="sql-refused")
    types = [str(kind) for kind in answer.types]
    answer = answer.limit(limits.rows + 1)
    if not _WIDE_INTEGERS.isdisjoint(types):
        answer = answer.project(
            ", ".join(_narrowed(*column) for column in enumerate(zip(answer.columns, types, strict=True)))
        )
    table = _told(handle, answer.to_arrow_table(), types)
    if table.nbytes > limits.answer_bytes:
        raise LimitExceeded(
            f"the answer has {table.nbytes >> 20} MiB, more than {limits.answer_bytes >> 20} MiB",
            hint="Ask for fewer rows or columns.",
            code="query-limit",
        )
    head: dict[str, object] = {"types": types, "truncated": table.num_rows > limits.rows}
    return head, table.slice(0, limits.rows)


def _narrowed(place: int, column: tuple[str, str]) -> str:
    """Arrow knows no 128-bit integers and would make them floating."""
    name, kind = column
    value = f"CAST(#{place + 1} AS DECIMAL(38, 0))" if kind in _WIDE_INTEGERS else f"#{place + 1}"
    return f"{value} AS {quoted(name)}"


def _told(handle: StoreHandle, table: pa.Table, types: list[str]) -> pa.Table:
    """The table with each column that holds a moment beyond the calendar of Python as the database's text of it."""
    places = [place for place, kind in enumerate(types) if _MOMENT.search(kind) and not _is_told(table.column(place))]
    for place in places:
        column = table.select([place])
        text = handle.db.from_arrow(column).project("CAST(#1 AS VARCHAR)").to_arrow_table().column(0)
        table = table.set_column(place, table.column_names[place], text)
    return table


def _is_told(column: pa.ChunkedArray) -> bool:
    """False for infinity, for years before 1 and after 9999, and for nanoseconds."""
    if _NANOSECONDS.search(str(column.type)):
        return False
    try:
        column.to_pylist()
    except (OverflowError, ValueError):
        return False
    return True


def _table(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()


def _write(out: Any, head: dict[str, object], table: pa.Table | None) -> None:
    out.write(json.dumps(head).encode("ascii") + b"\n")
    if table is not None:
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
    out.flush()


if __name__ == "__main__":
    main()
