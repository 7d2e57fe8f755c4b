"""The command on a store of the fixtures: answers, exit codes, terminals, hostile text."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import answer, installed, samework

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
TASKS = ("code-000", "code-016", "tool-001")


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three tasks of the real fixture and of all small ones."""
    place = tmp_path_factory.mktemp("cli") / ".samework"
    assert samework("init", store=place).returncode == 0
    paths = [FIXTURES / "kv-path" / task for task in TASKS]
    done = samework("ingest", *paths, FIXTURES / "small", store=place)
    assert done.returncode == 0, done.stderr
    return place


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "--json"),
        ("compare", "code-016:retained:1", "code-016:recomputed:1"),
        ("query", "select run_id from runs order by run_id", "--format", "csv"),
        ("show", "code-016:retained"),
        ("demo", "--help"),
        ("nonsense",),
    ],
    ids=lambda words: words[0],
)
def test_the_installed_command_says_what_a_call_in_process_says(store: Path, words: tuple[str, ...]) -> None:
    """Most tests of the command call it in their own process: this is what allows them to."""
    there, here = installed(*words, store=store), samework(*words, store=store)
    assert (there.returncode, there.stdout, there.stderr) == (here.returncode, here.stdout, here.stderr)
    assert here.stdout + here.stderr


def test_ingest_ends_with_a_table_and_the_same_again_is_known(store: Path) -> None:
    done = samework("ingest", FIXTURES / "kv-path" / "code-000", "--json", store=store)
    summary = json.loads(done.stdout)
    assert summary["n_new"] == 0
    assert summary["n_known"] == 9
    assert samework("ingest", FIXTURES / "kv-path" / "code-000", store=store).stdout.split()[:2] == ["new", "0"]


def test_runs_have_the_documented_fields(store: Path) -> None:
    runs = answer("runs", "--task", "code-016", store=store)
    assert len(runs) == 9
    assert {"run_id", "task", "arm", "repeat", "format", "complete", "evidence"} <= set(runs[0])
    assert {"tokens", "actions", "tree", "tests"} <= set(runs[0]["evidence"])


@pytest.mark.parametrize(
    ("a", "b", "run_class", "status"),
    [
        ("code-016:retained:1", "code-016:retained:2", "token-identical", 0),
        ("code-016:retained:1", "code-016:split:1", "tests-identical", 0),
        ("code-016:retained:1", "code-016:recomputed:1", "divergent", 1),
    ],
)
def test_compare_answers_with_its_exit_status(store: Path, a: str, b: str, run_class: str, status: int) -> None:
    done = samework("compare", a, b, "--json", store=store)
    assert (json.loads(done.stdout)["class"], done.returncode) == (run_class, status)


def test_what_is_not_decided_is_exit_3(store: Path) -> None:
    unresolved = answer("pairs", "--class", "unresolved", "--limit", "1", store=store)
    done = samework("compare", unresolved[0]["a"], unresolved[0]["b"], store=store)
    assert done.returncode == 3
    assert done.stdout.startswith("unresolved\n")


def test_a_unique_beginning_names_a_run_and_an_ambiguous_one_lists_them(store: Path) -> None:
    runs = answer("runs", "--task", "code-016", store=store)
    assert answer("show", runs[0]["run_id"][:10], store=store)["run"]["run_id"] == runs[0]["run_id"]
    done = samework("show", "code-016:retained", store=store)
    assert done.returncode == 2
    assert "code-016:retained:1" in done.stderr
    assert "code-016:retained:2" in done.stderr


def test_show_says_what_a_gap_prevents(store: Path) -> None:
    runs = answer("runs", store=store)
    lacking = next(run for run in runs if run["evidence"]["tokens"] == "none")
    shown = " ".join(samework("show", lacking["run_id"], store=store).stdout.split())
    assert "token-identical" in shown
    assert "What that prevents" in shown


def test_pairs_are_limited_with_a_remark_on_stderr(store: Path) -> None:
    done = samework("pairs", "--limit", "2", "--json", store=store)
    assert len(json.loads(done.stdout)) == 2
    assert "--limit" in done.stderr


