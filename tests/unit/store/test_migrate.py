"""A store of each older version opens, keeps its rows and its ledger, and gets what is new."""

from __future__ import annotations

import io
import tarfile

import duckdb
import pytest
import zstandard

import samework as sw
from samework.store import migrate
from samework.store.connection import open_store
from samework.store.verify import verify_store
from samework.store.version import APPLICATION_ID, SCHEMA_VERSION

VERSIONS = range(1, SCHEMA_VERSION)


def _taken_back_to_version_one(path) -> None:
    """Undo what later migrations made, so that the file is what the first program wrote."""
    with duckdb.connect(str(path / "store.duckdb")) as db:
        db.execute("DROP TABLE main.token_rank")
        db.execute("DROP TABLE main.patch_edit")
        db.execute("INSERT OR REPLACE INTO meta VALUES ('schema_version', '1')")
    (path / "format").write_text(f"{APPLICATION_ID} 1\n")


@pytest.mark.parametrize("read_only", [True, False])
def test_a_store_of_the_first_version_is_migrated_and_is_still_whole(filled, read_only):
    with open_store(filled, read_only=True) as handle:
        before = handle.db.execute("from event order by all").fetchall()
    _taken_back_to_version_one(filled)
    with open_store(filled, read_only=read_only) as handle:
        assert migrate.schema_version(handle.db) == SCHEMA_VERSION
        assert handle.db.execute("from event order by all").fetchall() == before
        assert handle.db.execute("from token_rank").fetchall() == []
    assert verify_store(filled) == []
    assert (filled / "format").read_text().split()[1] == str(SCHEMA_VERSION)


def test_every_older_version_leads_to_the_present_one():
    for version in VERSIONS:
        with duckdb.connect() as db:
            migrate.migrate(db, to=version)
            migrate.migrate(db)
            assert migrate.schema_version(db) == SCHEMA_VERSION


@pytest.fixture
def store_of_version_one(tmp_path, root):
    """The small fixtures and five Codex runs as the first program stored them: a file that is never made anew."""
    packed = (root / "tests" / "unit" / "store" / "old" / "store-v1.tar.zst").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(zstandard.ZstdDecompressor().decompress(packed))) as archive:
        archive.extractall(tmp_path, filter="data")
    if (tmp_path / ".samework" / "objects.git").exists():
        (tmp_path / ".samework" / "objects.git" / "refs").mkdir(exist_ok=True)
    return sw.open(tmp_path / ".samework")


def test_a_store_that_the_first_program_wrote_says_the_same_today(store_of_version_one, tmp_path, root):
    fresh = sw.create(tmp_path / "fresh" / ".samework")
    fresh.ingest(root / "fixtures" / "codex-fix-add")
    fresh.ingest(root / "fixtures" / "small")
    old = store_of_version_one
    assert [run.run_id for run in old.runs()] == [run.run_id for run in fresh.runs()]
    assert old.classes() == fresh.classes()
    places = [
        sorted((fork.task, fork.step, fork.event, fork.origin, fork.consequence) for fork in store.forks())
        for store in (old, fresh)
    ]
    assert places[0] == places[1] != []
    assert old.verify() == []
    assert (old.path / "format").read_text().split()[1] == str(SCHEMA_VERSION)


def test_a_store_of_version_one_takes_in_more_and_knows_what_it_has(store_of_version_one, tmp_path, root):
    assert store_of_version_one.ingest(root / "fixtures" / "codex-fix-add").n_new == 0
    (tmp_path / "more.jsonl").write_text('{"kind": "user", "text": "go"}\n{"kind": "completion", "text": "no"}\n')
    assert store_of_version_one.ingest(tmp_path / "more.jsonl").n_new == 1
    assert store_of_version_one.verify() == []


def test_an_older_store_answers_a_query_at_once(store_of_version_one):
    assert store_of_version_one.query("SELECT count(*) AS n FROM runs").rows[0][0] > 0
    assert store_of_version_one.verify() == []


def test_a_repair_says_that_older_batches_are_in_no_journal(store_of_version_one, tmp_path):
    (tmp_path / "more.jsonl").write_text('{"kind": "user", "text": "go"}\n{"kind": "completion", "text": "no"}\n')
    store_of_version_one.ingest(tmp_path / "more.jsonl")
    made = store_of_version_one.repair()
    assert (made.n_runs, [lost.path for lost in made.lost]) == (1, ["all before batch 3"])
