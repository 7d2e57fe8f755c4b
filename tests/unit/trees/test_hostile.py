"""Nothing of a hostile repository runs, and nothing in it changes, whatever the room is asked to read."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from samework.errors import GitInputError, InputError
from samework.trees.apply_patch import snapshot_patch
from samework.trees.snapshot import snapshot_commit, snapshot_worktree

if TYPE_CHECKING:
    from types import ModuleType

    from samework.trees.object_store import ObjectStore


def load_hostile() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hostile", Path(__file__).parents[2] / "hostile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hostile = load_hostile()
PATCH = b"--- a/kept.py\n+++ b/kept.py\n@@ -1 +1 @@\n-x = 1\n+x = 9\n"


@pytest.fixture(params=["sha1", "sha256"])
def trap(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    folder = tmp_path / "trap"
    folder.mkdir()
    return hostile.build_hostile_repo(folder, request.param)


def test_the_traps_spring_for_plain_git(trap: tuple[Path, Path]) -> None:
    repo, marker = trap
    hostile.provoke(repo)
    assert marker.exists()


def test_nothing_runs_and_nothing_changes(trap: tuple[Path, Path], objects: ObjectStore) -> None:
    repo, marker = trap
    base, head = hostile.base_of(repo), hostile.head_of(repo)
    before = hostile.digest_of(repo.parent)
    first = snapshot_commit(repo, base, objects)
    assert not marker.exists()
    last = snapshot_commit(repo, head, objects, base=base)
    assert not marker.exists()
    work = snapshot_worktree(repo, objects, base=base, scope=["*.tmp"])
    assert not marker.exists()
    made = snapshot_patch(
        repo, base, b"diff --git a/kept.py b/kept.py\nindex 1111111..2222222 100644\n" + PATCH, objects
    )
    assert not marker.exists()
    results = (first, last, work, made)
    assert [result.null_reason for result in results] == [None] * 4
    oids = [result.oid for result in results if result.oid]
    assert len(set(oids)) == 4
    for a in oids:
        for b in oids:
            objects.diff_trees(a, b)
        for entry in objects.read_tree(a):
            if entry.kind != "gitlink":
                objects.read_blob(entry.oid)
    assert objects.verify() == []
    assert not marker.exists()
    assert hostile.digest_of(repo.parent) == before


def test_the_nested_repository_itself_runs_nothing(trap: tuple[Path, Path], objects: ObjectStore) -> None:
    repo, marker = trap
    for inner in (repo / "nested", repo / "embedded", repo / "nested" / ".git", repo / ".git"):
        snapshot_worktree(inner, objects)
        with pytest.raises(InputError):
            snapshot_commit(inner, "a" * 40, objects)
    (repo / "nested" / "inner.py").write_text("z = 2\n")
    dirty = snapshot_worktree(repo, objects)
    assert dirty.oid is None
    assert (dirty.null_reason or "").startswith("submodule_dirty: nested")
    assert not marker.exists()


def test_awkward_names_and_links_are_kept_as_bytes(trap: tuple[Path, Path], objects: ObjectStore) -> None:
    repo, _ = trap
    oid = snapshot_worktree(repo, objects).oid
    assert oid is not None
    entries = {entry.path: entry for entry in objects.read_tree(oid)}
    assert {b"esc\x1b[2J", b"new\nline", b"bad\xff\xfe", b"-x", b"--output=x", b":(exclude)*"} <= entries.keys()
    assert entries[b"passwd"].kind == "symlink"
    assert objects.read_blob(entries[b"passwd"].oid) == b"/etc/passwd"
    assert entries[b"run.sh"].kind == "exec"
    assert entries[b"nested"].kind == entries[b"untracked-nested"].kind == "gitlink"
    assert not any(path.startswith(b"out/") for path in entries)
    assert objects.read_blob(entries[b"kept.py"].oid) == b"x = 3\n"


@pytest.mark.parametrize(
    "base", ["--output=x", "-x", "HEAD", "HEAD:../../x", "refs/heads/master", "", "a" * 6, "a" * 65, "a" * 40 + "\n"]
)
def test_what_is_no_hex_id_never_reaches_git(base: str, trap: tuple[Path, Path], objects: ObjectStore) -> None:
    repo, marker = trap
    for take in (
        lambda: snapshot_commit(repo, base, objects),
        lambda: snapshot_worktree(repo, objects, base=base),
        lambda: snapshot_patch(repo, base, PATCH, objects),
    ):
        with pytest.raises(GitInputError):
            take()
    assert not marker.exists()
    assert not list(repo.parent.rglob("x"))


@pytest.mark.parametrize("path", ["../evil", "/tmp/evil", ".git/config", "out/evil"])
def test_a_patch_cannot_write_outside_the_tree(path: str, trap: tuple[Path, Path], objects: ObjectStore) -> None:
    repo, marker = trap
    new = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
    result = snapshot_patch(repo, hostile.base_of(repo), new.encode(), objects)
    assert result.oid is None
    assert (result.null_reason or "").startswith("patch_failed: ")
    assert not marker.exists()
    assert not (repo.parent / "evil").exists()
