"""What belongs to the tree of a run, and what makes it unknown."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from samework.errors import GitInputError, InputError
from samework.model.words import Grade
from samework.trees.scope import is_dropped
from samework.trees.snapshot import snapshot_commit, snapshot_worktree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from samework.trees.object_store import ObjectStore

    from .conftest import Repo


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_worktree_is_what_git_would_add(
    make_repo: Callable[..., Repo], objects: ObjectStore, object_format: str
) -> None:
    repo = make_repo(object_format=object_format)
    repo.write("kept.py", "a\n")
    repo.write("gone.py")
    repo.write(".gitignore", "*.log\n")
    base = repo.commit()
    repo.write("kept.py", "b\n")
    (repo.path / "gone.py").unlink()
    repo.write("new/deep.py").chmod(0o755)
    repo.write("noise.log")
    (repo.path / "link").symlink_to("kept.py")
    (repo.path / "empty").mkdir()
    index = (repo.path / ".git" / "index").read_bytes()
    result = snapshot_worktree(repo.path, objects, base=base)
    assert (repo.path / ".git" / "index").read_bytes() == index
    assert result.oid == repo.own_tree()
    assert (result.policy, result.grade, result.object_format) == ("worktree", Grade.DIRECT, object_format)
    assert (result.n_files, result.flags, result.base_commit) == (4, (), base)
    assert (result.n_ignored, result.ignored_sha256) == (1, hashlib.sha256(b"noise.log\0").hexdigest())
    assert snapshot_commit(repo.path, base, objects).oid == result.base_oid


def test_untouched_work_is_no_work(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write("a")
    base = repo.commit()
    assert snapshot_worktree(repo.path, objects, base=base).flags == ("no_work",)
    assert snapshot_commit(repo.path, base, objects, base=base).flags == ("no_work",)


def test_committed_work_counts_against_the_base(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write("a")
    base = repo.commit()
    repo.write("a", "work\n")
    head = repo.commit()
    result = snapshot_worktree(repo.path, objects, base=base)
    assert "no_work" not in result.flags
    assert result.oid == snapshot_commit(repo.path, head, objects).oid


def test_a_plain_directory_has_a_tree(tmp_path: Path, objects: ObjectStore) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a").write_text("x\n")
    result = snapshot_worktree(folder, objects)
    assert (result.n_files, result.flags) == (1, ())
    with pytest.raises(GitInputError):
        snapshot_worktree(folder, objects, base="a" * 40)


def test_the_exec_bit_and_the_kind_of_file_are_significant(
    make_repo: Callable[..., Repo], objects: ObjectStore
) -> None:
    repo = make_repo()
    file = repo.write("a", "target")
    oids = {snapshot_worktree(repo.path, objects).tcd}
    file.chmod(0o755)
    oids.add(snapshot_worktree(repo.path, objects).tcd)
    file.unlink()
    file.symlink_to("target")
    oids.add(snapshot_worktree(repo.path, objects).tcd)
    assert len(oids) == 3


def test_a_tracked_file_belongs_to_the_tree_though_an_ignore_rule_covers_it(
    make_repo: Callable[..., Repo], objects: ObjectStore
) -> None:
    repo = make_repo()
    repo.write(".gitignore", "*.cfg\n")
    repo.write("a.cfg", "1\n")
    repo.git("add", "-f", "a.cfg")
    base = repo.commit()
    repo.write("a.cfg", "2\n")
    result = snapshot_worktree(repo.path, objects, base=base)
    assert (result.n_files, result.n_ignored) == (2, 0)
    assert result.oid == repo.own_tree()


def test_the_cached_states_of_their_index_are_not_believed(
    make_repo: Callable[..., Repo], objects: ObjectStore
) -> None:
    repo = make_repo()
    file = repo.write("a", "one\n")
    repo.commit()
    repo.git("update-index", "--assume-unchanged", "a")
    facts = file.stat()
    file.write_text("two\n")
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    result = snapshot_worktree(repo.path, objects)
    assert result.oid is not None
    (entry,) = objects.read_tree(result.oid)
    assert objects.read_blob(entry.oid) == b"two\n"


@pytest.mark.parametrize("rules", [".gitignore", "sub/.gitignore", ":(glob)*/.gitignore"])
def test_an_ignore_file_that_the_agent_wrote_is_flagged(
    make_repo: Callable[..., Repo], objects: ObjectStore, rules: str
) -> None:
    repo = make_repo()
    repo.write("sub/a")
    base = repo.commit()
    repo.write(rules, "*.pem\n")
    assert "ignore_rules_changed" in snapshot_worktree(repo.path, objects, base=base).flags
    assert "ignore_rules_changed" in snapshot_worktree(repo.path, objects).flags
    head = repo.commit()
    assert "ignore_rules_changed" in snapshot_commit(repo.path, head, objects, base=base).flags


def test_an_ignore_file_that_hides_itself_is_flagged(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write("a")
    base = repo.commit()
    repo.write(":(top)[x]*/.gitignore", "*\n")
    repo.write(":(top)[x]*/secret")
    result = snapshot_worktree(repo.path, objects, base=base)
    assert set(result.flags) == {"ignore_rules_changed", "no_work"}
    assert result.n_ignored == 2


def test_an_ignore_file_in_a_directory_that_is_ignored_anyway_changes_nothing(
    make_repo: Callable[..., Repo], objects: ObjectStore
) -> None:
    repo = make_repo()
    repo.write(".gitignore", ".venv\n")
    base = repo.commit()
    repo.write(".venv/.gitignore", "*\n")
    repo.write(".venv/lib/.gitignore", "*\n")
    result = snapshot_worktree(repo.path, objects, base=base)
    assert (result.flags, result.n_ignored) == (("no_work",), 2)


def test_local_excludes_are_not_obeyed_but_flagged(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write("a")
    repo.write(".git/info/exclude", "a\n")
    result = snapshot_worktree(repo.path, objects)
    assert (result.n_files, result.flags) == (1, ("local_excludes_not_used",))


def test_line_ends_count_unless_attributes_clean_them(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.git("config", "core.autocrlf", "input")
    file = repo.write("a", "x\r\n")
    crlf = snapshot_worktree(repo.path, objects)
    file.write_bytes(b"x\n")
    plain = snapshot_worktree(repo.path, objects)
    assert crlf.oid != plain.oid
    repo.write(".gitattributes", "* text=auto\n")
    clean = snapshot_worktree(repo.path, objects)
    file.write_bytes(b"x\r\n")
    cleaned = snapshot_worktree(repo.path, objects)
    assert clean.oid == cleaned.oid
    assert (clean.flags, cleaned.flags) == ((), ("crlf_normalised",))


@pytest.mark.parametrize(
    ("rule", "plain", "other"),
    [
        ("ident", b'v = "$Id$"\n', b'v = "$Id: evil $"\n'),
        ("working-tree-encoding=UTF-16", "\ufeffhi\n".encode("utf-16-le"), "\ufeffhi\n".encode("utf-16-be")),
        ("text ident", b"$Id$\n", b"$Id: evil $\r\n"),
    ],
)
def test_bytes_that_attributes_take_away_are_flagged(
    make_repo: Callable[..., Repo], objects: ObjectStore, rule: str, plain: bytes, other: bytes
) -> None:
    repo = make_repo(object_format="sha256" if rule == "ident" else "sha1")
    repo.write(".gitattributes", f"* -text\n*.py {rule}\n")
    repo.write("k", "$Id: kept $\n")
    file = repo.write('a\n"é.py', plain)
    first = snapshot_worktree(repo.path, objects)
    file.write_bytes(other)
    second = snapshot_worktree(repo.path, objects)
    assert first.oid == second.oid
    assert first.flags == (() if "ident" in rule else ("content_normalised",))
    assert second.flags == ("content_normalised",)


def test_filters_are_not_run_and_that_is_flagged(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write(".gitattributes", "*.bin filter=lfs\n")
    repo.write("a.bin", b"raw")
    result = snapshot_worktree(repo.path, objects)
    assert result.flags == ("filters_not_run",)
    assert result.oid is not None
    assert objects.find(result.oid, b"a.bin") is not None


def test_a_nested_repository_without_commit_is_unknown_with_gits_words(
    make_repo: Callable[..., Repo], objects: ObjectStore
) -> None:
    repo = make_repo()
    repo.write("a")
    base = repo.commit()
    make_repo("repo/inner").write("b")
    result = snapshot_worktree(repo.path, objects, base=base)
    assert (result.oid, result.tcd, result.grade) == (None, None, Grade.NONE)
    assert result.null_reason is not None
    assert result.null_reason.startswith("snapshot_failed: error: 'inner/' does not have a commit checked out")
    assert result.base_commit == base


@pytest.mark.parametrize("tracked", [True, False])
def test_a_submodule_is_its_commit_while_clean_and_unknown_when_dirty(
    make_repo: Callable[..., Repo], objects: ObjectStore, tracked: bool
) -> None:
    repo, inner = make_repo(), make_repo("repo/inner")
    inner.write("b")
    commit = inner.commit()
    if tracked:
        repo.commit()
    clean = snapshot_worktree(repo.path, objects)
    assert clean.oid is not None
    entry = objects.find(clean.oid, b"inner")
    assert entry is not None
    assert (entry.mode, entry.oid) == ("160000", commit)
    inner.write("untracked")
    assert (snapshot_worktree(repo.path, objects).null_reason or "").startswith("submodule_dirty: inner")


def test_a_submodule_that_is_not_checked_out_stays_in_the_tree(
    make_repo: Callable[..., Repo], objects: ObjectStore
) -> None:
    repo, inner = make_repo(), make_repo("repo/inner")
    inner.write("b")
    inner.commit()
    repo.write("a")
    base = repo.commit()
    tree = repo.git("rev-parse", "HEAD^{tree}")
    inner.path.rename(repo.path.parent / "moved")
    (repo.path / "inner").mkdir()
    result = snapshot_worktree(repo.path, objects, base=base)
    assert (result.oid, result.flags) == (tree, ("no_work",))


def test_a_sparse_checkout_is_unknown(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write("a")
    repo.write("b/c")
    repo.commit()
    repo.git("sparse-checkout", "set", "--no-cone", "/a")
    assert (snapshot_worktree(repo.path, objects).null_reason or "").startswith("sparse_checkout: ")


def test_a_linked_worktree_is_found_through_its_pointer(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write("a")
    base = repo.commit()
    linked = repo.path.parent / "linked"
    repo.git("worktree", "add", "-q", str(linked))
    assert snapshot_worktree(linked, objects, base=base).flags == ("no_work",)


def test_objects_behind_alternates_are_found(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write("a")
    base = repo.commit()
    repo.git("clone", "-q", "--shared", ".", str(repo.path.parent / "shared"))
    assert snapshot_commit(repo.path.parent / "shared", base, objects).n_files == 1


def test_a_broken_index_is_flagged_and_not_fatal(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write("a")
    repo.commit()
    (repo.path / ".git" / "index").write_bytes(b"DIRCnonsense")
    assert snapshot_worktree(repo.path, objects).flags == ("index_not_read",)


def test_a_split_index_is_read(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write(".gitignore", "*.cfg\n")
    repo.write("a.cfg")
    repo.git("add", "-f", ".")
    repo.git("update-index", "--split-index")
    assert list((repo.path / ".git").glob("sharedindex.*"))
    result = snapshot_worktree(repo.path, objects)
    assert (result.n_files, result.flags) == (2, ())


def test_a_missing_object_is_unknown_and_no_smaller_tree(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write("a")
    head = repo.commit()
    blob = repo.git("rev-parse", "HEAD:a")
    (repo.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    result = snapshot_commit(repo.path, head, objects)
    assert result.oid is None
    assert (result.null_reason or "").startswith("snapshot_failed: ")


@pytest.mark.parametrize("name", [".gitignore", "sub/.gitattributes"])
def test_a_pipe_where_git_reads_rules_does_not_hold_us(
    make_repo: Callable[..., Repo], objects: ObjectStore, name: str
) -> None:
    repo = make_repo()
    repo.write("sub/a")
    os.mkfifo(repo.path / name)
    assert snapshot_worktree(repo.path, objects).null_reason == f"snapshot_failed: {name} is no file"
    (repo.path / name).unlink()
    os.mkfifo(repo.path / "other")
    assert snapshot_worktree(repo.path, objects).n_files == 1


def test_alternates_that_are_no_file_make_no_repository(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write("a")
    head = repo.commit()
    (repo.path / ".git" / "objects" / "info" / "alternates").symlink_to("/dev/zero")
    with pytest.raises(GitInputError):
        snapshot_commit(repo.path, head, objects)


@pytest.mark.parametrize("place", ["pack/pack-1.idx", "ab/cdef", "info/alternates"])
@pytest.mark.parametrize("borrowed", [False, True])
def test_a_pipe_among_their_objects_does_not_hold_us(
    make_repo: Callable[..., Repo], objects: ObjectStore, tmp_path: Path, place: str, borrowed: bool
) -> None:
    repo = make_repo()
    repo.write("a")
    head = repo.commit()
    folder = tmp_path / "lender" if borrowed else repo.path / ".git" / "objects"
    if borrowed:
        (repo.path / ".git" / "objects" / "info" / "alternates").write_text("# theirs\n../../../lender\n")
    elif place == "info/alternates":
        return
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(folder / place)
    with pytest.raises(GitInputError, match=f"{place} is no file"):
        snapshot_commit(repo.path, head, objects)
    assert f"{place} is no file" in str(snapshot_worktree(repo.path, objects).null_reason)


@pytest.mark.parametrize("place", ["HEAD", "config", "refs/heads/main", "reftable/tables.list"])
@pytest.mark.parametrize("pointed", [False, True])
def test_a_pipe_in_a_repository_within_does_not_hold_us(
    make_repo: Callable[..., Repo], objects: ObjectStore, tmp_path: Path, place: str, pointed: bool
) -> None:
    repo, within = make_repo(), make_repo("repo/within")
    within.write("b")
    within.commit()
    within.git("symbolic-ref", "HEAD", "refs/heads/main")
    git_dir = within.path / ".git"
    if pointed:
        git_dir = git_dir.rename(tmp_path / "elsewhere")
        (within.path / ".git").write_text(f"gitdir: {git_dir}\n")
    (git_dir / place).unlink(missing_ok=True)
    (git_dir / place).parent.mkdir(exist_ok=True)
    os.mkfifo(git_dir / place)
    assert f"{place} is no file" in str(snapshot_worktree(repo.path, objects).null_reason)


def test_what_does_not_exist_is_an_error(make_repo: Callable[..., Repo], objects: ObjectStore, tmp_path: Path) -> None:
    repo = make_repo()
    with pytest.raises(InputError):
        snapshot_worktree(tmp_path / "absent", objects)
    with pytest.raises(GitInputError):
        snapshot_commit(repo.path, "a" * 40, objects)
    (tmp_path / "plain").mkdir()
    with pytest.raises(GitInputError):
        snapshot_commit(tmp_path / "plain", "a" * 40, objects)


def test_a_scope_drops_litter_and_keeps_the_whole_id(make_repo: Callable[..., Repo], objects: ObjectStore) -> None:
    repo = make_repo()
    repo.write("a")
    base = repo.commit()
    whole = snapshot_worktree(repo.path, objects)
    repo.write("logs/run.txt")
    repo.write("deep/b.tmp")
    result = snapshot_worktree(repo.path, objects, scope=["logs/", "*.tmp"], base=base)
    assert result.oid == whole.oid
    assert result.unscoped_oid == repo.own_tree()
    assert (result.n_files, result.scope) == (1, ("logs/", "*.tmp"))
    assert "no_work" not in result.flags


@pytest.mark.parametrize(
    ("glob", "path", "dropped"),
    [
        ("*.pyc", "a/b.pyc", True),
        ("*.pyc", "a/b.py", False),
        ("/top", "a/top", False),
        ("a/*/c", "a/b/c", True),
        ("a/*/c", "a/b/b/c", False),
        ("a/**/c", "a/b/b/c", True),
        ("a/**/c", "a/c", True),
        ("?", "xy", False),
        ("a.b", "axb", False),
        ("node_modules", "x/node_modules/y/z", True),
    ],
)
def test_globs_mean_what_is_declared(glob: str, path: str, dropped: bool) -> None:
    assert is_dropped(path.encode(), [glob]) is dropped
