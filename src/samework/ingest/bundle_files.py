"""The files that a bundle's run.json refers to: what belongs to it, and the digest of them all.

Refuses to interpret a run.json beyond its references; the bundle reader does that.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from samework.canon.arguments import canonical_value
from samework.decode.document import read_document
from samework.errors import InputError
from samework.model.records import TreeRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from samework.model.reader import Source

RUN = "run.json"
_CHUNK_BYTES = 1 << 20


def owned_names(bundle: Source) -> list[str] | None:
    """run.json and every relative name in it, files and directories, existing or not.

    None where run.json cannot be read: then nobody knows what is the bundle's own.
    """
    try:
        run = read_document(_run_json(bundle))
    except InputError:
        return None
    return [RUN, *_references(run)]


def files(bundle: Source) -> list[tuple[str, Source]]:
    """The files of a bundle that exist, by name, sorted; all files of a set that is no bundle.

    Raises: InputError: run.json is damaged, or a name leaves the bundle.
    """
    if bundle.child(RUN) is None:
        return [(name, found) for name in bundle.names() if (found := bundle.child(name)) is not None]
    run = read_document(_run_json(bundle))
    names = sorted({RUN, *_references(run)} - set(_directories(run)))
    return [(name, found) for name in names if (found := _named(bundle, name)) is not None]


def worktree(bundle: Source) -> TreeRecord | None:
    """The working tree that run.json refers to, None where it refers to none."""
    run = read_document(_run_json(bundle))
    tree = run.get("tree") if isinstance(run, dict) else None
    if not isinstance(tree, dict) or not isinstance(tree.get("worktree"), str):
        return None
    base = tree.get("base")
    return TreeRecord(worktree=tree["worktree"], base=base if isinstance(base, str) else None)


def contents(parts: list[tuple[str, Source]], tree_oid: str | None, keep: Callable[[Source, str], object]) -> bytes:
    """The document that lists a bundle's files with their digests; its sha256 is the bundle's identity.

    Args: parts: as `files` gives them. tree_oid: of its working tree. keep: called with each file and its digest.
    """
    listed: list[dict[str, object]] = []
    for name, source in parts:
        digest, n_bytes = hashed(source)
        keep(source, digest)
        listed.append({"name": name, "sha256": digest, "n_bytes": n_bytes})
    document: dict[str, object] = {"files": listed}
    if tree_oid is not None:
        document["tree"] = tree_oid
    return canonical_value(document).encode()


def document_sha256(document: bytes) -> str:
    """Identity of a bundle, hex: sha256 of the document that `contents` makes."""
    return hashlib.sha256(document).hexdigest()


def hashed(source: Source) -> tuple[str, int]:
    """sha256 in hex and length of a source's bytes. Raises InputError where it cannot be opened."""
    made, n_bytes = hashlib.sha256(), 0
    with source.open() as stream:
        while part := stream.read(_CHUNK_BYTES):
            made.update(part)
            n_bytes += len(part)
    return made.hexdigest(), n_bytes


def _named(bundle: Source, name: str) -> Source | None:
    try:
        return bundle.child(name)
    except InputError as error:
        raise InputError(
            error.message,
            place=error.place,
            hint="Its run.json names the file. Copy it into the bundle, and name it from there.",
            code=error.code,
        ) from error


def _run_json(bundle: Source) -> Source:
    found = bundle.child(RUN)
    if found is None:
        raise InputError("a bundle without run.json", place=bundle.path)
    return found


def _references(run: object) -> Iterator[str]:
    if not isinstance(run, dict):
        return
    candidates = [run.get("transcript"), run.get("manifest")]
    tests = run.get("tests")
    candidates += [test.get("report") for test in tests if isinstance(test, dict)] if isinstance(tests, list) else []
    tree = run.get("tree")
    if isinstance(tree, dict):
        candidates += [tree.get(key) for key in ("worktree", "repo", "patch")]
    invariants = run.get("invariants")
    candidates.append(invariants if isinstance(invariants, str) else None)
    yield from (name for name in candidates if isinstance(name, str) and name)


def _directories(run: object) -> Iterator[str]:
    tree = run.get("tree") if isinstance(run, dict) else None
    if isinstance(tree, dict):
        yield from (name for key in ("worktree", "repo") if isinstance(name := tree.get(key), str))
