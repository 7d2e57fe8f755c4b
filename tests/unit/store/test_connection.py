from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import pytest

from samework.errors import NotFound, StoreDamaged, StoreError, StoreLocked
from samework.store.connection import create_store, find_store, is_store, open_store

if TYPE_CHECKING:
    from pathlib import Path

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
