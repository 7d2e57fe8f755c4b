from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from samework.errors import LimitExceeded, NotFound, StoreLocked, UsageError
from samework.store.connection import open_store
from samework.store.sandbox import SandboxLimits, run_sql

if TYPE_CHECKING:
    from pathlib import Path

_OTHERS_FILES = [
    "FROM read_text('/etc/hostname')",
    "FROM read_blob('/etc/hostname')",
    "FROM read_csv('/etc/hostname')",
    "FROM glob('/etc/*')",
    "FROM '/etc/hostname'",
    "FROM 'x.parquet'",
    "FROM sniff_csv('/etc/hostname')",
]
_STATEMENTS = [
    "COPY (SELECT 1) TO '{out}'",
    "EXPORT DATABASE '{out}'",
    "IMPORT DATABASE '{out}'",
    "ATTACH '{out}'",
    "INSTALL httpfs",
    "LOAD json",
    "SET memory_limit = '20GB'",
    "SET VARIABLE x = 1",
    "RESET memory_limit",
    "PRAGMA database_list",
    "CALL enable_logging()",
    "CREATE TABLE x AS SELECT 1",
    "CREATE TEMP TABLE x AS SELECT 1",
    "CREATE SECRET x (TYPE http)",
    "INSERT INTO meta VALUES ('a', 'b')",
    "UPDATE run SET task = 'x'",
    "DELETE FROM run",
    "DROP TABLE run",
    "CHECKPOINT",
    "SELECT 1; DELETE FROM run",
    "BEGIN",
    "",
]


def test_rows_come_with_names_and_types(filled: Path) -> None:
    answer = run_sql(
        filled, "SELECT arm, sum(n_steps) AS steps, DATE '2026-01-02' AS day FROM runs GROUP BY arm ORDER BY arm"
    )
    assert answer.columns == ("arm", "steps", "day")
    assert answer.types == ("VARCHAR", "HUGEINT", "DATE")
    assert answer.rows == [("a", 3, dt.date(2026, 1, 2)), ("b", 3, dt.date(2026, 1, 2))]


def test_whole_numbers_stay_whole_and_broken_ones_broken(filled: Path) -> None:
    query = "SELECT 170141183460469231731::HUGEINT AS a, 1.50::DECIMAL(5, 2) AS b"
    ((whole, broken),) = run_sql(filled, query).rows
    assert whole == 170141183460469231731
    assert str(broken) == "1.50"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("'infinity'::TIMESTAMP", "infinity"),
        ("'-infinity'::DATE", "-infinity"),
        ("'290000-01-01'::TIMESTAMP", "290000-01-01 00:00:00"),
        ("'-4000-01-01'::DATE", "4001-01-01 (BC)"),
        ("['infinity'::DATE]", "[infinity]"),
        ("'2026-01-02 03:04:05.123456789'::TIMESTAMP_NS", "2026-01-02 03:04:05.123456789"),
    ],
)
def test_a_moment_beyond_the_calendar_is_the_text_of_the_database(filled: Path, value: str, text: str) -> None:
    answer = run_sql(filled, f"SELECT {value} AS at, 1 AS n")
    assert answer.columns == ("at", "n")
    assert answer.rows == [(text, 1)]


def test_limits_without_bound_are_bounded(filled: Path) -> None:
    assert run_sql(filled, "SELECT 1 AS n", limits=SandboxLimits(rows=1 << 70)).rows == [(1,)]
    for seconds in (float("inf"), float("nan"), 1e300, 0.0):
        with pytest.raises(UsageError, match="at most 86,400 s"):
            run_sql(filled, "SELECT 1 AS n", limits=SandboxLimits(seconds=seconds))


def test_a_query_that_is_no_utf8_says_so(filled: Path) -> None:
    with pytest.raises(UsageError, match="no UTF-8"):
        run_sql(filled, "SELECT '\udcff'")


def test_more_rows_than_the_limit_are_cut_and_said_to_be(filled: Path) -> None:
    answer = run_sql(filled, "FROM range(100)", limits=SandboxLimits(rows=5))
    assert (len(answer.rows), answer.truncated) == (5, True)
    assert not run_sql(filled, "FROM range(5)", limits=SandboxLimits(rows=5)).truncated


def test_tables_of_the_engine_stand_in_for_views(filled: Path) -> None:
    extra = {"classes": pa.table({"task": ["t"], "size": [2]})}
    assert run_sql(filled, "FROM classes", extra=extra).rows == [("t", 2)]


@pytest.mark.parametrize("query", _OTHERS_FILES)
def test_no_other_file_is_read(filled: Path, query: str) -> None:
    with pytest.raises(UsageError):
        run_sql(filled, query)


@pytest.mark.parametrize("statement", _STATEMENTS)
def test_only_one_select_is_answered(filled: Path, tmp_path: Path, statement: str) -> None:
    before = (filled / "store.duckdb").read_bytes()
    with pytest.raises(UsageError) as caught:
        run_sql(filled, statement.format(out=tmp_path / "out"))
    assert caught.value.code in {"sql-refused", "sql"}
    assert not (tmp_path / "out").exists()
    assert (filled / "store.duckdb").read_bytes() == before


@pytest.mark.parametrize(
    "query",
    [
        "SELECT len(list(range(1000000000)))",
        "SELECT len(repeat('x', 3000000000))",
        "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE (a.range * b.range) % 7 = 3",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
        "SELECT repeat('x', 1000000) FROM range(1000)",
    ],
)
def test_a_query_without_end_is_ended(filled: Path, query: str) -> None:
    limits = SandboxLimits(seconds=2, answer_bytes=64 << 20)
    with pytest.raises(LimitExceeded) as caught:
        run_sql(filled, query, limits=limits)
    assert caught.value.code == "query-limit"


def test_a_wrong_query_says_what_is_wrong(filled: Path) -> None:
    with pytest.raises(UsageError, match="nosuch"):
        run_sql(filled, "SELECT nosuch FROM runs")


def test_an_error_shows_no_control_characters(filled: Path) -> None:
    with pytest.raises(UsageError) as caught:
        run_sql(filled, 'SELECT "\x1b[2J" FROM runs')
    assert "\x1b" not in str(caught.value)


def test_errors_of_the_store_come_through(filled: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        run_sql(tmp_path / "nowhere", "SELECT 1")
    with open_store(filled, read_only=False), pytest.raises(StoreLocked):
        run_sql(filled, "SELECT 1")


def test_forks_and_pairs_are_answered_from_digests(filled: Path) -> None:
    assert run_sql(filled, "SELECT step, event, tool_calls, consequence, n_branches FROM forks").rows == [
        (2, "completion", True, "CU", 2)
    ]
    assert run_sql(filled, "SELECT tool, arguments, excerpt FROM fork_branches ORDER BY ALL").rows == [
        ("bash", "cat a", "cat a"),
        ("bash", "cat b", "cat b"),
    ]
    assert run_sql(filled, "SELECT tree, class FROM pairs('t')").rows == [("unknown", "unresolved")]
