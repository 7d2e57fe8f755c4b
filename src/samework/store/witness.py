"""The last acknowledged batch, kept in a small file beside the database.

DuckDB opens without a word when its log was lost, cut or swapped; the rows of the last batches are then simply absent,
and the ledger inside the database is absent with them. The witness outside remembers them.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

from samework.errors import StoreDamaged
from samework.store import files, sql
from samework.text import visible

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

WITNESS_NAME: Final = "acknowledged.json"


def write(db: duckdb.DuckDBPyConnection, root: Path) -> None:
    """Remember the ledger as it now is. To be called after the checkpoint, never before."""
    batch, digest = _ledger_state(db, None)
    aside = root / f"{WITNESS_NAME}.tmp"
    with aside.open("w", encoding="ascii") as stream:
        json.dump({"batch": batch, "ledger_sha256": digest}, stream)
        stream.flush()
        os.fsync(stream.fileno())
    aside.replace(root / WITNESS_NAME)


def check(db: duckdb.DuckDBPyConnection, root: Path) -> None:
    """Refuse a database that lacks batches, or holds other ones, than were acknowledged.

    Batches beyond the witness are right: they were committed, and the program ended before it could say so.

    Raises: StoreDamaged: batches are missing or differ. OSError: the witness cannot be read.
    """
    finding = difference(db, root)
    if finding is not None:
        raise StoreDamaged(
            finding,
            place=visible(str(root), one_line=True),
            effect="Runs of those batches are not in the database.",
            hint="`samework verify` says more; restore a backup, or ingest the files again into a new store.",
        )


def difference(db: duckdb.DuckDBPyConnection, root: Path) -> str | None:
    """What the database lacks of the acknowledged batches, as a sentence; None where nothing.

    Raises: OSError: the witness cannot be read.
    """
    try:
        kept = files.decoded(files.read_small(root / WITNESS_NAME))
        batch, digest = int(kept["batch"]), str(kept["ledger_sha256"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return f"{WITNESS_NAME} is damaged"
    have, held_digest = _ledger_state(db, batch)
    if have < batch:
        return f"batch {batch} was written, but the database ends at batch {have}: its write-ahead log is lost or cut"
    return None if held_digest == digest else "the ledger of batches differs from the one that was acknowledged"


def last_batch(root: Path) -> int:
    """The last batch that was acknowledged; 0 where nothing readable says."""
    try:
        return int(files.decoded(files.read_small(root / WITNESS_NAME))["batch"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _ledger_state(db: duckdb.DuckDBPyConnection, batch: int | None) -> tuple[int, str]:
    last, digest = db.execute(sql.load("samework.store", "queries/ledger_state"), {"batch": batch}).fetchall()[0]
    return int(last), str(digest)