def test_pairs_of_a_task_are_each_listed_once(store: Path) -> None:
    pairs = answer("pairs", "--task", "code-016", "--limit", "1000", store=store)
    assert len({frozenset((pair["a"], pair["b"])) for pair in pairs}) == len(pairs) == 36


def test_classes_count_every_pair_once(store: Path) -> None:
    found = answer("classes", "--task", "code-016", store=store)
    counts = dict(found["pairs"])
    assert counts.pop("total") == 36 == sum(counts.values())
    across = answer("classes", "--task", "code-016", "--across", "retained,recomputed", store=store)
    assert across["pairs"]["total"] == 4


def test_forks_that_changed_a_tool_call_have_an_origin(store: Path) -> None:
    found = answer("forks", "--tool-calls", "--task", "tool-001", store=store)
    assert found
    assert all(fork["origin"] and len(fork["branches"]) > 1 for fork in found)


def test_runs_of_two_tasks_are_not_compared(store: Path) -> None:
    done = samework("compare", "code-000:retained:1", "code-016:retained:1", store=store)
    assert done.returncode == 2
    assert "[two-tasks]" in done.stderr


@pytest.mark.parametrize(
    "sql",
    [
        "copy (select 1) to '/tmp/samework-should-not-exist'",
        "select * from read_text('/etc/hostname')",
        "attach '/tmp/samework-should-not-exist.duckdb' as x",
        "install httpfs",
        "set threads = 1",
        "delete from run",
        "drop view runs",
    ],
)
def test_sql_can_read_the_store_and_nothing_else(store: Path, sql: str) -> None:
    done = samework("query", sql, store=store)
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    assert not list(Path("/tmp").glob("samework-should-not-exist*"))


def test_query_answers_in_each_format(store: Path, tmp_path: Path) -> None:
    sql = "select task, count(*) as n_runs from runs where task like 'code%' group by task order by task"
    assert samework("query", sql, store=store).stdout.splitlines()[0].split() == ["task", "n_runs"]
    assert samework("query", sql, "--format", "csv", store=store).stdout == "task,n_runs\ncode-000,9\ncode-016,9\n"
    assert answer("query", sql, store=store)[0] == {"task": "code-000", "n_runs": 9}
    done = samework("query", sql, "--format", "parquet", "-o", tmp_path / "x.parquet", store=store)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x.parquet").read_bytes()[:4] == b"PAR1"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("query", "select 1", "-o", "."), "Is a directory"),
        (("query", "select 1", "-o", "no/x.csv"), "No such file or directory"),
        (("query", "select 1", "--format", "parquet", "-o", "no/x"), "No such file or directory"),
        (("report", "--task", "code-016", "-o", "no/x.md"), "No such file or directory"),
        (("report", "--task", "code-016", "-o", "a-file/x.md"), "Not a directory"),
        (("backup", "a-file/x.tar"), "Not a directory"),
    ],
)
def test_a_place_that_cannot_be_written_is_named_with_the_reason(
    store: Path, tmp_path: Path, words: tuple[str, ...], reason: str
) -> None:
    (tmp_path / "a-file").write_text("mine")
    done = samework(*words, store=store, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{words[-1]}: ")
    assert "cannot be written: " in done.stderr
    assert reason in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a-file"]


def test_a_demo_needs_a_directory(tmp_path: Path) -> None:
    (tmp_path / "a-file").write_text("mine")
    done = samework("demo", tmp_path / "a-file", "--fixtures", FIXTURES)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the directory cannot be made: File exists  [bad-input]" in done.stderr


@pytest.mark.parametrize(("text", "status"), [(None, 0), ("{", 1)])
def test_a_demo_of_which_a_part_fails_says_so(tmp_path: Path, text: str | None, status: int) -> None:
    shutil.copytree(FIXTURES / "kv-path" / "code-016", tmp_path / "fixtures" / "kv-path" / "code-016")
    if text is not None:
        (tmp_path / "fixtures" / "broken").mkdir()
        (tmp_path / "fixtures" / "broken" / "run.json").write_text(text)
    done = samework("demo", tmp_path / "demo", "--fixtures", tmp_path / "fixtures")
    assert done.returncode == status, done.stdout
    assert "divergent (established)" in done.stdout
    assert "changed work." in done.stdout


def test_every_saved_query_runs(store: Path) -> None:
    for query in answer("query", "--list", store=store):
        done = samework("query", "--named", query["name"], "--json", store=store)
        assert done.returncode == 0, (query["name"], done.stderr)


def test_an_unknown_saved_query_lists_the_known_ones(store: Path) -> None:
    done = samework("query", "--named", "nonsense", store=store)
    assert done.returncode == 2
    assert "known" in done.stderr


def test_a_whole_store_verifies(store: Path) -> None:
    done = samework("verify", store=store)
    assert (done.returncode, done.stdout) == (0, "Whole.\n")


@pytest.mark.parametrize("ending", ["html", "md", "json"])
def test_report_of_a_pair_a_task_and_the_store(store: Path, tmp_path: Path, ending: str) -> None:
    for words in (["code-016:retained:1", "code-016:recomputed:1"], ["--task", "code-016"], []):
        out = tmp_path / f"report.{ending}"
        done = samework("report", *words, "-o", out, store=store)
        assert done.returncode == 0, done.stderr
        assert "code-016" in out.read_text(encoding="utf-8")


def in_terminal(words: list[str], **env: str) -> bytes:
    """What a command writes to a terminal."""
    main, side = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "samework", *words],
        stdout=side,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "TERM": "xterm-256color", "COLUMNS": "100", **env},
    )
    os.close(side)
    written = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:
            break
        if not piece:
            break
        written += piece
    os.close(main)
    child.wait()
    return written


