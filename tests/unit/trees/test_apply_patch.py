"""A patch on its base gives the tree that Git gives, or no tree and Git's reason."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samework.model.words import Grade
from samework.trees.apply_patch import snapshot_patch
from samework.trees.object_store import ObjectStore
from samework.trees.snapshot import snapshot_commit, snapshot_worktree

from . import conftest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Repo


def edited(make_repo: Callable[..., Repo], object_format: str = "sha1") -> tuple[Repo, str, bytes]:
    """A repository with a base, and a patch to a work that touches every kind of change."""
    repo = make_repo(object_format=object_format)
    for name in ("edit", "gone", "mode", "from"):
        repo.write(name, "".join(f"{name} {n}\n" for n in range(30)))
    repo.write("bin", bytes(range(256)))
    base = repo.commit()
    repo.write("edit", "".join(f"edit {n * n}\n" for n in range(30)))
    (repo.path / "gone").unlink()
    (repo.path / "mode").chmod(0o755)
    (repo.path / "from").rename(repo.path / "to é")
    repo.write("bin", bytes(range(255, -1, -1)))
    repo.write("new/empty", "")
    (repo.path / "link").symlink_to("edit")
    repo.git("add", "-A")
    patch = repo.git("diff", "--cached", "--binary", "-M", base).encode() + b"\n\n"
    return repo, base, patch


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_patch_gives_the_tree_of_the_work(
    make_repo: Callable[..., Repo], objects: ObjectStore, object_format: str
) -> None:
    repo, base, patch = edited(make_repo, object_format)
    result = snapshot_patch(repo.path, base, patch, objects)
    work = snapshot_worktree(repo.path, objects, base=base)
    assert result.null_reason is None
    assert (result.oid, result.tcd, result.base_oid) == (work.oid, work.tcd, work.base_oid)
    assert (result.grade, result.policy, result.flags, result.n_files) == (Grade.DERIVED, "patch", (), 6)
    assert snapshot_patch(repo.path, base, patch.replace(b"\n", b"\r\n"), objects).oid == work.oid


@pytest.mark.parametrize("patch", [b"", b"\n", b" \r\n"])
def test_an_empty_patch_is_the_base(make_repo: Callable[..., Repo], objects: ObjectStore, patch: bytes) -> None:
    repo, base, _ = edited(make_repo)
    result = snapshot_patch(repo.path, base, patch, objects)
    assert (result.oid, result.flags) == (snapshot_commit(repo.path, base, objects).oid, ("no_work",))


def test_a_patch_without_prefixes_applies(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo, base, _ = edited(make_repo)
    patch = repo.git("diff", "--cached", "--no-prefix", "--binary", "-M", base).encode() + b"\n\n"
    assert snapshot_patch(repo.path, base, patch, objects).oid == repo.own_tree()


def test_a_patch_for_another_base_is_flagged_or_refused(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo, base, _ = edited(make_repo)
    lines = [f"edit {n}\n" for n in range(30)]
    repo.git("checkout", "-q", "-f", base)
    repo.write("edit", "".join(["first\n", *lines]))
    moved = repo.commit()
    repo.write("edit", "".join([*lines[:20], "here\n", *lines[20:]]))
    patch = repo.git("diff", base, "--", "edit").encode() + b"\n"
    fits = snapshot_patch(repo.path, base, patch, objects)
    shifted = snapshot_patch(repo.path, moved, patch, objects)
    assert fits.flags == ()
    assert shifted.flags == ("base_differs", "post_image_differs")
    assert shifted.oid not in (None, fits.oid)
    repo.write("edit", "nothing alike\n")
    other = snapshot_patch(repo.path, repo.commit(), patch, objects)
    assert other.oid is None
    assert (other.null_reason or "").startswith("patch_failed: error: patch failed: edit:")


def test_a_cut_patch_is_not_applied_in_part(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo, base, _ = edited(make_repo)
    patch = repo.git("diff", "--cached", base, "--", "edit").encode() + b"\n"
    cut = patch + b"diff --git a/mode b/mode\nindex 123456"
    result = snapshot_patch(repo.path, base, cut, objects)
    assert result.oid is None
    assert (result.null_reason or "").startswith("patch_failed: ")


def test_lines_that_git_would_pass_over_make_a_patch_unknown(
    make_repo: Callable[..., Repo], objects: ObjectStore
) -> None:
    repo, base, _ = edited(make_repo)
    patch = repo.git("diff", "--cached", base, "--", "gone").encode() + b"\n"
    assert snapshot_patch(repo.path, base, patch, objects).oid is not None
    result = snapshot_patch(repo.path, base, patch + b"+more\n", objects)
    assert result.oid is None
    assert (result.null_reason or "").startswith("patch_failed: the patch is damaged: line ")


def test_many_patches_of_one_base_do_not_mix(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo, base, patch = edited(make_repo)
    one = repo.git("diff", "--cached", base, "--", "mode").encode() + b"\n"
    oids = [snapshot_patch(repo.path, base, each, objects).oid for each in (patch, one, b"", patch, one)]
    assert oids[:2] == oids[3:]
    assert len(set(oids)) == 3
    for n in range(6):
        repo.write("more", f"{n}\n")
        assert snapshot_patch(repo.path, repo.commit(), b"", objects).flags == ("no_work",)
    assert len(objects.base_indexes) <= 4


NAMES = st.sampled_from(["a", "b", "d/a", "d/e/f", "sp ace", "é", 'q"t'])
FILES = st.dictionaries(
    NAMES, st.tuples(st.binary(max_size=20) | st.sampled_from([b"x\ny\n", b"x\nz"]), st.booleans()), max_size=5
)


@settings(max_examples=15, deadline=None)
@given(FILES, FILES)
def test_a_patch_and_the_work_it_records_give_one_tree(
    tmp_path_factory: pytest.TempPathFactory,
    before: dict[str, tuple[bytes, bool]],
    after: dict[str, tuple[bytes, bool]],
) -> None:
    folder = tmp_path_factory.mktemp("law")
    repo, objects = conftest.Repo(folder / "repo"), ObjectStore.create(folder / "objects.git")
    commits = []
    for files in (before, after):
        repo.git("rm", "-r", "-q", "--ignore-unmatch", "--", ".")
        for name, (data, may_run) in files.items():
            repo.write(name, data).chmod(0o755 if may_run else 0o644)
        commits.append(repo.commit())
    patch = subprocess.run(["git", "diff", "--binary", *commits], cwd=repo.path, capture_output=True, check=True).stdout
    made = snapshot_patch(repo.path, commits[0], patch, objects)
    work = snapshot_worktree(repo.path, objects, base=commits[0])
    committed = snapshot_commit(repo.path, commits[1], objects, base=commits[0])
    assert made.oid == work.oid == committed.oid
    assert made.tcd == work.tcd == committed.tcd
    assert made.flags == work.flags == committed.flags == (("no_work",) if before == after else ())


@pytest.mark.shared
@pytest.mark.parametrize(
    "case", ["patch-no-newline", "patch-binary", "patch-rename-mode", "patch-truncated", "patch-eof-newline"]
)
def test_public_faults_give_the_right_tree(
    case: str, cloned_case: Callable[[str], Path], shared_path: Callable[..., Path], objects: ObjectStore
) -> None:
    repo = cloned_case(case)
    base = (repo / "packed-refs").read_text().split("\n")[1].split(" ")[0]
    wanted = json.loads(shared_path("cases", case, "expected.json").read_text())["checks"]
    for name in "ab":
        file = shared_path("cases", case) / f"{name}.patch"
        if not file.exists():
            continue
        result = snapshot_patch(repo, base, file.read_bytes(), objects)
        assert result.oid == wanted[f"tree_{name}"]
        if result.oid is None:
            assert wanted[f"{name}_error"] in (result.null_reason or "")
