"""Apply a patch to a base, in an index of ours: no file is written, nothing of theirs is touched.

Refuses to apply in part: a patch that Git does not take, or that is cut, gives no tree and carries the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.canon.patch import PatchFacts, parse_patch
from samework.canon.patch_names import unquoted
from samework.errors import GitInputError, LimitExceeded
from samework.model.words import Grade
from samework.trees.places import repository_at
from samework.trees.snapshot import Base, described, failed, take_base

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from samework.model.results import SnapshotResult
    from samework.trees.object_store import ObjectStore

_KEPT_INDEXES = 4


def snapshot_patch(
    repo: Path, base: str, patch: bytes, objects: ObjectStore, *, scope: Sequence[str] = ()
) -> SnapshotResult:
    """Take the tree that a patch makes of a base commit.

    Args:
        repo: a repository that holds the base.
        base: hex id of the commit.
        patch: the patch as recorded; the declared repairs of `canon.patch` are made first.
        objects: our object database.
        scope: globs of paths to drop.

    Returns:
        The tree, grade derived; of an empty patch, the base's with flag `no_work`; without oid, with Git's reason,
        where the patch is damaged or does not apply.

    Raises:
        InputError: there is no such repository.
        GitInputError: the base is not in it.
    """
    known = take_base(repository_at(repo), base, objects)
    facts = parse_patch(patch)
    try:
        tree = known.tree if facts.is_empty else _applied(known, facts, objects)
        flags = _id_flags(known.tree, tree, facts, objects)
        entries = objects.read_tree(tree)
        return described(
            "patch", tree, entries, objects, scope=tuple(scope), base=known, flags=flags, grade=Grade.DERIVED
        )
    except (GitInputError, LimitExceeded) as failure:
        return failed("patch", "patch_failed", failure, scope=tuple(scope), base=known)


def _applied(base: Base, facts: PatchFacts, objects: ObjectStore) -> str:
    with objects.git("sha1" if len(base.tree) == 40 else "sha256") as git:  # noqa: PLR2004 (hex digits)
        held = objects.base_indexes.get(base.tree)
        if held is None:
            git.run("read-tree", base.tree)
            while len(objects.base_indexes) >= _KEPT_INDEXES:
                objects.base_indexes.pop(next(iter(objects.base_indexes)))
            objects.base_indexes[base.tree] = git.index_path.read_bytes()
        else:
            git.index_path.write_bytes(held)
        git.run("apply", "--cached", "--whitespace=nowarn", f"-p{facts.n_strip}", "-", stdin=facts.normalised)
        if facts.status == "damaged":
            raise GitInputError(f"the patch is damaged: {facts.reason}", code="git-failed")
        return git.run("write-tree").decode().strip()


def _id_flags(base: str, tree: str, facts: PatchFacts, objects: ObjectStore) -> list[str]:
    """Compare the ids that the patch states with those of the base and of the result.

    What a new path was moved or copied from lies elsewhere in the base.
    """
    flags = []
    before = [(path.path, path.before_id) for path in facts.paths if path.change != "add"]
    after = [(path.path, path.blob_id) for path in facts.paths]
    for side, stated, flag in ((base, before, "base_differs"), (tree, after, "post_image_differs")):
        if any(oid and oid.strip("0") and not _holds(objects, side, path, oid) for path, oid in stated):
            flags.append(flag)
    return flags


def _holds(objects: ObjectStore, tree: str, path: str, oid: str) -> bool:
    entry = objects.find(tree, _path_bytes(path))
    return entry is not None and entry.oid.startswith(oid)


def _path_bytes(shown: str) -> bytes:
    raw = shown.encode("utf-8", "surrogateescape")
    found = unquoted(raw) if raw.startswith(b'"') else None
    return raw if found is None else found[0]