def test_a_terminal_gets_colour_unless_it_says_no(store: Path) -> None:
    words = ["compare", "code-016:retained:1", "code-016:recomputed:1", "--store", str(store)]
    assert b"\x1b[" in in_terminal(words)
    plain = in_terminal(words, NO_COLOR="1")
    assert b"\x1b[3" not in plain


def test_a_locked_store_names_the_other_process(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / ".samework"
    shutil.copytree(store, copy)
    code = (
        "import sys; from samework.store.connection import open_store\n"
        f"h = open_store({str(copy)!r}, read_only=False); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "open\n"
        done = samework("runs", store=copy)
        assert done.returncode == 2
        assert str(holder.pid) in done.stderr
        holder.stdin.close()


def test_a_bad_file_is_refused_with_a_sentence_and_the_rest_lands(tmp_path: Path) -> None:
    place = tmp_path / ".samework"
    samework("init", store=place)
    (tmp_path / "bad.bin").write_bytes(b"\x00\xff\x00 no format at all")
    done = samework("ingest", tmp_path / "bad.bin", FIXTURES / "kv-path" / "code-000", store=place)
    assert done.returncode == 1  # partly
    assert "bad.bin" in done.stderr
    assert len(answer("runs", store=place)) == 9
    assert samework("ingest", tmp_path / "bad.bin", store=place).returncode == 2


def test_a_missing_store_is_one_sentence_with_what_helps(tmp_path: Path) -> None:
    done = samework("runs", cwd=tmp_path)
    assert done.returncode == 2
    assert "samework init" in done.stderr
    assert "[no-store]" in done.stderr


def test_the_store_is_found_upward_and_by_the_environment(store: Path, tmp_path: Path) -> None:
    (tmp_path / ".samework").symlink_to(store)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert samework("runs", "--json", cwd=below).returncode == 0
    assert samework("runs", "--json", cwd=ROOT.parent, SAMEWORK_STORE=str(store)).returncode == 0


def test_snapshot_touches_nothing(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "kv-path" / "code-016" / "retained-1" / "tree", tmp_path / "tree")
    before = sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*"))
    done = samework("snapshot", tmp_path / "tree", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["oid"]) == 40
    assert sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*")) == before


def test_attached_invariants_are_shown(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / ".samework"
    shutil.copytree(store, copy)
    done = samework("attach", "code-016:retained:1", "--invariant", "reviewed=true", store=copy)
    assert done.returncode == 0, done.stderr
    assert answer("show", "code-016:retained:1", store=copy)["invariants"] == {"reviewed": True}


def test_backup_is_one_file_and_never_overwrites(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "backup.tar"
    done = samework("backup", out, store=store)
    assert done.returncode == 0, done.stderr
    assert out.stat().st_size > 0
    assert samework("backup", out, store=store).returncode == 2
