from __future__ import annotations

import os
import random
import shutil
from typing import TYPE_CHECKING

import duckdb
import pytest

from samework.errors import StoreDamaged
from samework.store.backup import LIST_NAME, backup, check_backup
from samework.store.connection import open_store
from samework.store.verify import verify_store
from samework.store.write import BatchWriter

from .conftest import append_run, source_row

if TYPE_CHECKING:
    from pathlib import Path


def _places(path: Path) -> set[str]:
    return {finding.where for finding in verify_store(path)}


def _edit(path: Path, statement: str) -> None:
    with duckdb.connect(str(path / "store.duckdb")) as db:
        db.execute(statement)


def test_a_whole_store_has_no_findings(filled: Path) -> None:
    assert verify_store(filled) == []


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ("DELETE FROM event WHERE seq = 2 AND run_key = 1", "event"),
        ("UPDATE call SET name = 'sh' WHERE seq = 0 AND run_key = 2", "call"),
        ("UPDATE run SET complete = false WHERE run_key = 1", "run"),
        ("UPDATE body SET text = 'dans' WHERE text = 'done'", "body"),
        ("DELETE FROM body WHERE text = 'done'", "event"),
        ("DELETE FROM run WHERE run_key = 1", "event"),
        ("INSERT INTO event SELECT * FROM event WHERE seq = 0", "event"),
        ("DELETE FROM source", "run"),
        ("UPDATE ingest_ledger SET n_rows = n_rows + 1 WHERE table_name = 'body'", "store.duckdb"),
    ],
)
def test_a_changed_row_is_found(filled: Path, statement: str, where: str) -> None:
    _edit(filled, statement)
    assert where in _places(filled)


def test_a_flipped_bit_in_the_database_is_found(filled: Path) -> None:
    draw = random.Random(7)
    whole = (filled / "store.duckdb").read_bytes()
    blocks = [start for start in range(0, len(whole), 4096) if any(whole[start : start + 4096])]
    for _ in range(24):
        place = min(draw.choice(blocks) + draw.randrange(4096), len(whole) - 1)
        damaged = bytearray(whole)
        damaged[place] ^= 1 << draw.randrange(8)
        (filled / "store.duckdb").write_bytes(damaged)
        if verify_store(filled) == []:
            # A bit in bytes that no block uses: what is held reads back as it was written.
            with open_store(filled, read_only=True) as handle:
                assert handle.db.execute("SELECT count(*) FROM event").fetchall() == [(6,)]


def test_a_changed_or_missing_source_is_found(filled: Path) -> None:
    (kept,) = (filled / "sources").glob("??/*.zst")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])
    assert _places(filled) == {f"sources/{kept.stem}"}
    kept.unlink()
    assert [finding.what for finding in verify_store(filled)] == ["the ingested bytes are not held"]


def test_a_database_of_an_earlier_time_is_found(filled: Path, tmp_path: Path) -> None:
    shutil.copy(filled / "store.duckdb", tmp_path / "old")
    with open_store(filled, read_only=False) as handle, BatchWriter(handle) as writer:
        writer.begin()
        source = source_row(handle, b"second")
        append_run(writer, source, ["x"])
        writer.commit([source])
    shutil.copy(tmp_path / "old", filled / "store.duckdb")
    with pytest.raises(StoreDamaged, match="batch 2 was written, but the database ends at batch 1"):
        open_store(filled, read_only=True)
    assert "store.duckdb" in _places(filled)


def test_a_lost_log_is_found(filled: Path, tmp_path: Path) -> None:
    """A batch that lies only in the log, acknowledged all the same, as another program could leave it."""
    shutil.copy(filled / "store.duckdb", tmp_path / "old")
    with open_store(filled, read_only=False) as handle, BatchWriter(handle) as writer:
        writer.begin()
        writer.append("run_outcome", {"run_key": [1], "name": ["resolved"], "value": ["true"]})
        writer.commit()
    shutil.copy(tmp_path / "old", filled / "store.duckdb")
    assert any("write-ahead log is lost or cut" in finding.what for finding in verify_store(filled))


def test_a_damaged_witness_is_found(filled: Path) -> None:
    (filled / "acknowledged.json").write_text("{")
    assert [finding.what for finding in verify_store(filled)] == ["acknowledged.json is damaged"]


def test_objects_are_checked_by_whom_the_caller_names(filled: Path) -> None:
    (filled / "objects.git").mkdir()
    found = verify_store(filled, objects_check=lambda path, trees: [(path.name, f"{len(trees)} trees are bad")])
    assert [(finding.where, finding.what) for finding in found] == [("objects.git", "0 trees are bad")]


def test_a_backup_restores_to_a_store_that_verifies(filled: Path, tmp_path: Path) -> None:
    made = backup(filled, tmp_path / "copy.tar")
    shutil.unpack_archive(made.path, tmp_path / "restored", "tar", filter="data")
    assert verify_store(tmp_path / "restored" / ".samework") == []
    assert LIST_NAME not in check_backup(tmp_path / "copy.tar")
    assert {entry.name for entry in tmp_path.iterdir()} == {".samework", "copy.tar", "restored"}


def test_a_damaged_store_is_not_backed_up(filled: Path, tmp_path: Path) -> None:
    _edit(filled, "DELETE FROM event WHERE seq = 2")
    with pytest.raises(StoreDamaged):
        backup(filled, tmp_path / "copy.tar")
    assert not (tmp_path / "copy.tar").exists()


def test_a_file_that_lies_where_no_source_does_is_found(filled: Path) -> None:
    (kept,) = (filled / "sources").glob("??/*.zst")
    other = filled / "sources" / ("00" if kept.parent.name != "00" else "01")
    other.mkdir()
    shutil.copy(kept, other / kept.name)
    (other / "x.zst").write_bytes(b"")
    assert {(finding.where, finding.what) for finding in verify_store(filled)} == {
        (f"sources/{other.name}/{name}", "no source lies there") for name in (kept.name, "x.zst")
    }


def test_a_pipe_in_the_place_of_a_source_does_not_hold_us(filled: Path) -> None:
    (kept,) = (filled / "sources").glob("??/*.zst")
    kept.unlink()
    os.mkfifo(kept)
    what = "it cannot be read: it is no regular file"
    assert [(finding.where, finding.what) for finding in verify_store(filled)] == [(f"sources/{kept.stem}", what)]
