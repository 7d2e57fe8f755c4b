"""Hash everything again and hold it against what was written: rows, texts, sources, keys, references.

Reads only. A finding is a place and a sentence; no findings is a whole store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

import duckdb
import msgspec

from samework.errors import StoreDamaged, StoreError
from samework.store import ddl, journal, ledger, seal, sql, witness
from samework.store.connection import StoreHandle, first_line, open_store
from samework.store.files import DATABASE_NAME, OBJECTS_NAMES, SOURCES_NAME, unreadable
from samework.store.sql import quoted
from samework.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PACKAGE: Final = "samework.store"
ObjectsCheck = Callable[["Path", Collection[str]], Iterable[tuple[str, str]]]
"""Called with the path of `objects.git` and the ids of trees that must be held; yields a database and a sentence."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that is not as it was written. where: file or table. what: a sentence."""

    where: str
    what: str


def verify_store(path: Path, *, objects_check: ObjectsCheck | None = None) -> list[Finding]:
    """Check a whole store.

    Args:
        path: the `.samework` directory.
        objects_check: called where there are Git objects, or trees that name some.

    Raises: NotFound, StoreLocked: there is nothing to check, or it cannot be opened now.
        StoreError: it is of a newer version, or no store of samework.
    """
    try:
        handle = open_store(path, read_only=True, check_witness=False)
    except StoreDamaged as error:
        found, trees = [Finding(DATABASE_NAME, error.message)], []
    else:
        try:
            found = list(_database_findings(handle))
            trees = _held_trees(handle) if not found else []
        finally:
            handle.release()
    found += _source_findings(path)
    found += _journal_findings(path)
    found += _seal_findings(path, found)
    if objects_check is not None and (trees or any((path / name).exists() for name in OBJECTS_NAMES)):
        found += [Finding(name, what) for name, what in objects_check(path / OBJECTS_NAMES[0], trees)]
    return found


def _database_findings(handle: StoreHandle) -> Iterator[Finding]:
    checks = (_witness_findings, _ledger_findings, _text_findings, _key_findings, _orphan_findings, _missing_sources)
    for check in checks:
        try:
            yield from check(handle)
        except duckdb.Error as error:
            yield Finding(DATABASE_NAME, f"its blocks do not read: {first_line(error)}")
            return


def _witness_findings(handle: StoreHandle) -> Iterator[Finding]:
    try:
        lost = witness.difference(handle.db, handle.root)
    except OSError as error:
        lost = f"{witness.WITNESS_NAME}: {unreadable(error)}"
    if lost is not None:
        yield Finding(DATABASE_NAME, lost)


def _ledger_findings(handle: StoreHandle) -> Iterator[Finding]:
    recorded = ledger.recorded_shares(handle.db)
    for table in ledger.counted_tables():
        told = recorded.get(table, ledger.Share())
        held = ledger.held_share(handle.db, table)
        if held.n_rows != told.n_rows:
            yield Finding(table, f"{held.n_rows} rows are held, the ledger counts {told.n_rows}")
        elif held != told:
            yield Finding(table, "its rows hash to another digest than the ledger's: some row was changed")


def _text_findings(handle: StoreHandle) -> Iterator[Finding]:
    for (digest,) in handle.db.execute(sql.load(_PACKAGE, "queries/changed_bodies")).fetchall():
        yield Finding("body", f"the text under {digest} hashes to something else")


def _key_findings(handle: StoreHandle) -> Iterator[Finding]:
    for name, table in ddl.tables_by_name().items():
        if name not in ddl.BULK_TABLES:
            continue
        key = ", ".join(map(quoted, ddl.primary_key(table)))
        query = f"SELECT count(*) FROM (SELECT 1 FROM main.{quoted(name)} GROUP BY {key} HAVING count(*) > 1)"  # noqa: S608
        ((doubled,),) = handle.db.execute(query).fetchall()
        if doubled:
            yield Finding(name, f"{doubled} keys ({key.replace(chr(34), '')}) occur more than once")


def _orphan_findings(handle: StoreHandle) -> Iterator[Finding]:
    for name, query in sql.scripts(_PACKAGE, "orphans"):
        ((count,),) = handle.db.execute(query).fetchall()
        if count:
            table, _, missing = name.partition("-without-")
            yield Finding(table, f"{count} rows without their {missing}")


def _missing_sources(handle: StoreHandle) -> Iterator[Finding]:
    rows = handle.db.execute("SELECT DISTINCT lower(hex(source_sha256)) FROM main.source WHERE status = 'ingested'")
    for (digest,) in rows.fetchall():
        try:
            is_held = handle.sources.has(digest)
        except StoreError as error:
            yield Finding(SOURCES_NAME, error.message)
            return
        if not is_held:
            yield Finding(f"sources/{digest}", "the ingested bytes are not held")


def _held_trees(handle: StoreHandle) -> list[str]:
    """Ids of the trees that were kept when a tree was taken; of an asserted one nothing was ever held."""
    return [str(oid) for (oid,) in handle.db.execute(sql.load(_PACKAGE, "queries/held_trees")).fetchall()]


def _source_findings(path: Path) -> Iterator[Finding]:
    from samework.store.sources import SourceStore

    sources = SourceStore(path / SOURCES_NAME)
    for stray in sources.strays():
        yield Finding(f"sources/{stray.parent.name}/{visible(stray.name, one_line=True)}", "no source lies there")
    for digest, what in sources.verify():
        yield Finding(f"sources/{digest}", what)


def _journal_findings(path: Path) -> Iterator[Finding]:
    """Lines that are not what was written, and batches without a line; a store older than journals has none."""
    if not (path / journal.JOURNAL_NAME).exists():
        return
    try:
        told = journal.read(path)
    except OSError as error:
        yield Finding(journal.JOURNAL_NAME, unreadable(error))
        return
    for number in told.damaged:
        yield Finding(journal.JOURNAL_NAME, f"line {number} is not what was written")
    for number in [] if told.damaged else journal.missing_batches(told, witness.last_batch(path)):
        yield Finding(journal.JOURNAL_NAME, f"no line tells of batch {number}")


def _seal_findings(path: Path, found: list[Finding]) -> list[Finding]:
    """Files whose bytes changed although nothing that is read from them did; said only where nothing else is."""
    told = {finding.where for finding in found}
    return [
        Finding(name, what)
        for name, what in dict.fromkeys(seal.differences(path))
        if not told or ("/" in name and f"sources/{PurePath(name).stem}" not in told)
    ]
