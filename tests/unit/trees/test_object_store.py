"""The database of results: what is copied is whole, what is damaged is found, hostile trees are only data."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samework.errors import GitInputError, LimitExceeded, StoreDamaged
from samework.trees.content_digest import content_digest
from samework.trees.object_store import ObjectStore, object_faults
from samework.trees.snapshot import snapshot_commit, snapshot_worktree
from samework.trees.tree_diff import TreeChange
from samework.trees.tree_objects import content_mode, raw_entries

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Repo

EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def tree_of(repo: Repo, *entries: tuple[str, str, bytes]) -> str:
    """Write a raw tree object, as hostile as wanted: (mode, oid, name)."""
    data = b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, oid, name in entries)
    return repo.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=data)


def held(objects: ObjectStore, repo: Repo, tree: str) -> ObjectStore:
    objects.copy_tree(repo.path / ".git" / "objects", tree)
    return objects


def blob(repo: Repo, data: bytes = b"x\n") -> str:
    return repo.git("hash-object", "-w", "--stdin", data=data)


def test_a_listing_is_that_of_ls_tree(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    for name in ("a", "b/c", "b/d/e", "b.c", "b-c/x", "z"):
        repo.write(name)
    (repo.path / "b" / "c").chmod(0o755)
    (repo.path / "link").symlink_to("a")
    tree = snapshot_commit(repo.path, repo.commit(), objects).oid
    assert tree is not None
    lines = repo.git("ls-tree", "-r", "-z", tree).split("\0")[:-1]
    wanted = [(*line.split("\t")[0].split()[::2], line.split("\t")[1].encode()) for line in lines]
    assert [(entry.mode, entry.oid, entry.path) for entry in objects.read_tree(tree)] == wanted
    assert all(objects.find(tree, entry.path) == entry for entry in objects.read_tree(tree))
    assert objects.find(tree, b"absent") is None
    assert objects.find(tree, b"a/below") is None


@pytest.mark.parametrize("n_files", [3, 1200])
@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_results_outlive_the_checkout(tmp_path: Path, n_files: int, object_format: str) -> None:
    from .conftest import Repo

    repo = Repo(tmp_path / "repo", object_format)
    for n in range(n_files):
        repo.write(f"d{n % 7}/f{n}", f"{n}\n")
    head = repo.commit()
    objects = ObjectStore.create(tmp_path / "objects.git")
    oid = snapshot_commit(repo.path, head, objects).oid
    subprocess.run(["rm", "-rf", str(repo.path)], check=True)
    again = ObjectStore.open(tmp_path / "objects.git")
    assert oid is not None
    assert sum(int(again.read_blob(entry.oid)) for entry in again.read_tree(oid)) == n_files * (n_files - 1) // 2
    assert again.verify() == []


def test_one_content_has_one_digest_in_both_object_formats(tmp_path: Path, objects: ObjectStore) -> None:
    from .conftest import Repo

    results = []
    for object_format in ("sha1", "sha256"):
        repo = Repo(tmp_path / object_format, object_format)
        repo.write("a/b", b"\xff\0")
        repo.write("a.b").chmod(0o755)
        (repo.path / "link").symlink_to("a.b")
        results.append(snapshot_worktree(repo.path, objects))
    one, two = results
    assert one.tcd == two.tcd
    assert one.oid != two.oid
    assert objects.diff_trees(str(one.oid), str(two.oid)) == []
    (tmp_path / "sha256" / "a.b").write_text("other\n")
    three = snapshot_worktree(tmp_path / "sha256", objects)
    assert [change.path for change in objects.diff_trees(str(one.oid), str(three.oid))] == [b"a.b"]


def test_the_digest_is_laid_out_as_documented(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write("b c\n1", "x\n")
    repo.write("a", "").chmod(0o755)
    (repo.path / "link").symlink_to("a")
    result = snapshot_worktree(repo.path, objects)
    digest = {data: hashlib.sha256(data).hexdigest().encode() for data in (b"x\n", b"", b"a")}
    text = (
        b"samework tcd 1\n"
        b"100644 5 b c\n1 "
        + digest[b"x\n"]
        + b"\n100755 1 a "
        + digest[b""]
        + b"\n120000 4 link "
        + digest[b"a"]
        + b"\n"
    )
    assert result.tcd == hashlib.sha256(text).hexdigest()


HOSTILE = [
    ((("100644", EMPTY_BLOB, b".git"),), "hasDotgit"),
    ((("100644", EMPTY_BLOB, b"GIT~1"),), "hasDotgit"),
    ((("100644", EMPTY_BLOB, b".."),), "hasDotdot"),
    ((("100644", EMPTY_BLOB, b"."),), "hasDot"),
    ((("100644", EMPTY_BLOB, b"../evil"),), "fullPathname"),
    ((("100644", EMPTY_BLOB, b"a"), ("100644", EMPTY_BLOB, b"a")), "duplicateEntries"),
    ((("100644", EMPTY_BLOB, b"b"), ("100644", EMPTY_BLOB, b"a")), "treeNotSorted"),
    ((("100644", EMPTY_BLOB, b"README"), ("100644", EMPTY_BLOB, b"readme")), "caseCollision"),
    ((("0100644", EMPTY_BLOB, b"a"),), "zeroPaddedFilemode"),
    ((("100600", EMPTY_BLOB, b"a"),), "badFilemode"),
]


@pytest.mark.parametrize(("entries", "fault"), HOSTILE)
def test_a_hostile_tree_is_read_as_data_and_flagged(
    make_repo: Callable[..., Repo], objects: ObjectStore, entries: tuple[tuple[str, str, bytes], ...], fault: str
) -> None:
    repo = make_repo()
    blob(repo, b"")
    tree = tree_of(repo, *entries)
    result = snapshot_commit(repo.path, tree, objects)
    assert (result.oid, result.n_files) == (tree, len(entries))
    assert f"fsck:{fault}" in result.flags
    assert sorted(entry.path for entry in objects.read_tree(tree)) == sorted(name for _, _, name in entries)
    assert objects.verify() == []


def test_an_old_group_writable_mode_is_the_same_content(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    oid = blob(repo)
    old, new = (snapshot_commit(repo.path, tree_of(repo, (mode, oid, b"a")), objects) for mode in ("100664", "100644"))
    assert old.oid != new.oid
    assert old.tcd == new.tcd
    assert content_mode("100664") == content_mode("100644")


def test_a_null_id_is_no_tree(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    tree = tree_of(repo, ("100644", "0" * 40, b"a"))
    assert snapshot_commit(repo.path, tree, objects).oid is None


def test_a_tree_of_few_bytes_and_many_files_is_refused(
    make_repo: Callable[..., Repo], objects: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("samework.trees.tree_objects.MAX_ENTRIES", 10_000)
    repo = make_repo()
    mode, oid = "100644", blob(repo)
    for _ in range(10):
        oid = tree_of(repo, *((mode, oid, b"%d" % n) for n in range(10)))
        mode = "40000"
    result = snapshot_commit(repo.path, oid, objects)
    assert result.oid is None
    assert "more than 10000 entries" in (result.null_reason or "")


def test_a_tree_of_many_levels_is_refused(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    mode, oid = "100644", blob(repo)
    data: dict[str, bytes] = {}
    for _ in range(600):
        content = mode.encode() + b" d\0" + bytes.fromhex(oid)
        oid = hashlib.sha1(b"tree %d\0" % len(content) + content).hexdigest()
        data[oid] = content
        mode = "40000"
    from samework.trees.tree_objects import walk_tree

    with pytest.raises(LimitExceeded):
        walk_tree(data.__getitem__, oid)


@given(st.binary(max_size=120), st.sampled_from([40, 64]))
def test_any_bytes_are_a_tree_or_an_error(data: bytes, digits: int) -> None:
    try:
        entries = raw_entries(data, "0" * digits)
    except GitInputError:
        return
    assert b"".join(mode + b" " + name + b"\0" + raw for mode, name, raw in entries) == data


def test_a_wrong_object_of_theirs_is_not_taken(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write("a", "honest\n")
    head = repo.commit()
    oid, other = repo.git("rev-parse", "HEAD:a"), blob(repo, b"forged\n")
    store = repo.path / ".git" / "objects"
    target = store / oid[:2] / oid[2:]
    target.chmod(0o644)
    target.write_bytes((store / other[:2] / other[2:]).read_bytes())
    assert snapshot_commit(repo.path, head, objects).oid is None


def test_changes_of_two_trees_are_named(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    for name in ("same/deep", "edit", "mode", "kind", "gone/x", "swap"):
        repo.write(name, f"{name}\n")
    a = snapshot_worktree(repo.path, objects).oid
    repo.write("edit", "new\n")
    (repo.path / "mode").chmod(0o755)
    (repo.path / "kind").unlink()
    (repo.path / "kind").symlink_to("edit")
    (repo.path / "gone" / "x").unlink()
    (repo.path / "swap").unlink()
    repo.write("swap/in")
    repo.write("born")
    b = snapshot_worktree(repo.path, objects).oid
    assert a is not None
    assert b is not None
    words = {change.path: change.change for change in objects.diff_trees(a, b)}
    assert words == {
        b"born": "add",
        b"edit": "modify",
        b"gone/x": "delete",
        b"kind": "type",
        b"mode": "mode",
        b"swap": "delete",
        b"swap/in": "add",
    }
    assert objects.diff_trees(a, a) == []
    assert {change.path for change in objects.diff_trees(b, a)} == words.keys()
    assert isinstance(objects.diff_trees(a, b)[0], TreeChange)


@pytest.mark.parametrize("packed", [False, True])
def test_verify_finds_a_changed_byte(tmp_path: Path, make_repo: Callable[..., Repo], packed: bool) -> None:
    repo = make_repo()
    for n in range(1100 if packed else 2):
        repo.write(f"f{n}", f"{n}\n")
    objects = ObjectStore.create(tmp_path / "o.git")
    assert snapshot_commit(repo.path, repo.commit(), objects).oid is not None
    assert objects.verify() == []
    place = objects.path / "objects"
    file = next(place.glob("pack/*.pack")) if packed else next(place.glob("[0-9a-f][0-9a-f]/*"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x40
    file.chmod(0o644)
    file.write_bytes(bytes(data))
    assert len(objects.verify()) == 1


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_verify_finds_what_is_gone(tmp_path: Path, object_format: str) -> None:
    from .conftest import Repo

    repo = Repo(tmp_path / "repo", object_format)
    repo.write("a")
    objects = ObjectStore.create(tmp_path / "o.git")
    oid = snapshot_worktree(repo.path, objects).oid
    assert oid is not None
    (entry,) = objects.read_tree(oid)
    (objects.objects_path(object_format) / entry.oid[:2] / entry.oid[2:]).unlink()
    assert objects.verify() == [f"tree {oid} names object {entry.oid}, which is not held"]
    with pytest.raises(GitInputError):
        objects.read_blob(entry.oid)
    with pytest.raises(GitInputError):
        content_digest(ObjectStore.open(objects.path), [entry])


def test_git_may_not_prune_what_no_ref_names(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write("a")
    oid = snapshot_worktree(repo.path, objects).oid
    assert oid is not None
    subprocess.run(["git", "gc", "-q", "--prune=now"], cwd=objects.path, capture_output=True, check=False)
    subprocess.run(["git", "prune", "--expire=now"], cwd=objects.path, capture_output=True, check=False)
    assert ObjectStore.open(objects.path).is_complete(oid)


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_large_blob_has_the_same_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, object_format: str) -> None:
    from .conftest import Repo

    repo = Repo(tmp_path / "repo", object_format)
    repo.write("a", b"12345")
    objects = ObjectStore.create(tmp_path / "o.git")
    whole = snapshot_worktree(repo.path, objects)
    monkeypatch.setattr("samework.trees.object_store.LARGE_BYTES", 4)
    again = ObjectStore.open(objects.path)
    assert content_digest(again, again.read_tree(str(whole.oid))) == whole.tcd
    assert again.n_bytes(again.read_tree(str(whole.oid))[0].oid) == 5


def test_packed_sha256_objects_are_read(tmp_path: Path) -> None:
    from .conftest import Repo

    repo = Repo(tmp_path / "repo", "sha256")
    repo.write("a", b"12345")
    objects = ObjectStore.create(tmp_path / "o.git")
    whole = snapshot_worktree(repo.path, objects)
    place = objects.objects_path("sha256")
    loose = list(place.glob("[0-9a-f][0-9a-f]/*"))
    names = "".join(f"{file.parent.name}{file.name}\n" for file in loose).encode()
    words = ["git", "pack-objects", "-q", str(place / "pack" / "pack")]
    subprocess.run(words, cwd=place.parent, input=names, check=True, capture_output=True)
    for file in loose:
        file.unlink()
    again = ObjectStore.open(objects.path)
    (entry,) = again.read_tree(str(whole.oid))
    assert (again.read_blob(entry.oid), again.n_bytes(entry.oid)) == (b"12345", 5)
    assert again.is_complete(str(whole.oid))
    assert not again.has("a" * 64)
    with pytest.raises(GitInputError):
        again.read("a" * 64)
    assert again.verify() == []


def test_a_submodule_and_a_blob_of_one_id_are_told_apart(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    oid = blob(repo)
    both = snapshot_commit(repo.path, tree_of(repo, ("100644", oid, b"a"), ("160000", oid, b"b")), objects)
    file = hashlib.sha256(b"x\n").hexdigest()
    link = hashlib.sha256(oid.encode()).hexdigest()
    text = f"samework tcd 1\n100644 1 a {file}\n160000 1 b {link}\n"
    assert both.tcd == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("name", ["with:colon", 'with"quote', "with\nnewline", "-x", "é\udcff"])
def test_a_repository_may_lie_anywhere(tmp_path: Path, objects: ObjectStore, name: str) -> None:
    from .conftest import Repo

    repo = Repo(tmp_path / name)
    repo.write("a")
    base = repo.commit()
    assert snapshot_commit(repo.path, base, objects).n_files == 1
    assert snapshot_worktree(repo.path, objects, base=base).flags == ("no_work",)


def test_a_missing_database_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreDamaged):
        ObjectStore.open(tmp_path / "absent.git")
    ObjectStore.create(tmp_path / "o.git")
    assert ObjectStore.create(tmp_path / "o.git").verify() == []


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_tree_that_must_be_held_is_looked_for_in_the_database_of_its_format(
    make_repo: Callable[..., Repo], objects: ObjectStore, tmp_path: Path, object_format: str
) -> None:
    repo = make_repo("repo", object_format)
    repo.write("a")
    tree = snapshot_commit(repo.path, repo.commit(), objects).oid
    assert tree is not None
    other = tree[:-1] + ("0" if tree[-1] != "0" else "1")
    name = "objects.git" if object_format == "sha1" else "objects-sha256.git"
    assert list(object_faults(objects.path, [tree])) == []
    assert list(object_faults(objects.path, [other])) == [(name, f"tree {other} is not held")]
    shutil.rmtree(tmp_path / name)
    assert (name, "the object database is missing") in list(object_faults(objects.path, [tree]))


def test_a_database_that_borrows_objects_or_holds_a_pipe_is_not_whole(objects: ObjectStore, tmp_path: Path) -> None:
    alternates = objects.path / "objects" / "info" / "alternates"
    alternates.write_text(f"{tmp_path}/other\n")
    assert objects.verify() == ["info/alternates: it borrows objects, which may be gone tomorrow"]
    alternates.unlink()
    os.mkfifo(objects.path / "objects" / "pack" / "pack-1.pack")
    assert [what.rpartition("/")[2] for what in objects.verify()] == ["pack-1.pack is no file"]
