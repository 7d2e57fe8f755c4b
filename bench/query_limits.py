"""What `samework query` answers to SQL that wants files, settings, other databases, or all time and memory.

Usage: python bench/query_limits.py [--seconds 5]. Each statement goes through the installed command on a small store.
Prints statement, answer (the code of the refusal, or rows), seconds from start to end of the command, and the peak of
its memory and of the child's, MiB. Exits with 1 where a statement is answered otherwise than it should be, a bound is
passed, or a file came to be.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

COMMAND = str(Path(sys.executable).with_name("samework"))
REFUSED, WRONG, BOUNDED, ROWS = "sql-refused", "sql", "query-limit", "rows"
START_SECONDS = 10.0
MEMORY_MIB = 3072 + 512
_OTHER = "/etc/hostname"


class Statement(NamedTuple):
    """SQL with {out} for a path that must not come to be and {db} for the store's own file, and the right answer."""

    sql: str
    answer: str


def _refused(*statements: str) -> list[Statement]:
    return [Statement(sql, REFUSED) for sql in statements]


FILES = _refused(
    f"FROM read_text('{_OTHER}')",
    f"FROM read_blob('{_OTHER}')",
    f"FROM read_csv('{_OTHER}')",
    f"FROM read_json('{_OTHER}')",
    f"FROM sniff_csv('{_OTHER}')",
    "FROM glob('/etc/*')",
    f"FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''{_OTHER}'')'))",
    f"FROM query('FROM read_text(''{_OTHER}'')')",
    "COPY (SELECT 1) TO '{out}'",
    "COPY (SELECT 1) TO '{db}'",
    f"COPY runs FROM '{_OTHER}'",
    "EXPORT DATABASE '{out}'",
    "IMPORT DATABASE '{out}'",
    "ATTACH '{out}' AS x",
    "ATTACH ':memory:' AS x",
    "DETACH store",
    "USE memory",
)
FILES.append(Statement(f"FROM '{_OTHER}'", WRONG))  # there is no such table, and no file is looked for
SETTINGS = _refused(
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '20GB'",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET log_query_path = '{out}'",
    "SET temp_directory = '{out}'",
    "SET enable_logging = true",
    "SET VARIABLE x = 1",
    "RESET memory_limit",
    "PRAGMA database_list",
    "PRAGMA enable_profiling",
    "CALL enable_logging()",
    "CREATE SECRET x (TYPE http)",
)
WRITES = _refused(
    "CREATE TABLE x AS SELECT 1",
    "CREATE TEMP TABLE x AS SELECT 1",
    "CREATE MACRO x() AS 1",
    "INSERT INTO meta VALUES ('a', 'b')",
    "UPDATE run SET task = 'x'",
    "DELETE FROM run",
    "DROP TABLE run",
    "CHECKPOINT",
    "BEGIN",
    "SELECT 1; DELETE FROM run",
    "SELECT 1; SELECT 2",
    "PREPARE x AS SELECT 1",
    "EXPLAIN ANALYZE DELETE FROM run",
    "",
)
WITHOUT_END = [
    Statement("SELECT len(list(range(1000000000)))", BOUNDED),
    Statement("SELECT len(repeat('x', 3000000000))", BOUNDED),
    Statement("SELECT string_agg(repeat('x', 1000000)) FROM range(10000)", BOUNDED),
    Statement("SELECT repeat('x', 1000000) FROM range(1000)", BOUNDED),
    Statement("SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE (a.range * b.range) % 7 = 3", BOUNDED),
    Statement("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r", BOUNDED),
    Statement("SELECT count(*) FROM range(1000000000000)", BOUNDED),
    Statement("SELECT levenshtein(repeat('a', 300000), repeat('b', 300000))", BOUNDED),
    Statement("EXPLAIN ANALYZE SELECT count(*) FROM range(1000000000000)", BOUNDED),
    Statement("SELECT a.range FROM range(100000) a, range(100000) b ORDER BY random()", BOUNDED),
    Statement(f"SELECT {'(' * 20000}1{')' * 20000}", WRONG),
    Statement(f"SELECT 1{' + 1' * 20000}", WRONG),
]
READS = [  # what a reader of the store may know: its own bytes, where it lies, how many rows it is given
    Statement("SELECT octet_length(content) FROM read_blob('{db}')", ROWS),
    Statement("FROM duckdb_databases()", ROWS),
    Statement("FROM range(100000000)", ROWS),
    Statement("SELECT run_id FROM runs WHERE task = 'name'' OR 1=1 --'", ROWS),
]
STATEMENTS = [*FILES, *SETTINGS, *WRITES, *WITHOUT_END, *READS]


def shown(sql: str) -> str:
    """A statement, short."""
    return sql if len(sql) <= 74 else f"{sql[:60]} ... ({len(sql)})"


def asked(sql: str, store: Path, seconds: float) -> tuple[str, float, float]:
    """Code of the answer, seconds, and peak memory (MiB) of the command and of its child, whichever is larger."""
    words = [COMMAND, "query", sql, "--json", "--store", str(store), "--seconds", str(seconds)]
    begun = time.perf_counter()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    took = time.perf_counter() - begun
    answer = ROWS if child.returncode == 0 else json.loads(said)["error"]
    return answer, took, used.ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    seconds = parser.parse_args().seconds
    n_bad = 0
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / ".samework"
        (Path(folder) / "run.jsonl").write_text('{"kind":"user","text":"go"}\n{"kind":"end"}\n')
        for words in (["init"], ["ingest", str(Path(folder) / "run.jsonl")]):
            subprocess.run([COMMAND, *words, "--store", str(store)], check=True, capture_output=True)
        database = (store / "store.duckdb").read_bytes()
        before = sorted(Path(folder).rglob("*"))
        print(f"{'statement':<78} {'answer':<12} {'seconds':>7} {'MiB':>6}")
        for statement in STATEMENTS:
            sql = statement.sql.replace("{out}", f"{folder}/out").replace("{db}", str(store / "store.duckdb"))
            answer, took, peak = asked(sql, store, seconds)
            is_bad = answer != statement.answer or took > seconds + START_SECONDS or peak > MEMORY_MIB
            n_bad += is_bad
            print(
                f"{shown(statement.sql):<78} {answer:<12} {took:7.2f} {peak:6.0f}{'  !' if is_bad else ''}", flush=True
            )
        is_kept = sorted(Path(folder).rglob("*")) == before and (store / "store.duckdb").read_bytes() == database
    print(f"{len(STATEMENTS)} statements, {n_bad} answered wrongly; files {'as before' if is_kept else 'CHANGED'}")
    return int(n_bad > 0 or not is_kept)


if __name__ == "__main__":
    sys.exit(main())
