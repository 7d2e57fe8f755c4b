"""Questions in SQL: hand them to the sandboxed child, list the saved ones, write answers to files."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from samework.api.details import NamedQuery, QueryResult
from samework.api.files import writing
from samework.api.redacting import redacted_table
from samework.errors import NotFound
from samework.store import sql
from samework.store.sandbox import DEFAULT_ROWS, DEFAULT_SECONDS, SandboxLimits, run_sql
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import TextIO

_NOT_WRITTEN = "the answer cannot be written"
_STORE = "samework.store"


def query(
    path: Path, text: str, *, limit: int | None = None, seconds: float | None = None, redact: bool = False
) -> QueryResult:
    """Rows of one query of the user, answered by the child process.

    Args:
        path: the store, which nobody in this process may hold open.
        text: see `Store.query`, as the others.
        limit: at most so many rows.
        seconds: the time after which the child is ended.
        redact: take what looks like a secret out of the rows.

    Raises: UsageError, LimitExceeded, StoreError.
    """
    from samework.api.engine_views import engine_views

    limits = SandboxLimits(
        rows=DEFAULT_ROWS if limit is None else limit, seconds=DEFAULT_SECONDS if seconds is None else seconds
    )
    answer = run_sql(path, text, limits=limits, extra=engine_views(path, text))
    n_redacted = 0
    if redact:
        table, n_redacted = redacted_table(answer.table)
        answer = replace(answer, table=table)
    return QueryResult(answer.columns, tuple(answer.rows), answer.truncated, answer.table, n_redacted)


def named_queries(name: str | None = None) -> list[NamedQuery]:
    """Saved queries by name; with a name only that one. Raises NotFound, with the known names."""
    known = sql.names(_STORE, "named")
    if name is not None and name not in known:
        raise NotFound(
            f"no saved query is named {shortened(name, 60)!r}; known: {', '.join(known)}",
            hint="samework query --list",
            code="no-named-query",
        )
    return [_named(found) for found in known if name in (None, found)]


def _named(name: str) -> NamedQuery:
    text = sql.load(_STORE, f"named/{name}")
    said, _, _ = sql.header(text).replace("\n", " ").partition(" Parameters:")
    title = said.partition(":")[2].strip()
    return NamedQuery(name, title[:1].upper() + title[1:], text)


def write_parquet(result: QueryResult, out: Path) -> None:
    """Write an answer as Parquet, with the types that the database gave. Raises InputError where it cannot."""
    import pyarrow.parquet as pq

    with writing(out, _NOT_WRITTEN):
        pq.write_table(result.table, out, compression="zstd")


@contextmanager
def answer_file(out: Path) -> Iterator[TextIO]:
    """A text file for an answer, open for writing. Raises InputError where it cannot be written."""
    with writing(out, _NOT_WRITTEN), out.open("w", encoding="utf-8", newline="") as stream:
        yield stream
