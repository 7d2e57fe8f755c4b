"""A store of each older version opens, keeps its rows and its ledger, and gets what is new."""

from __future__ import annotations

import duckdb
import pytest

from samework.store import migrate
from samework.store.connection import open_store
from samework.store.verify import verify_store
from samework.store.version import APPLICATION_ID, SCHEMA_VERSION

VERSIONS = range(1, SCHEMA_VERSION)


def _taken_back_to_version_one(path) -> None:
    """Undo what later migrations made, so that the file is what the first program wrote."""
    with duckdb.connect(str(path / "store.duckdb")) as db:
        db.execute("DROP TABLE main.token_rank")
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
