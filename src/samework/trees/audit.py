"""Hash every object of a database again, and look for what trees name but is not held.

Refuses to trust an index or a file name: the bytes are inflated and hashed.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from typing import TYPE_CHECKING

from samework.errors import GitInputError, LimitExceeded
from samework.trees.neutral_git import NeutralGit
from samework.trees.object_files import check_objects
from samework.trees.tree_objects import raw_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_FANOUT = re.compile(r"[0-9a-f]{2}\Z")
_CHUNK_BYTES = 1 << 20
_BATCH = 500


def audit_objects(objects_path: Path, object_format: str, trees: Iterable[str] = ()) -> Iterator[str]:
    """Yield one sentence per fault of an object directory of ours.

    Args:
        objects_path: the object directory.
        object_format: sha1 or sha256.
        trees: ids of trees that must be held.
    """
    try:
        check_objects(objects_path)
        if (objects_path / "info" / "alternates").exists():
            yield "info/alternates: it borrows objects, which may be gone tomorrow"
            return
        faults = list(_loose_faults(objects_path, object_format))
        with NeutralGit(object_format, objects_path=objects_path) as git:
            faults += _pack_faults(git, objects_path)
            yield from faults
            if not faults:
                yield from _missing_faults(git, trees)
    except (GitInputError, LimitExceeded) as failure:
        yield failure.message
    except OSError as error:
        yield f"{error.filename or objects_path.name}: it cannot be read: {error.strerror}"


def _loose_faults(objects_path: Path, object_format: str) -> Iterator[str]:
    for folder in sorted(objects_path.iterdir()):
        if not _FANOUT.match(folder.name):
            continue
        for file in sorted(folder.iterdir()):
            oid = folder.name + file.name
            if not file.name.startswith("tmp_obj_") and _loose_digest(file, object_format) != oid:
                yield f"object {oid} does not hash to its id"


def _loose_digest(file: Path, object_format: str) -> str | None:
    """Hash of an object as it lies in its file; None where it cannot be inflated."""
    inflater, digest = zlib.decompressobj(), hashlib.new(object_format)
    try:
        with file.open("rb") as data:
            while chunk := data.read(_CHUNK_BYTES):
                digest.update(inflater.decompress(chunk))
    except zlib.error:
        return None
    return digest.hexdigest() if inflater.eof else None


def _pack_faults(git: NeutralGit, objects_path: Path) -> Iterator[str]:
    for pack in sorted((objects_path / "pack").glob("*.pack")):
        try:
            git.run("index-pack", "--verify", str(pack.resolve()))
        except GitInputError as failure:
            yield f"{pack.name}: {failure.message}"


def _missing_faults(git: NeutralGit, wanted: Iterable[str]) -> Iterator[str]:
    """Compare what all trees name, and which trees are wanted, with what is held."""
    told = git.run("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)").decode().split("\n")
    kinds = dict(line.split(" ") for line in told if line)
    yield from (f"tree {oid} is not held" for oid in sorted(wanted) if kinds.get(oid) != "tree")
    trees = [oid for oid, kind in kinds.items() if kind == "tree"]
    for start in range(0, len(trees), _BATCH):
        batch = trees[start : start + _BATCH]
        data = git.run("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in batch).encode())
        place = 0
        for oid in batch:
            end = data.index(b"\n", place)
            size = int(data[place:end].split(b" ")[2])
            for mode, _, raw in raw_entries(data[end + 1 : end + 1 + size], oid):
                if mode != b"160000" and raw.hex() not in kinds:
                    yield f"tree {oid} names object {raw.hex()}, which is not held"
            place = end + 2 + size
