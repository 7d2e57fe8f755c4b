from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from samework.errors import NotFound, SameworkError, StoreDamaged, StoreError, StoreLocked
from samework.store.connection import create_store, find_store, is_store, open_store
from samework.store.verify import verify_store

if TYPE_CHECKING:
    from collections.abc import Callable

_HOLD = (
    "import sys; from pathlib import Path; from samework.store.connection import open_store\n"
    "handle = open_store(Path(sys.argv[1]), read_only=sys.argv[2] == 'r'); print('held', flush=True); sys.stdin.read()"
)


def _held(path: Path, mode: str) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path), mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def _let_go(child: subprocess.Popen[str]) -> None:
    child.communicate("")


def test_a_new_store_is_a_store_and_leaves_nothing_aside(tmp_path: Path) -> None:
    path = tmp_path / "deep" / ".samework"
    create_store(path).close()
    assert is_store(path)
    assert [entry.name for entry in path.parent.iterdir()] == [".samework"]
    assert not list(path.glob("*.wal"))


def test_a_second_store_is_not_made_over_the_first(filled: Path) -> None:
    with pytest.raises(StoreError, match="there is a store already"):
        create_store(filled)


def test_a_store_is_found_upward(tmp_path: Path, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMEWORK_STORE", raising=False)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find_store(below) == filled


def test_the_environment_names_the_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SAMEWORK_STORE", str(tmp_path / "elsewhere"))
    assert find_store() == tmp_path / "elsewhere"


def test_no_store_says_how_to_make_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMEWORK_STORE", raising=False)
    with pytest.raises(NotFound, match="samework init"):
        find_store(tmp_path)


@pytest.mark.parametrize(("theirs", "ours"), [("w", True), ("w", False), ("r", False)])
def test_a_held_store_names_the_process_that_holds_it(filled: Path, theirs: str, ours: bool) -> None:
    child = _held(filled, theirs)
    try:
        with pytest.raises(StoreLocked) as caught:
            open_store(filled, read_only=ours)
        assert f"another process (pid {child.pid}, " in caught.value.message
        assert "python" in caught.value.message
        assert "\n" not in caught.value.message
    finally:
        _let_go(child)


def test_readers_do_not_keep_each_other_out(filled: Path) -> None:
    child = _held(filled, "r")
    try:
        with open_store(filled, read_only=True) as handle:
            assert handle.db.execute("SELECT count(*) FROM runs").fetchall() == [(2,)]
    finally:
        _let_go(child)


def test_one_process_in_two_modes_is_told_so(filled: Path) -> None:
    with open_store(filled, read_only=False), pytest.raises(StoreLocked, match=f"pid {os.getpid()}"):
        open_store(filled, read_only=True)


def test_a_newer_store_is_refused_untouched(filled: Path) -> None:
    (filled / "format").write_text("samework 99\n")
    before = (filled / "store.duckdb").read_bytes()
    with pytest.raises(StoreError, match="schema version 99"):
        open_store(filled, read_only=False)
    assert (filled / "store.duckdb").read_bytes() == before


def test_the_version_inside_the_database_counts_too(filled: Path) -> None:
    with open_store(filled, read_only=False) as handle:
        handle.db.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    with pytest.raises(StoreError, match="schema version 99"):
        open_store(filled, read_only=True)


def test_a_foreign_database_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / ".samework"
    path.mkdir()
    duckdb.connect(str(path / "store.duckdb")).close()
    with pytest.raises(StoreError, match="no store of samework"):
        open_store(path, read_only=True)
    (path / "format").write_text("samework 1\n")
    with pytest.raises(StoreError, match="no store of samework"):
        open_store(path, read_only=True)


def test_views_of_a_foreign_file_are_never_what_a_query_runs(filled: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("word")
    db = duckdb.connect(str(filled / "store.duckdb"))
    db.execute(f"CREATE OR REPLACE VIEW runs AS SELECT content AS run_id FROM read_text('{secret}')")
    db.close()
    with open_store(filled, read_only=True) as handle:
        assert handle.db.execute("SELECT count(*) FROM runs").fetchall() == [(2,)]
        with pytest.raises(duckdb.PermissionException):
            handle.db.execute("SELECT * FROM store.main.runs").fetchall()


@pytest.mark.parametrize(
    ("what", "statements"),
    [
        ("macro 'hex'", ["CREATE MACRO hex(x) AS 'h'"]),
        ("macro '+'", ['CREATE MACRO "+"(a, b) AS 7']),
        ("macro 'lower'", ["CREATE SCHEMA theirs", "CREATE MACRO theirs.lower(x) AS 'h'"]),
        ("view 'run'", ["ALTER TABLE run RENAME TO old", "CREATE VIEW run AS FROM old, range(1000000000000)"]),
        ("view 'theirs'", ["CREATE VIEW theirs AS SELECT 1"]),
        ("type 'mood'", ["CREATE TYPE mood AS ENUM ('a')"]),
        ("index 'key'", ["CREATE INDEX key ON event (seq)"]),
        ("rule of the table 'late'", ["CREATE TABLE late (a INT, b INT GENERATED ALWAYS AS (a + 1))"]),
        (
            "trigger 'late'",
            ["CREATE TABLE log (a INT)",
             "CREATE TRIGGER late AFTER INSERT ON run FOR EACH STATEMENT INSERT INTO log VALUES (1)"],
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("read_only", [True, False])
def test_what_would_run_and_is_not_ours_is_refused(
    filled: Path, what: str, statements: list[str], read_only: bool
) -> None:
    with duckdb.connect(str(filled / "store.duckdb")) as db:
        for statement in statements:
            db.execute(statement)
    with pytest.raises(StoreDamaged, match=re.escape(f"the database holds the {what}, which is not of this program")):
        open_store(filled, read_only=read_only)


@pytest.mark.parametrize(
    "made",
    ["CREATE VIEW meta AS FROM kept, range(1000000000000)",
     "CREATE TABLE meta (key TEXT, text TEXT, value TEXT GENERATED ALWAYS AS (lower(text)))"],
)  # fmt: skip
def test_what_says_whose_store_it_is_must_be_a_plain_table(filled: Path, made: str) -> None:
    with duckdb.connect(str(filled / "store.duckdb")) as db:
        db.execute("CREATE TABLE kept AS FROM meta")
        db.execute("DROP TABLE meta")
        db.execute(made)
        if "text" in made:
            db.execute("INSERT INTO meta FROM kept")
    with pytest.raises(StoreError, match="no store of samework"):
        open_store(filled, read_only=True)


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\0" + bytes(8176)])
def test_another_kind_of_file_is_not_given_to_the_database(filled: Path, data: bytes) -> None:
    (filled / "store.duckdb").write_bytes(data)
    for read_only in (True, False):
        with pytest.raises(StoreDamaged, match="it is no DuckDB file"):
            open_store(filled, read_only=read_only)
    assert (filled / "store.duckdb").read_bytes() == data


_FILES = ["acknowledged.json", "journal.jsonl", "seal.json", "files.jsonl", "store.duckdb.wal", "checkpoint.blocks"]


@pytest.mark.parametrize("name", [*_FILES, "acknowledged.json.tmp"])
def test_a_pipe_or_a_link_in_the_place_of_a_file_is_refused(filled: Path, tmp_path: Path, name: str) -> None:
    other = tmp_path / "other"
    other.write_text("mine\n")
    for make in (os.mkfifo, lambda path: path.symlink_to(other)):
        (filled / name).unlink(missing_ok=True)
        make(filled / name)
        for read_only in (True, False):
            with pytest.raises(StoreDamaged, match=f"{re.escape(name)} is no regular file"):
                open_store(filled, read_only=read_only)
        assert verify_store(filled)[0].what == f"{name} is no regular file"
    assert other.read_text() == "mine\n"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_a_marker_that_does_not_end_is_none(filled: Path, make: Callable[[Path], None]) -> None:
    (filled / "format").unlink()
    make(filled / "format")
    assert not is_store(filled)
    with pytest.raises(StoreError, match="no store of samework"):
        open_store(filled, read_only=True)


@pytest.mark.parametrize("name", ["acknowledged.json", "seal.json", "files.jsonl"])
def test_a_file_that_is_nested_without_end_is_damage(filled: Path, name: str) -> None:
    (filled / name).write_text("[" * 200_000 + "]" * 200_000 + "\n")
    assert any(finding.where == name or name in finding.what for finding in verify_store(filled))


def test_a_place_that_is_taken_says_what_to_do(filled: Path) -> None:
    (filled / "store.duckdb").unlink()
    for call in (create_store, partial(open_store, read_only=True)):
        with pytest.raises(SameworkError) as caught:
            call(filled)
        assert "samework repair" in str(caught.value.hint)
    (filled / "journal.jsonl").unlink()
    with pytest.raises(StoreError, match="something lies there that is no whole store") as caught:
        create_store(filled)
    assert "Move it away" in str(caught.value.hint)


def test_a_place_that_the_database_cannot_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the path is no UTF-8"):
        create_store(tmp_path / "x\udcff")
    assert list(tmp_path.iterdir()) == []


def test_a_working_directory_that_is_gone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMEWORK_STORE", raising=False)
    (tmp_path / "gone").mkdir()
    with chdir(tmp_path / "gone"):
        (tmp_path / "gone").rmdir()
        for call in (find_store, partial(create_store, Path("x")), partial(open_store, Path("x"), read_only=True)):
            with pytest.raises(NotFound, match="the directory that this was called from is gone"):
                call()
        os.chdir(tmp_path)


def test_bytes_that_are_no_database_are_damage(filled: Path) -> None:
    (filled / "store.duckdb").write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreDamaged):
        open_store(filled, read_only=True)


def test_no_connection_reads_or_writes_another_file(filled: Path, tmp_path: Path) -> None:
    for read_only in (True, False):
        with open_store(filled, read_only=read_only) as handle:
            for query in ("FROM read_text('/etc/hostname')", f"COPY (SELECT 1) TO '{tmp_path}/out'", "INSTALL json"):
                with pytest.raises((duckdb.PermissionException, duckdb.Error)):
                    handle.db.execute(query)
    assert not (tmp_path / "out").exists()


def test_a_reader_does_not_load_the_typed_schema() -> None:
    code = "import sys, samework.store.connection as c, samework.store.sandbox_child; print('sqlmodel' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"


def test_the_command_line_shows_help_without_the_database() -> None:
    code = "import sys, samework.cli.app; print({'duckdb', 'pyarrow', 'sqlmodel'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "set()\n"
