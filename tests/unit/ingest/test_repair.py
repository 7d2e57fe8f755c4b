"""A store whose database is damaged or gone is made again from the bytes that were ingested."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest

import samework as sw
from samework.errors import NotFound, StoreDamaged, StoreError
from samework.store import journal
from samework.store.connection import open_store
from samework.store.ddl import tables_by_name
from tests.command import samework
from tests.stores import empty_store
from tests.unit.trees.conftest import Repo

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
UNCOMPARED = {"batch", "written"}


def rows(store: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of what was ingested, without the numbers of batches."""
    found = {}
    with open_store(store, read_only=True) as handle:
        for table, model in tables_by_name().items():
            if table in {"ingest_ledger", "meta"}:
                continue
            columns = ", ".join(f'"{name}"' for name in model.model_fields if name not in UNCOMPARED)
            where = "WHERE status = 'ingested'" if table == "source" else ""
            found[table] = handle.db.execute(f'SELECT {columns} FROM main."{table}" {where} ORDER BY ALL').fetchall()
    return found


@pytest.fixture(scope="module")
def worked_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bundles with working trees, loose trajectories, predictions, reports that join, and things attached by hand.

    What was ingested is gone, as from a machine of another; nothing may write to this store.
    """
    place = tmp_path_factory.mktemp("worked")
    store = sw.Store(empty_store(place / ".samework"))
    source = place / "source"
    shutil.copytree(FIXTURES / "codex-fix-add", source / "codex")
    store.ingest(source / "codex")
    shutil.copytree(FIXTURES / "small", source / "small")
    store.ingest(source / "small", arm="given")
    lines = [{"kind": "user", "text": "go"}, {"kind": "completion", "text": "no"}, {"kind": "end", "text": "finished"}]
    (source / "t1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    store.ingest(source / "t1.jsonl", task="t1", arm="a")
    (run,) = store.runs(task="t1")
    tree = source / "tree"
    tree.mkdir()
    (tree / "a.txt").write_text("hello\n")
    report = source / "report.xml"
    report.write_text('<testsuite tests="1" failures="0" errors="0"><testcase classname="t" name="a"/></testsuite>')
    store.attach(run.run_id, worktree=tree, tests=[report], suite="s", env="e", invariants={"builds": True})
    shutil.rmtree(source)
    return store.path


@pytest.fixture
def worked(worked_once: Path, tmp_path: Path) -> sw.Store:
    """A copy of that store, a test's own."""
    return sw.Store(shutil.copytree(worked_once, tmp_path / ".samework"))


def test_a_repaired_store_holds_what_the_old_one_held(worked: sw.Store) -> None:
    before = rows(worked.path)
    classes = worked.classes()
    database = worked.path / "store.duckdb"
    database.write_bytes(b"\0" * 4096)
    made = worked.repair()
    assert made.lost == ()
    assert rows(worked.path) == before
    assert worked.classes() == classes
    assert worked.verify() == []
    assert made.n_runs == len(before["run"])


def test_a_store_without_its_database_is_repaired(worked: sw.Store) -> None:
    before = rows(worked.path)
    (worked.path / "store.duckdb").unlink()
    assert worked.repair().lost == ()
    assert rows(worked.path) == before


def test_a_repaired_store_can_be_repaired(worked: sw.Store) -> None:
    before = rows(worked.path)
    worked.repair()
    assert worked.repair().lost == ()
    assert rows(worked.path) == before


def test_what_lost_its_bytes_is_named_and_the_rest_is_made(worked: sw.Store) -> None:
    before = worked.runs()
    bodies = sorted((worked.path / "sources").rglob("*.zst"), key=lambda path: path.stat().st_size)
    bodies[-1].chmod(0o644)
    bodies[-1].write_bytes(bodies[-1].read_bytes()[:-9])
    made = worked.repair()
    assert [lost.reason for lost in made.lost] == ["its bytes are gone or damaged"]
    assert made.n_runs == len(before) - 1


def test_the_old_store_is_kept_and_the_journal_needed(worked: sw.Store) -> None:
    made = worked.repair()
    assert (Path(made.kept) / "store.duckdb").exists()
    (worked.path / "journal.jsonl").unlink()
    with pytest.raises(NotFound, match="no journal"):
        worked.repair()


