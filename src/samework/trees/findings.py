"""Flags of a snapshot: what a reader of a tree id must know about how the files became that tree.

Slugs: no_work, ignore_rules_changed, crlf_normalised, content_normalised, filters_not_run, local_excludes_not_used,
index_not_read, base_differs, post_image_differs and `fsck:<message id>`. Refuses to turn a flag into a verdict.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from samework.canon.patch_names import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from samework.trees.neutral_git import NeutralGit
    from samework.trees.object_store import ObjectStore
    from samework.trees.places import GitPlace
    from samework.trees.tree_objects import TreeEntry

_FILTER = re.compile(rb"(?:^|\s)filter=", re.MULTILINE)
_RULE = re.compile(rb"^\s*[^#\s]", re.MULTILINE)
_CONVERTING = ("ident", "working-tree-encoding")
_UNSET = frozenset({b"unspecified", b"unset"})
_MAX_EXCLUDE_BYTES = 1 << 20


def name_of(path: bytes) -> bytes:
    """Last component of a path."""
    return path.rpartition(b"/")[2]


def self_hiding_rules(git: NeutralGit, ignored: Iterable[bytes]) -> list[bytes]:
    """Ignore files that only they themselves hide; those of a directory that is ignored anyway hide nothing more."""
    rules = [path for path in ignored if name_of(path) == b".gitignore"]
    if not rules:
        return []
    folders = {path: path.rpartition(b"/")[0] for path in rules}
    asked = b"".join(b"./%b\0" % path for path in {rules[0], *folders.values()} if path)
    told = git.run("check-ignore", "--no-index", "-z", "--stdin", stdin=asked).split(b"\0")[:-1]
    covered = {path.removeprefix(b"./") for path in told}
    return [path for path in rules if folders[path] not in covered]


def has_changed_ignore_rules(
    reference: dict[bytes, TreeEntry], entries: list[TreeEntry], hiding: Iterable[bytes]
) -> bool:
    """True where an ignore file differs from the reference, or hides itself.

    Args:
        reference: the base's paths.
        entries: the result's paths.
        hiding: ignore files that hide themselves.
    """
    before = {(path, entry.oid) for path, entry in reference.items() if name_of(path) == b".gitignore"}
    after = {(entry.path, entry.oid) for entry in entries if name_of(entry.path) == b".gitignore"}
    return before != after or any(True for _ in hiding)


def attribute_flags(
    git: NeutralGit, objects: ObjectStore, entries: list[TreeEntry], ignored: Iterable[bytes]
) -> list[str]:
    """Flags for content that `.gitattributes` makes differ from the bytes of the work tree."""
    rules = [entry for entry in entries if name_of(entry.path) == b".gitattributes" and entry.kind != "gitlink"]
    if not rules and not any(name_of(path) == b".gitattributes" for path in ignored):
        return []
    flags = ["filters_not_run"] if any(_FILTER.search(objects.read_blob(rule.oid)) for rule in rules) else []
    content = _converted_content(git, entries)
    flags += ["crlf_normalised"] if _has_other_line_ends(git, content) else []
    return flags + (["content_normalised"] if content else [])


def _has_other_line_ends(git: NeutralGit, told: set[bytes]) -> bool:
    """True where the line ends of a file are not those of its blob; `told` are files that differ for more than that."""
    for line in git.run("ls-files", "--eol", "-z").split(b"\0"):
        facts, _, path = line.partition(b"\t")
        words = facts.split()
        if len(words) > 1 and words[0].removeprefix(b"i/") != words[1].removeprefix(b"w/") and path not in told:
            return True
    return False


def _converted_content(git: NeutralGit, entries: list[TreeEntry]) -> set[bytes]:
    """Files that `ident` or `working-tree-encoding` made differ from their blobs."""
    blobs = {entry.path: entry.oid for entry in entries if entry.kind in ("file", "exec")}
    asked = b"".join(path + b"\0" for path in blobs)
    answers = git.run("check-attr", "-z", "--stdin", *_CONVERTING, stdin=asked).split(b"\0")[:-1]
    named = dict.fromkeys(path for path, value in zip(answers[::3], answers[2::3], strict=True) if value not in _UNSET)
    if not named:
        return set()
    listed = b"".join(quoted(path).encode() + b"\n" for path in named)
    raw = git.run("hash-object", "--no-filters", "--stdin-paths", stdin=listed).decode().split()
    return {path for path, oid in zip(named, raw, strict=True) if blobs[path] != oid}


def has_local_excludes(place: GitPlace) -> bool:
    """True where `info/exclude` holds rules; they are not part of the work and are not obeyed."""
    path = place.common_dir / "info" / "exclude"
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return _RULE.search(file.read(_MAX_EXCLUDE_BYTES)) is not None
