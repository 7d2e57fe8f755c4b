"""T14: a DuckDB file of another is no store; what it holds is never run, even where it claims to be one."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import duckdb
import pytest

from tests.command import new_store, samework

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = (("runs",), ("query", "from runs"), ("verify",), ("report", "-o", "x.html"), ("scan",), ("classes",))


@pytest.mark.parametrize("marker", [None, "samework 1\n", "samework 99\n", "other 1\n", "\x00" * 200])
def test_another_database_is_refused_by_every_command(marker: str | None, tmp_path: Path) -> None:
    store = tmp_path / ".samework"
    store.mkdir()
    with duckdb.connect(str(store / "store.duckdb")) as db:
        db.execute("create table run (x int); create view runs as select * from read_text('/etc/hostname')")
    if marker is not None:
        (store / "format").write_text(marker)
    for words in COMMANDS:
        done = samework(*words, store=store, cwd=tmp_path)
        assert done.returncode == 2, words
        assert done.stderr.strip() or done.stdout.strip(), words
    assert not (tmp_path / "x.html").exists()


def test_a_view_or_macro_put_into_a_store_reads_no_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the-word")
    store = new_store(tmp_path)
    for name in ("runs", "events", "bodies"):
        copy = tmp_path / name / ".samework"
        shutil.copytree(store, copy)
        with duckdb.connect(str(copy / "store.duckdb")) as db:
            db.execute(f"create or replace view {name} as select content as run_id from read_text('{secret}')")
            db.execute(f"create or replace macro lower(x) as (select content from read_text('{secret}'))")
        for words in (*COMMANDS, ("query", f"from store.main.{name}"), ("query", "select lower('x')")):
            done = samework(*words, store=copy, cwd=tmp_path)
            assert "the-word" not in done.stdout + done.stderr, words
        assert samework("verify", store=copy).returncode == 2, "a changed store is said to be whole"