def test_lines_and_batches_that_the_journal_lacks_are_told(worked: sw.Store) -> None:
    file = worked.path / "journal.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([lines[0].replace(b"codex", b"kodex"), *lines[1:-1]]))
    told = [(lost.path, lost.reason) for lost in worked.repair().lost]
    assert ("journal, line 1", "the line is damaged") in told
    assert any(path.startswith("batch ") for path, _ in told)


def test_the_command_says_what_it_did(worked: sw.Store) -> None:
    done = samework("repair", store=worked.path)
    assert done.returncode == 0
    assert "runs from" in done.stdout
    assert "The old store lies in" in done.stdout


def _edited(store: Path, edit: str) -> None:
    if edit == "format":
        (store / "format").write_text("samework 9999\n")
    elif edit == "meta":
        with duckdb.connect(str(store / "store.duckdb")) as db:
            db.execute("UPDATE meta SET value = '999' WHERE key = 'schema_version'")
    else:
        journal.append(store, 90, [{"do": "something else"}])


@pytest.mark.parametrize("edit", ["format", "meta", "act"])
def test_a_store_of_a_newer_program_is_not_made_again_by_an_older_one(worked: sw.Store, edit: str) -> None:
    _edited(worked.path, edit)
    before = {path: path.read_bytes() for path in worked.path.rglob("*") if path.is_file() and path.name != "seal.json"}
    with pytest.raises(StoreError) as caught:
        worked.repair()
    assert caught.value.code == "store-newer"
    assert {path: path.read_bytes() for path in before} == before
    assert [path.name for path in worked.path.parent.iterdir()] == [worked.path.name]


@pytest.fixture
def with_sha256(tmp_path: Path) -> sw.Store:
    """One run whose tree is a commit of a repository of the sha256 format; the repository is gone."""
    repo = Repo(tmp_path / "bundle" / "repo", "sha256")
    repo.write("a.txt", "hello\n")
    tree = {"repo": "repo", "commit": repo.commit()}
    facts = {"task": "t", "arm": "a", "repeat": "1", "kind": "coding", "tree": tree}
    (tmp_path / "bundle" / "run.json").write_text(json.dumps(facts))
    store = sw.Store(empty_store(tmp_path / "store"))
    assert store.ingest(tmp_path / "bundle").n_new == 1
    shutil.rmtree(tmp_path / "bundle")
    return store


def _objects(store: Path) -> set[str]:
    return {path.relative_to(store).as_posix() for path in store.glob("objects-sha256.git/objects/??/*")}


def test_a_backup_and_a_repair_bring_the_objects_of_sha256(with_sha256: sw.Store, tmp_path: Path) -> None:
    held = _objects(with_sha256.path)
    assert held
    assert with_sha256.verify() == []
    with_sha256.backup(tmp_path / "copy.tar")
    restored = sw.restore(tmp_path / "copy.tar", tmp_path / "restored")
    assert _objects(restored.path) == held
    assert restored.verify() == []
    assert restored.repair().lost == ()
    assert _objects(restored.path) == held
    assert restored.verify() == []


def test_objects_that_are_gone_are_found_and_named(with_sha256: sw.Store, tmp_path: Path) -> None:
    shutil.rmtree(with_sha256.path / "objects-sha256.git")
    (with_sha256.path / "files.jsonl").unlink()  # else it tells of the files first
    where = "objects-sha256.git"
    assert (where, "the object database is missing") in [(each.where, each.what) for each in with_sha256.verify()]
    with pytest.raises(StoreDamaged):
        with_sha256.backup(tmp_path / "copy.tar")
    made = with_sha256.repair()
    assert [(lost.path, lost.reason) for lost in made.lost] == [(where, "the object database is missing")]
    assert made.n_runs == 1


def test_a_repaired_store_is_open_to_whom_the_old_one_was(worked: sw.Store) -> None:
    worked.path.chmod(0o750)
    worked.repair()
    assert worked.path.stat().st_mode & 0o777 == 0o750
