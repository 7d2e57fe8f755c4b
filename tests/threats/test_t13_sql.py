"""T13: SQL of a user reads the store and nothing else, within limits of time, memory and rows; filters are values."""

from __future__ import annotations

import resource
import runpy
import time
from pathlib import Path

import pytest

import samework as sw
from samework.errors import SameworkError
from tests.command import new_store, samework

BENCH = runpy.run_path(str(Path(__file__).resolve().parents[2] / "bench" / "query_limits.py"))
SECONDS = 2.0


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("t13")
    (place / "run.jsonl").write_text('{"kind":"user","text":"go"}\n{"kind":"end"}\n')
    made = new_store(place)
    assert samework("ingest", place / "run.jsonl", store=made).returncode == 0
    return made


@pytest.mark.parametrize("statement", BENCH["STATEMENTS"], ids=lambda statement: statement.sql[:48])
def test_each_statement_is_refused_or_bounded(statement: tuple[str, str], store: Path) -> None:
    """Code, time, and the peak of memory of every child so far, which is thereby bounded for each."""
    sql, wanted = statement
    out, db = store.parent / "out", store / "store.duckdb"
    before = db.read_bytes(), sorted(store.rglob("*"))
    began = time.monotonic()
    try:
        sw.open(store).query(sql.replace("{out}", str(out)).replace("{db}", str(db)), seconds=SECONDS)
        found = BENCH["ROWS"]
    except SameworkError as error:
        found = error.code
    assert found == wanted
    assert time.monotonic() - began < SECONDS + BENCH["START_SECONDS"]
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024 < BENCH["MEMORY_MIB"]
    assert not out.exists()
    assert (db.read_bytes(), sorted(store.rglob("*"))) == before


def test_the_command_says_so_in_a_sentence_and_a_code(store: Path) -> None:
    for sql, code in (
        ("COPY (SELECT 1) TO 'x'", "sql-refused"),
        ("SELECT len(list(range(1000000000)))", "query-limit"),
    ):
        done = samework("query", sql, store=store)
        assert done.returncode == 2
        assert f"[{code}]" in done.stderr
        assert done.stdout == ""


@pytest.mark.parametrize("words", [("runs", "--task"), ("forks", "--task"), ("gate", "--candidate", "x", "--baseline")])
def test_a_filter_is_a_value(words: tuple[str, ...], store: Path) -> None:
    done = samework(*words, "name' OR 1=1 --", store=store)
    assert done.returncode == 2
    assert "known" in done.stderr
