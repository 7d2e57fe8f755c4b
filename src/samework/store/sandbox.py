"""Answer a user's SQL in a child process that can read the store and nothing else.

The child opens the store read-only, without access to files or settings, under limits of address space, processor time
and written bytes, and is killed when its time is over. One SELECT (or EXPLAIN) is answered; all else is refused.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec
import pyarrow as pa

from samework import errors
from samework.errors import LimitExceeded, SameworkError, UsageError
from samework.store.connection import bring_up_to_date
from samework.text import storable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DEFAULT_ROWS: Final = 10_000
DEFAULT_SECONDS: Final = 60.0
DEFAULT_MEMORY_BYTES: Final = 3 << 30
DEFAULT_ANSWER_BYTES: Final = 256 << 20
_START_SECONDS: Final = 10.0
_MOST_SECONDS: Final = 86_400.0
_MOST_ROWS: Final = 1 << 40


class SandboxLimits(msgspec.Struct, frozen=True):
    """Bounds of one query. memory_bytes: address space of the child. answer_bytes: of its rows in memory."""

    rows: int = DEFAULT_ROWS
    seconds: float = DEFAULT_SECONDS
    memory_bytes: int = DEFAULT_MEMORY_BYTES
    answer_bytes: int = DEFAULT_ANSWER_BYTES


class SandboxAnswer(msgspec.Struct, frozen=True):
    """Rows of a query. table: an Arrow table. types: SQL types of its columns. truncated: there were more rows."""

    table: Any
    types: tuple[str, ...]
    truncated: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order; a name may occur twice."""
        return tuple(self.table.column_names)

    @property
    def rows(self) -> list[tuple[object, ...]]:
        """Rows as Python values; whole numbers of any size are `int`."""
        columns = [[_plain(value) for value in column.to_pylist()] for column in self.table.columns]
        return list(zip(*columns, strict=True))


def run_sql(
    root: Path,
    text: str,
    *,
    limits: SandboxLimits | None = None,
    extra: Mapping[str, pa.Table] | None = None,
) -> SandboxAnswer:
    """Answer one query over the documented views of the store at `root`.

    Args:
        root: the `.samework` directory. It is not opened in this process.
        text: SQL of the user.
        limits: bounds; `SandboxLimits()` where None.
        extra: tables that the child shall see under these names, in the place of views of the same name.

    Raises: UsageError: the SQL is refused or wrong. LimitExceeded: a bound was met. StoreError: it does not open.
    """
    bounds = limits or SandboxLimits()
    if not 0 < bounds.seconds <= _MOST_SECONDS:
        raise UsageError(f"a query is given more than 0 and at most {_MOST_SECONDS:,.0f} s, not {bounds.seconds:g}")
    if storable(text) != text:
        raise UsageError("the query is no text: it holds bytes that are no UTF-8", code="sql")
    bounds = msgspec.structs.replace(bounds, rows=min(bounds.rows, _MOST_ROWS))
    bring_up_to_date(root)
    request = _request(root, text, bounds, extra or {})
    command = [sys.executable, "-I", "-m", "samework.store.sandbox_child"]
    with subprocess.Popen(  # noqa: S603 (our own interpreter and module)
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_ENVIRONMENT, cwd="/"
    ) as child:
        try:
            answer, _ = child.communicate(request, timeout=bounds.seconds + _START_SECONDS)
        except subprocess.TimeoutExpired:
            _refuse_time(bounds)
        finally:
            child.kill()
    return _answer(answer, child.returncode, bounds)


_ENVIRONMENT: Final = {
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def _request(
    root: Path,
    text: str,
    limits: SandboxLimits,
    extra: Mapping[str, pa.Table],
) -> bytes:
    tables = {}
    for name, table in extra.items():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        tables[name] = sink.getvalue().to_pybytes()
    head = {
        "root": str(root.resolve()),
        "sql": text,
        "limits": msgspec.to_builtins(limits),
        "extra": {name: len(data) for name, data in tables.items()},
    }
    return json.dumps(head).encode("ascii") + b"\n" + b"".join(tables.values())


def _answer(answer: bytes, status: int, limits: SandboxLimits) -> SandboxAnswer:
    head, _, body = answer.partition(b"\n")
    if not head and status in {-signal.SIGALRM, -signal.SIGXCPU}:
        _refuse_time(limits)
    if not head:
        raise LimitExceeded(
            f"the query ended its process (status {status}) without an answer, as one does that needs more memory than "
            f"{limits.memory_bytes >> 20} MiB",
            hint="Narrow it with WHERE, or aggregate.",
            code="query-limit",
        )
    facts = json.loads(head)
    if "error" in facts:
        _raise(facts)
    with pa.ipc.open_stream(body) as reader:
        table = reader.read_all()
    return SandboxAnswer(table, tuple(facts["types"]), bool(facts["truncated"]))


def _raise(facts: dict[str, Any]) -> NoReturn:
    kind = getattr(errors, facts["kind"], UsageError)
    if not issubclass(kind, SameworkError):
        kind = UsageError
    raise kind(facts["message"], place=facts["place"], effect=facts["effect"], hint=facts["hint"], code=facts["error"])


def _refuse_time(limits: SandboxLimits) -> NoReturn:
    raise LimitExceeded(
        f"the query took longer than {limits.seconds:g} s and was ended",
        hint="Narrow it with WHERE, or aggregate.",
        code="query-limit",
    )


def _plain(value: object) -> object:
    if isinstance(value, Decimal) and value == value.to_integral_value() and value.as_tuple().exponent == 0:
        return int(value)
    return value
