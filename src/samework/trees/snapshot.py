"""Take the tree of a working tree or of a commit, touching nothing of theirs.

A working tree is read with an index and a Git directory of ours: untracked files count, ignored ones are counted and
digested. What cannot be taken whole has no oid and carries Git's reason; nothing falls back to HEAD or to an empty
tree.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple

from samework.errors import GitInputError, InputError, LimitExceeded
from samework.model.results import SnapshotResult
from samework.model.words import Grade
from samework.text import shortened
from samework.trees.content_digest import content_digest
from samework.trees.findings import attribute_flags, has_changed_ignore_rules, has_local_excludes, self_hiding_rules
from samework.trees.places import GitPlace, checked_id, directory, find_git_place, repository_at, resolve_tree
from samework.trees.preflight import check_worktree
from samework.trees.scope import scoped_tree
from samework.trees.tree_objects import GITLINK_MODE, TreeEntry
from samework.trees.worktree_index import index_lines, read_tracked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from samework.trees.neutral_git import NeutralGit
    from samework.trees.object_store import ObjectStore

MAX_NESTING = 8
_SHOWN = 120


class Base(NamedTuple):
    """Where the work began: whole commit id (None for a bare tree id) and tree, already copied to our database."""

    commit: str | None
    tree: str


def snapshot_worktree(
    path: Path, objects: ObjectStore, *, scope: Sequence[str] = (), base: str | None = None
) -> SnapshotResult:
    """Take the tree of a working tree as it is now.

    Args:
        path: directory of the working tree; it need not be a repository.
        objects: our object database, to which trees and blobs are written.
        scope: globs of paths to drop.
        base: id of the commit the work began from, in the same repository.

    Returns:
        The tree, grade direct; without oid and with the reason where it cannot be taken.

    Raises:
        InputError: there is no such directory.
        GitInputError: `base` is no commit of the repository.
    """
    path = directory(path)
    place = find_git_place(path)
    known = None if base is None else take_base(repository_at(path) if place is None else place, base, objects)
    try:
        return _taken(path, place, objects, scope=tuple(scope), base=known)
    except _FAILURES as failure:
        return failed("worktree", "snapshot_failed", failure, scope=tuple(scope), base=known)


def snapshot_commit(
    repo: Path, commit: str, objects: ObjectStore, *, scope: Sequence[str] = (), base: str | None = None
) -> SnapshotResult:
    """Take the tree of a commit.

    Args:
        repo: a working tree with its repository, or a bare one.
        commit: hex id of the commit, or of a tree.
        objects: our object database.
        scope: globs of paths to drop.
        base: id of the commit the work began from.

    Returns:
        The tree, grade direct; without oid and with the reason where objects are missing or damaged.

    Raises:
        InputError: there is no such repository.
        GitInputError: the commit or the base is not in it.
    """
    place = repository_at(repo)
    _, tree = resolve_tree(place, commit)
    known = None if base is None else take_base(place, base, objects)
    try:
        objects.copy_tree(place.objects_path, tree)
        entries = objects.read_tree(tree)
        flags = [f"fsck:{fault}" for fault in objects.faults(tree)]
        if known is not None and has_changed_ignore_rules(_by_path(objects, known.tree), entries, ()):
            flags.append("ignore_rules_changed")
        return described("commit", tree, entries, objects, scope=tuple(scope), base=known, flags=flags)
    except _FAILURES as failure:
        return failed("commit", "snapshot_failed", failure, scope=tuple(scope), base=known)


_FAILURES = (GitInputError, LimitExceeded, PermissionError)


def take_base(place: GitPlace, base: str, objects: ObjectStore) -> Base:
    """Find a base commit and copy its tree.

    Raises:
        GitInputError: it is not in the repository, or not whole.
    """
    key = (place.common_dir, checked_id(base))
    found = objects.bases.get(key)
    if found is None:
        found = resolve_tree(place, base)
        objects.copy_tree(place.objects_path, found[1])
        objects.bases[key] = found
    return Base(*found)


def failed(
    policy: str, code: str, failure: Exception, *, scope: tuple[str, ...] = (), base: Base | None = None
) -> SnapshotResult:
    """A result that is unknown, with its reason: a slug, a colon and the words of whoever refused."""
    words = failure.message if isinstance(failure, InputError) else shortened(str(failure), 4 * _SHOWN)
    reason = words if isinstance(failure, _Unknown) else f"{code}: {words}"
    return SnapshotResult(
        oid=None,
        object_format=None,
        tcd=None,
        policy=policy,
        grade=Grade.NONE,
        null_reason=reason,
        base_oid=base.tree if base else None,
        base_commit=base.commit if base else None,
        scope=scope,
    )


class _Unknown(GitInputError):
    """A reason that has its own slug in front."""


def described(
    policy: str,
    tree: str,
    entries: list[TreeEntry],
    objects: ObjectStore,
    *,
    scope: tuple[str, ...] = (),
    base: Base | None = None,
    flags: Sequence[str] = (),
    grade: Grade = Grade.DIRECT,
    ignored: Sequence[bytes] | None = None,
) -> SnapshotResult:
    """A result whose tree is held in `objects`.

    Args:
        policy: worktree, commit or patch.
        tree: id of the tree.
        entries: its paths.
        objects: our object database.
        scope: globs of paths to drop.
        base: where the work began.
        flags: findings.
        grade: evidence grade.
        ignored: paths left out by ignore rules; None where there is no working tree.
    """
    object_format = "sha1" if len(tree) == 40 else "sha256"  # noqa: PLR2004 (hex digits)
    found, whole = list(flags), tree
    if base is not None and base.tree == tree:
        found.append("no_work")
    if scope:
        with objects.git(object_format) as git:
            tree = scoped_tree(git, tree, entries, scope)
        entries = objects.read_tree(tree)
    return SnapshotResult(
        oid=tree,
        object_format=object_format,
        tcd=content_digest(objects, entries),
        policy=policy,
        grade=grade,
        base_oid=base.tree if base else None,
        base_commit=base.commit if base else None,
        n_files=len(entries),
        n_ignored=None if ignored is None else len(ignored),
        ignored_sha256=None if ignored is None else hashlib.sha256(b"".join(p + b"\0" for p in ignored)).hexdigest(),
        scope=scope,
        flags=tuple(dict.fromkeys(found)),
        unscoped_oid=whole if scope else None,
    )


def _taken(
    path: Path,
    place: GitPlace | None,
    objects: ObjectStore,
    *,
    scope: tuple[str, ...] = (),
    base: Base | None = None,
    nesting: int = 0,
) -> SnapshotResult:
    check_worktree(path)
    flags = []
    reference = {} if base is None else _by_path(objects, base.tree)
    seed = dict(reference)
    if place is not None:
        tracked = read_tracked(place)
        if tracked.is_sparse:
            raise _Unknown("sparse_checkout: some tracked files are deliberately not checked out")
        seed |= tracked.entries
        flags += [] if tracked.is_read else ["index_not_read"]
        flags += ["local_excludes_not_used"] if has_local_excludes(place) else []
    object_format = place.object_format if place else "sha1"
    with objects.git(object_format, work_tree=path) as git:
        tree = _written(git, path, seed)
        ignored = sorted(git.run("ls-files", "-o", "-i", "--exclude-standard", "-z").split(b"\0")[:-1])
        entries = objects.read_tree(tree)
        flags += attribute_flags(git, objects, entries, ignored)
        hiding = self_hiding_rules(git, ignored)
    for entry in entries:
        if entry.mode == GITLINK_MODE:
            _check_submodule(path, entry, objects, nesting)
    if (base or place) and has_changed_ignore_rules(reference if base else seed, entries, hiding):
        flags.append("ignore_rules_changed")
    return described("worktree", tree, entries, objects, scope=scope, base=base, flags=flags, ignored=ignored)


def _written(git: NeutralGit, path: Path, seed: dict[bytes, TreeEntry]) -> str:
    """Write the tree of a working tree.

    A submodule that is checked out must not be in the index when `add` runs: Git would ask for its status, in its own
    repository and under its own configuration. Such ones are added anew; `update-index` only reads their HEAD.
    """
    links = {name: entry for name, entry in seed.items() if entry.mode == GITLINK_MODE}
    inside = {name for name in links if os.path.lexists(_below(path, name) / ".git")}
    kept = {
        name: entry
        for name, entry in seed.items()
        if name not in links or (name not in inside and _is_empty_directory(_below(path, name)))
    }
    git.run("update-index", "-z", "--index-info", stdin=index_lines(kept))
    git.run("add", "-A", "--no-warn-embedded-repo")
    if inside:
        names = b"".join(name + b"\0" for name in sorted(inside))
        git.run("update-index", "--add", "-z", "--stdin", stdin=names)
    return git.run("write-tree").decode().strip()


def _check_submodule(path: Path, entry: TreeEntry, objects: ObjectStore, nesting: int) -> None:
    """Refuse a nested repository whose files are not those of the commit that stands for it."""
    nested = _below(path, entry.path)
    name = shortened(entry.path.decode("utf-8", "backslashreplace"), _SHOWN)
    if not os.path.lexists(nested / ".git"):
        return
    place = find_git_place(nested)
    if place is None or nesting >= MAX_NESTING:
        raise _Unknown(f"submodule_dirty: {name} cannot be checked")
    try:
        _, wanted = resolve_tree(place, entry.oid)
        held = _taken(nested, place, objects, nesting=nesting + 1).oid
    except _FAILURES as failure:
        words = failure.message if isinstance(failure, InputError) else str(failure)
        raise _Unknown(f"submodule_dirty: {name} cannot be checked: {shortened(words, _SHOWN)}") from failure
    if held != wanted:
        raise _Unknown(f"submodule_dirty: {name} holds changes that its commit {entry.oid[:12]} does not")


def _by_path(objects: ObjectStore, tree: str) -> dict[bytes, TreeEntry]:
    return {entry.path: entry for entry in objects.read_tree(tree)}


def _below(path: Path, name: bytes) -> Path:
    return path / os.fsdecode(name)


def _is_empty_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and next(path.iterdir(), None) is None
