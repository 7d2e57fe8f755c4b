"""Our own object database: trees and blobs of results, so that any two can be compared when the checkouts are gone.

A bare repository, `objects.git`; ids of sha256 repositories lie in a second one beside it, made when first needed.
Objects are only ever added. Refuses to keep what does not hash to its id: everything copied is hashed again by Git.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from samework.errors import GitInputError, StoreDamaged
from samework.trees.audit import audit_objects
from samework.trees.backends import Backend, Sha1Objects, Sha256Objects
from samework.trees.neutral_git import NeutralGit, write_git_dir
from samework.trees.tree_diff import TreeChange, tree_changes
from samework.trees.tree_objects import GITLINK_MODE, TreeEntry, find_entry, tree_faults, walk_tree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

FORMATS = {40: "sha1", 64: "sha256"}
"""Object format by the number of hex digits of an id."""

LARGE_BYTES = 1 << 26
"""Blobs beyond this are hashed from a file."""

_MANY = 1000


class ObjectStore:
    """Objects of results by id. Ids are hex; their length tells the object format."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._backends: dict[str, Backend] = {}
        self._blob_sha256: dict[str, bytes] = {}
        self._complete: set[str] = set()
        self.base_indexes: dict[str, bytes] = {}
        """Indexes of the last bases that patches were applied to, by tree id."""
        self.bases: dict[tuple[Path, str], tuple[str | None, str]] = {}
        """Commit and tree of bases that were resolved and copied, by (repository, id as given)."""

    @classmethod
    def create(cls, path: Path) -> ObjectStore:
        """Make an empty object database at `path`, or open the one that is there."""
        if not (path / "config").exists():
            write_git_dir(path, "sha1", is_bare=True, is_precious=True)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> ObjectStore:
        """Open the object database at `path`.

        Raises:
            StoreDamaged: there is none.
        """
        if not (path / "objects").is_dir():
            raise StoreDamaged("the object database is missing", place=str(path))
        return cls(path)

    def objects_path(self, object_format: str) -> Path:
        """Object directory for ids of a format; that of sha256 is made when first asked for."""
        if object_format == "sha1":
            return self.path / "objects"
        beside = _sha256_path(self.path)
        if not (beside / "config").exists():
            write_git_dir(beside, "sha256", is_bare=True, is_precious=True)
        return beside / "objects"

    def git(self, object_format: str, **more: Path) -> NeutralGit:
        """A Git directory that writes to this database."""
        return NeutralGit(object_format, objects_path=self.objects_path(object_format), **more)  # type: ignore[arg-type]

    # -- reading

    def _backend(self, oid: str) -> Backend:
        object_format = FORMATS.get(len(oid), "sha1")
        found = self._backends.get(object_format)
        if found is None:
            make = Sha1Objects if object_format == "sha1" else Sha256Objects
            found = self._backends[object_format] = make(self.objects_path(object_format))
        return found

    def has(self, oid: str) -> bool:
        """True where an object of that id is held."""
        return self._backend(oid).has(oid)

    def read(self, oid: str) -> bytes:
        """Content of an object.

        Raises:
            GitInputError: it is missing or damaged.
        """
        return self._backend(oid).read(oid)

    def n_bytes(self, oid: str) -> int:
        """Length of an object's content, without reading it whole.

        Raises:
            GitInputError: it is missing or damaged.
        """
        return self._backend(oid).n_bytes(oid)

    def read_blob(self, oid: str) -> bytes:
        """Bytes of a blob; of a symbolic link, its target.

        Raises:
            GitInputError: it is missing or damaged.
        """
        return self.read(oid)

    def read_tree(self, oid: str) -> list[TreeEntry]:
        """Every path of a tree that is not a directory, in tree order.

        Raises:
            GitInputError: a tree is missing or damaged.
            LimitExceeded: it has too many entries or levels.
        """
        return walk_tree(self._backend(oid).read, oid)

    def find(self, tree: str, path: bytes) -> TreeEntry | None:
        """The entry at one path of a tree, None where there is none."""
        return find_entry(self.read, tree, path)

    def faults(self, tree: str) -> tuple[str, ...]:
        """Ids of the `git fsck` messages that the trees below `tree` deserve."""
        return tree_faults(self._backend(tree).read, tree)

    def blob_digests(self, oids: Iterable[str]) -> dict[str, bytes]:
        """sha256 (64 hex digits, ASCII) of the bytes of blobs, by id; kept in memory, so that a blob is read once."""
        known, digests = self._blob_sha256, {}
        for oid in oids:
            digest = known.get(oid)
            if digest is None:
                digest = known[oid] = self._blob_digest(oid)
            digests[oid] = digest
        return digests

    def _blob_digest(self, oid: str) -> bytes:
        """Hash one blob; a large one goes through a file, not through memory."""
        if self.n_bytes(oid) <= LARGE_BYTES:
            return hashlib.sha256(self.read(oid)).hexdigest().encode()
        with self.git(FORMATS[len(oid)]) as git, (git.path / "large").open("w+b") as file:
            git.run("cat-file", "blob", oid, stdout=file)
            file.seek(0)
            return hashlib.file_digest(file, "sha256").hexdigest().encode()

    # -- writing

    def copy_tree(self, objects_path: Path, oid: str) -> None:
        """Copy a tree and all below it from an object directory of theirs, which is only read.

        Args:
            objects_path: their object directory.
            oid: whole id of the tree.

        Raises:
            GitInputError: an object is missing there, or does not hash to its id.
        """
        if self.is_complete(oid):
            return
        object_format = FORMATS[len(oid)]
        with NeutralGit(object_format, alternates=(objects_path,)) as theirs, self.git(object_format) as ours:
            listed = theirs.run("rev-list", "--objects", "--no-object-names", oid).decode().split()
            has = self._backend(oid).has
            wanted = [name for name in listed if not has(name)]
            pack = theirs.path / "wanted.pack"
            names = "".join(f"{name}\n" for name in wanted).encode()
            with pack.open("wb") as out:
                theirs.run("pack-objects", "--stdout", "-q", "--window=0", stdin=names, stdout=out)
            is_packed = object_format == "sha1" and len(wanted) > _MANY
            words = ("index-pack", "--stdin") if is_packed else ("unpack-objects", "-q")
            with pack.open("rb") as data:
                ours.run(*words, stdin=data)
        if not self.is_complete(oid):
            raise GitInputError(f"tree {oid} could not be copied whole", code="git-failed")

    def is_complete(self, oid: str) -> bool:
        """True where a tree and everything below it (but for the commits of submodules) is held."""
        if oid in self._complete:
            return True
        if not self.has(oid):
            return False
        try:
            blobs = {entry.oid for entry in self.read_tree(oid) if entry.mode != GITLINK_MODE}
        except GitInputError:
            return False
        if not all(map(self._backend(oid).has, blobs)):
            return False
        self._complete.add(oid)
        return True

    # -- comparing and checking

    def diff_trees(self, a: str, b: str) -> list[TreeChange]:
        """Paths in which two trees differ, sorted; trees of different object formats are compared by content."""
        return tree_changes(self, a, b)

    def verify(self) -> list[str]:
        """Hash every object again and look for what trees name but is not held.

        Returns:
            One sentence per fault; empty where all is well.
        """
        return [what for _, what in object_faults(self.path)]


def object_faults(path: Path, trees: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Hash every object of a database at `path` and of that of sha256 beside it, and look for what is not held.

    Args:
        path: the object database, which need not exist.
        trees: ids of trees that must be held.

    Yields:
        Name of the database and a sentence, per fault.
    """
    for object_format, place in (("sha1", path), ("sha256", _sha256_path(path))):
        wanted = [oid for oid in trees if FORMATS.get(len(oid)) == object_format]
        try:
            is_there = (place / "objects").is_dir()
        except OSError as error:
            yield place.name, f"it cannot be read: {error.strerror}"
            continue
        if is_there:
            yield from ((place.name, what) for what in audit_objects(place / "objects", object_format, wanted))
        elif place.exists() or wanted:
            yield place.name, "the object database is missing"


def _sha256_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}-sha256{path.suffix}")
