"""Trees of runs: where a record says one is, it is taken into the store's own object database.

Refuses paths that leave the source unless the user gave them; what cannot be had is a tree with its reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from samework.canon.commit_ids import commit_id
from samework.decode.source import DirSource
from samework.errors import GitInputError, InputError
from samework.model.results import SnapshotResult
from samework.model.words import Grade
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from samework.model.reader import Source
    from samework.model.records import TreeRecord
    from samework.store.connection import StoreHandle
    from samework.trees.object_store import ObjectStore

_SHA1_DIGITS, _SHA256_DIGITS = 40, 64


class Trees:
    """Takes trees. The object database is opened when the first is wanted, and made where it does not exist.

    Args:
        handle: an open store.
        known: trees that were taken before, by `key_of`; with them none is taken anew, for the places may have changed
            or be gone.
    """

    def __init__(self, handle: StoreHandle, known: Mapping[str, SnapshotResult] | None = None) -> None:
        self._handle = handle
        self._known = known
        self._taken_here: dict[str, SnapshotResult] = {}
        self._objects: ObjectStore | None = None
        self._last: tuple[str, TreeRecord, SnapshotResult] | None = None

    @property
    def objects(self) -> ObjectStore:
        """The store's object database."""
        if self._objects is None:
            from samework.trees.object_store import ObjectStore

            path = self._handle.objects_path
            self._objects = ObjectStore.open(path) if path.exists() else ObjectStore.create(path)
        return self._objects

    def worktree(self, path: Path, base: str | None = None) -> SnapshotResult:
        """The tree of a working tree. Raises InputError where it does not exist."""
        from samework.trees.snapshot import snapshot_worktree

        return snapshot_worktree(path, self.objects, base=base)

    def commit(self, repo: Path, commit: str) -> SnapshotResult:
        """The tree of a commit."""
        from samework.trees.snapshot import snapshot_commit

        return snapshot_commit(repo, commit, self.objects)

    def patch(self, repo: Path, base: str, patch: bytes) -> SnapshotResult:
        """The tree that a patch makes of a base."""
        from samework.trees.apply_patch import snapshot_patch

        return snapshot_patch(repo, base, patch, self.objects)

    def recorded(self, record: TreeRecord, source: Source, patch: bytes | None) -> SnapshotResult | None:
        """The tree that a source's record names; None for a patch without its repository.

        Never raises for what the record says: a tree that cannot be had carries the reason.
        """
        if record.oid is not None:
            return asserted(record.oid)
        policy = "worktree" if record.worktree is not None else "commit" if record.commit is not None else "patch"
        name = record.worktree if record.worktree is not None else record.repo
        if name is None:
            return None
        if self._last is not None and self._last[:2] == (source.path, record):
            return self._last[2]
        key = key_of(source.path, record)
        if self._known is not None:
            taken = self._known.get(key) or missing(policy, "the tree of then is not known any more", record.base)
        else:
            try:
                taken = self._taken(_inside(source, name), record, patch)
            except InputError as error:
                taken = missing(policy, error.message, record.base)
        self._taken_here[key] = taken
        if record.worktree is not None:  # asked for twice: for the identity of the source, and for the run
            self._last = (source.path, record, taken)
        return taken

    def drain(self) -> dict[str, SnapshotResult]:
        """The trees taken since the last call, by `key_of`."""
        taken, self._taken_here = self._taken_here, {}
        return taken

    def _taken(self, folder: Path, record: TreeRecord, patch: bytes | None) -> SnapshotResult:
        if record.worktree is not None:
            return self.worktree(folder, record.base)
        if record.commit is not None:
            return self.commit(folder, record.commit)
        if record.base is None or patch is None:
            return missing("patch", "neither a commit nor a base with a patch is recorded", record.base)
        return self.patch(folder, record.base, patch)


def key_of(path: str, record: TreeRecord) -> str:
    """A name for the tree that a source's record asks for."""
    return f"{path}\n{msgspec.json.encode(record).decode()}"


def asserted(oid: str) -> SnapshotResult:
    """A tree of which only the id is known, by the source's word."""
    digits = oid.lower()
    formats = {_SHA1_DIGITS: "sha1", _SHA256_DIGITS: "sha256"}
    if len(digits) not in formats or not all(digit in "0123456789abcdef" for digit in digits):
        return missing("asserted", f"{shortened(oid, 80)} is no tree id")
    return SnapshotResult(digits, formats[len(digits)], None, "asserted", Grade.ASSERTED)


def missing(policy: str, reason: str, base: str | None = None) -> SnapshotResult:
    """No tree, and why."""
    return SnapshotResult(None, None, None, policy, Grade.NONE, null_reason=reason, base_commit=commit_id(base))


def _inside(source: Source, name: str) -> Path:
    if not isinstance(source, DirSource):
        raise GitInputError("a working tree inside an archive or beside a single file is not read")
    if name in {".", "./"}:
        return source.folder
    found = source.place(name)
    if found is None or not found.is_dir():
        raise GitInputError(f"there is no directory {shortened(name, 120)}")
    return found


def user_path(path: str | Path) -> Path:
    """A path that the user gave on the command line: it may lie anywhere.

    Raises: InputError: it does not exist.
    """
    found = Path(path)
    if not found.exists():
        raise InputError("there is no such file or directory", place=shortened(str(path), 200), code="no-such-path")
    return found
