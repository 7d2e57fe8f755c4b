"""Write batches of rows: Arrow chunks into DuckDB, one transaction per batch, with the ledger of what was written.

Usage, exactly::

    with BatchWriter(handle) as writer:          # rolls back if the block raises
        writer.begin()
        run_key = writer.next_key("run")         # also "test_report", "defect"
        writer.append("run", {"run_key": [run_key], "run_id": ["0123456789abcdef"], ...})
        writer.append("event", {"run_key": [...], "seq": [...], ...})   # any number of rows, plain lists
        writer.append_bodies([sha256, ...], [text, ...])                # bytes, and str or UTF-8; doubles cost little
        writer.append_table("event", 7, rows)    # an Arrow table of the run 7
        writer.replace("run", {...})             # whole rows instead of those with the same primary key
        writer.delete("manifest_field", "run_key", [run_key])
        writer.read("SELECT ...", {"name": 1})   # rows, with what this batch wrote before
        batch = writer.commit([{"source_sha256": ..., "settings_sha256": ..., "path": ..., ...}])   # no "batch" in it
        writer.begin()                           # the next batch

`append` takes column lists: columns that may be NULL or have a default in `tables.py` may be left out. `bytes` for
BLOB, `int`, `str` (through `text.storable`: lone surrogates are refused by Arrow), `bool`. Lists are copied. Chunks are
written by a thread of the writer while the caller goes on; an error in it is raised by the next call. `handle.db` sees
a batch only after `commit`. Nothing of a batch is in the store before `commit` returns, and all of it is afterwards.

Best: append whole runs or a few hundred rows a call; commit after about 64 MB of text or 500 small sources.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Self

import duckdb
import pyarrow as pa
from pyarrow import compute

from samework.errors import StoreError
from samework.store import columns as arrow
from samework.store import ddl, journal, ledger, witness
from samework.store.connection import first_line
from samework.store.files import remedy
from samework.store.sql import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from samework.store.connection import StoreHandle

_CHUNK_ROWS: Final = 16_384
_CHUNK_BYTES: Final = 4 << 20
_N_QUEUED: Final = 4
_N_REMEMBERED_BODIES: Final = 1 << 18
KEYS: Final = {"run": "run_key", "test_report": "report_key", "defect": "defect_key"}


class BatchWriter:
    """Writes batches to a store opened for writing; see the module's usage."""

    def __init__(self, handle: StoreHandle) -> None:
        if handle.read_only:
            raise StoreError("the store is open for reading only")
        self.handle = handle
        self._db = handle.cursor()
        self._chunks: dict[str, arrow.ArrowChunk] = {}
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._queue: deque[Future[None]] = deque()
        self._open = False
        self._reset()

    def _reset(self) -> None:
        self._pending: dict[str, dict[str, list[object]]] = {}
        self._tables: dict[str, list[pa.Table]] = {}
        self._n_pending: dict[str, int] = {}
        self._body_bytes = 0
        self._seen_bodies: set[bytes] = set()
        self._must_probe = True
        self._shares: dict[str, ledger.Share] = {}
        self._keys: dict[str, int] = {}
        self.batch = 0

    def begin(self) -> int:
        """Begin a batch; returns its number, which goes into the ledger and the source rows."""
        if self._open:
            raise ValueError("a batch is open already")
        self._reset()
        self._db.execute("BEGIN TRANSACTION")
        self._open = True
        for table, column in KEYS.items():
            query = f"SELECT coalesce(max({quoted(column)}), 0) FROM main.{quoted(table)}"  # noqa: S608 (own names)
            self._keys[table] = self._scalar(query)
        self._must_probe = self._scalar("SELECT count(*) FROM main.body") > 0
        self.batch = 1 + self._scalar("SELECT coalesce(max(batch), 0) FROM main.ingest_ledger")
        return self.batch

    def next_key(self, name: str) -> int:
        """The next free number for a "run", "test_report" or "defect", from 1."""
        self._keys[name] += 1
        return self._keys[name]

    def append(self, table: str, columns: Mapping[str, Sequence[object]]) -> None:
        """Add rows, given as columns of equal length.

        Raises: ValueError: columns are unknown, missing or unequal. StoreError: an earlier chunk could not be written.
        """
        count = arrow.n_rows(table, columns)
        if count == 0:
            return
        if table == "body":
            self.append_bodies(columns["sha256"], columns["text"])  # type: ignore[arg-type]
            return
        pending = self._pending.get(table)
        if pending is not None and pending.keys() != columns.keys():
            self._flush(table)
            pending = None
        if pending is None:
            pending = self._pending[table] = {name: [] for name in columns}
        for name, values in columns.items():
            pending[name].extend(values)
        self._n_pending[table] = self._n_pending.get(table, 0) + count
        if self._n_pending[table] >= _CHUNK_ROWS:
            self._flush(table)

    def append_bodies(self, sha256: Sequence[bytes], text: Sequence[str] | Sequence[bytes]) -> None:
        """Add bodies of text, or of its UTF-8, under the sha256 of their raw bytes; those held are left alone."""
        pending = self._pending.setdefault("body", {"sha256": [], "text": []})
        seen = self._seen_bodies
        for key, body in zip(sha256, text, strict=True):
            if key in seen:
                continue
            seen.add(key)
            pending["sha256"].append(key)
            pending["text"].append(body)
            self._body_bytes += len(body)
            if self._body_bytes >= _CHUNK_BYTES:
                self._flush("body")
                pending = self._pending.setdefault("body", {"sha256": [], "text": []})
        self._forget_bodies()

    def append_table(self, table: str, run_key: int, rows: pa.Table) -> None:
        """Add rows of one run that are an Arrow table already, of the types of `columns.arrow_schema`.

        run_key: put into the column of that name; bodies, which have none, are added where they are not held.
        """
        if table == "body":
            rows = self._fresh_bodies(rows)
        else:
            place = rows.schema.get_field_index("run_key")
            rows = rows.set_column(place, rows.schema.field(place), pa.repeat(pa.scalar(run_key), rows.num_rows))
        if not rows.num_rows:
            return
        self._tables.setdefault(table, []).append(rows)
        self._n_pending[table] = self._n_pending.get(table, 0) + rows.num_rows
        if self._n_pending[table] >= _CHUNK_ROWS or (table == "body" and self._body_bytes >= _CHUNK_BYTES):
            self._flush(table)
        self._forget_bodies()

    def _fresh_bodies(self, rows: pa.Table) -> pa.Table:
        seen = self._seen_bodies
        is_fresh = []
        for key in rows["sha256"].to_pylist():
            is_fresh.append(key not in seen)
            seen.add(key)
        fresh = rows if all(is_fresh) else rows.filter(arrow.array(is_fresh, pa.bool_()))
        self._body_bytes += fresh.nbytes
        return fresh

    def _forget_bodies(self) -> None:
        """Beyond a bound, which bodies this batch brought is asked of the database."""
        if len(self._seen_bodies) > _N_REMEMBERED_BODIES:
            self._flush("body")
            self._seen_bodies.clear()
            self._must_probe = True

    def delete(self, table: str, column: str, values: Sequence[object]) -> int:
        """Delete rows whose column is one of some values; returns how many."""
        sql_type, _ = ddl.column_types(ddl.tables_by_name()[table])[column]
        return self._delete_where(table, f"{quoted(column)} IN (SELECT unnest(?::{sql_type}[]))", [list(values)])

    def replace(self, table: str, columns: Mapping[str, Sequence[object]]) -> None:
        """Put whole rows in the place of those with the same primary key."""
        key = ddl.primary_key(ddl.tables_by_name()[table])
        condition = " AND ".join(f"{quoted(name)} = ?" for name in key)
        for row in zip(*(columns[name] for name in key), strict=True):
            self._delete_where(table, condition, list(row))
        self.append(table, columns)

    def read(
        self, query: str, parameters: Mapping[str, object] | Sequence[object] | None = None
    ) -> list[tuple[object, ...]]:
        """Rows of a query of our own that sees this batch."""
        self._flush_all()
        return self._db.execute(query, parameters).fetchall()

    def commit(self, sources: Sequence[Mapping[str, object]] = (), acts: Sequence[journal.Act] = ()) -> int:
        """Write the source rows, the ledger and the journal, commit, bring the file to rest; returns the batch.

        Args:
            sources: rows of `source`, without their batch.
            acts: what was done in this batch, for `repair` to do again: {"do": "ingest" | "attach" | "rows", ...}.

        Raises: StoreError: the disk is full or the database refused; nothing of the batch is in the store.
        """
        for source in sources:
            self.append("source", {name: [value] for name, value in {**source, "batch": self.batch}.items()})
        self._flush_all()
        written = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [
            [self.batch, table, share.n_rows, share.digest, written]
            for table, share in sorted(self._shares.items())
            if share != ledger.Share()
        ]
        try:
            if rows:
                self._db.executemany("INSERT INTO main.ingest_ledger VALUES (?, ?, ?, ?, ?)", rows)
            journal.append(self.handle.root, self.batch, acts)
            with self.handle.checkpointing():  # a large batch is committed by a checkpoint of its own
                self._db.execute("COMMIT")
        except (duckdb.Error, OSError) as error:
            self.rollback()
            raise StoreError(f"the batch could not be committed: {first_line(error)}", hint=remedy(error)) from error
        self._open = False
        try:
            self.handle.checkpoint()
            witness.write(self._db, self.handle.root)
        except (duckdb.Error, OSError) as error:
            raise StoreError(
                f"the batch is committed, but the store could not be brought to rest: {first_line(error)}",
                hint=" ".join(filter(None, (remedy(error), "The next command that writes does it."))),
            ) from error
        return self.batch

    def rollback(self) -> None:
        """Forget the batch."""
        while self._queue:
            self._queue.popleft().exception()
        if self._open:
            self._open = False
            with suppress(duckdb.Error):  # a failed commit has ended it, or the database gave up: nothing is written
                self._db.execute("ROLLBACK")
        self._reset()

    def close(self) -> None:
        """Roll back what is open and end the writer's thread."""
        self.rollback()
        self._worker.shutdown()
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if isinstance(error, duckdb.Error):
            raise StoreError(f"the database gave up: {first_line(error)}", hint=remedy(error)) from error

    def _scalar(self, query: str) -> int:
        return int(self._db.execute(query).fetchall()[0][0])

    def _flush(self, table: str) -> None:
        pending = self._pending.pop(table, None)
        tables = self._tables.pop(table, [])
        self._n_pending[table] = 0
        if table == "body":
            self._body_bytes = 0
        if pending:
            try:
                tables.append(arrow.arrow_table(table, pending))
            except (pa.ArrowInvalid, TypeError, OverflowError, UnicodeEncodeError) as error:
                raise ValueError(f"{table}: {error}") from error
        if not any(rows.num_rows for rows in tables):
            return
        rows = pa.concat_tables(tables)
        while len(self._queue) >= _N_QUEUED:
            self._wait()
        must_probe = table == "body" and self._must_probe  # as of now: what comes later may repeat what is in this
        self._queue.append(self._worker.submit(self._write, table, rows, must_probe=must_probe))

    def _flush_all(self) -> None:
        for table in [*self._pending, *self._tables]:
            self._flush(table)
        while self._queue:
            self._wait()

    def _wait(self) -> None:
        try:
            self._queue.popleft().result()
        except duckdb.Error as error:
            self.rollback()
            raise StoreError(f"rows could not be written: {first_line(error)}", hint=remedy(error)) from error

    def _write(self, table: str, rows: pa.Table, *, must_probe: bool) -> None:
        name = f"chunk_{table}"
        chunk = self._chunks.get(table)
        if chunk is None:
            chunk = self._chunks[table] = arrow.ArrowChunk(rows)
            self._db.register(name, chunk)
        chunk.table = rows
        if must_probe:
            chunk.table = rows = self._new_bodies(chunk, rows)
        share = ledger.read_share(self._db, ledger.share_query(table, name))
        self._db.execute(f"INSERT INTO main.{quoted(table)} SELECT * FROM {name}")  # noqa: S608 (own names)
        self._shares[table] = self._shares.get(table, ledger.Share()) + share
        chunk.table = arrow.empty_table(table)

    def _new_bodies(self, chunk: arrow.ArrowChunk, rows: pa.Table) -> pa.Table:
        texts = rows["text"]
        chunk.table = rows.set_column(1, "text", pa.repeat("", len(texts)))  # the texts need not travel to be known
        query = "SELECT sha256 FROM main.body SEMI JOIN chunk_body USING (sha256)"
        known = self._db.execute(query).fetchall()
        if not known:
            return rows
        held = arrow.array([row[0] for row in known], pa.binary())
        return rows.filter(compute.invert(compute.is_in(rows["sha256"], value_set=held)))

    def _delete_where(self, table: str, condition: str, values: list[object]) -> int:
        self._flush_all()
        share = ledger.read_share(self._db, ledger.share_query(table, f"main.{quoted(table)}", condition), values)
        if share.n_rows:
            self._db.execute(f"DELETE FROM main.{quoted(table)} WHERE {condition}", values)  # noqa: S608 (own names)
            self._shares[table] = self._shares.get(table, ledger.Share()) - share
        return share.n_rows
