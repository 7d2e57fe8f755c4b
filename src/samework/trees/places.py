"""Find the parts of an agent's repository by reading its files, as data: no Git command is asked.

Refuses ids that are not hex, and follows at most one `gitdir:` and one `commondir`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from samework.canon.commit_ids import commit_id
from samework.errors import GitInputError, InputError
from samework.text import shortened
from samework.trees.neutral_git import LOOKUP_TIMEOUT_S, NeutralGit

_SECTION = re.compile(rb"\s*\[\s*([A-Za-z0-9.-]+)[^\]]*\]")
_FORMAT = re.compile(rb"objectformat\s*=\s*\"?(sha1|sha256)\b", re.IGNORECASE)
_MAX_POINTER_BYTES = 1 << 13
_MAX_CONFIG_BYTES = 1 << 20
_SHOWN = 80


@dataclass(frozen=True)
class GitPlace:
    """Where a repository keeps what we read: objects (as alternates), index (copied), info/exclude (looked at)."""

    git_dir: Path
    common_dir: Path
    object_format: str

    @property
    def objects_path(self) -> Path:
        """Its object directory."""
        return self.common_dir / "objects"

    @property
    def index_path(self) -> Path:
        """Its index; may be absent."""
        return self.git_dir / "index"


def find_git_place(path: Path) -> GitPlace | None:
    """Find the repository whose work tree, or whose Git directory, is `path` itself.

    Args:
        path: a directory.

    Returns:
        The place, or None where there is no repository (a plain directory, a broken pointer, alternates that are a
        pipe or a device).
    """
    for candidate in (pointed(path / ".git"), path):
        if candidate is None or not (candidate / "HEAD").is_file():
            continue
        common = pointer(candidate / "commondir", b"")
        common_dir = candidate if common is None else (candidate / common)
        alternates = common_dir / "objects" / "info" / "alternates"
        if (common_dir / "objects").is_dir() and (alternates.is_file() or not alternates.exists()):
            return GitPlace(candidate.resolve(), common_dir.resolve(), _object_format(common_dir / "config"))
    return None


def repository_at(path: Path) -> GitPlace:
    """The repository at `path`.

    Raises:
        InputError: there is no such directory.
        GitInputError: the directory is no repository.
    """
    directory(path)
    place = find_git_place(path)
    if place is None:
        raise GitInputError("no Git repository is here", place=shortened(str(path), _SHOWN))
    return place


def directory(path: Path) -> Path:
    """The path itself, resolved.

    Raises:
        InputError: it is no directory.
    """
    if not path.is_dir():
        raise InputError("no such directory", place=shortened(str(path), _SHOWN))
    return path.resolve()


def checked_id(text: str) -> str:
    """An object id, lower case, fit to be a word of a command.

    Raises:
        GitInputError: it is not 7 to 64 hex digits: refs, options and expressions are refused.

    >>> checked_id("DEADBEEF")
    'deadbeef'
    """
    found = commit_id(text)
    if found is None:
        raise GitInputError(
            f"{shortened(text, _SHOWN)!r} is no commit id", hint="Give 7 to 64 hex digits, not a branch or an option."
        )
    return found


def resolve_tree(place: GitPlace, commit: str) -> tuple[str | None, str]:
    """Find the tree of a commit.

    Args:
        place: repository that holds it.
        commit: id of a commit or of a tree, maybe abbreviated.

    Returns:
        (whole commit id, or None where `commit` is a tree; whole tree id).

    Raises:
        GitInputError: there is no such object, or it is neither.
    """
    given = checked_id(commit)
    with NeutralGit(place.object_format, alternates=(place.objects_path,)) as git:
        try:
            tree = git.run("rev-parse", "--verify", f"{given}^{{tree}}", timeout_s=LOOKUP_TIMEOUT_S)
        except GitInputError as failure:
            raise GitInputError(
                f"no commit {given} in the repository", place=shortened(str(place.common_dir), _SHOWN)
            ) from failure
        try:
            found = git.run("rev-parse", "--verify", f"{given}^{{commit}}", timeout_s=LOOKUP_TIMEOUT_S)
            whole = found.decode().strip()
        except GitInputError:
            return None, tree.decode().strip()
    return whole, tree.decode().strip()


def pointed(dot_git: Path) -> Path | None:
    """The Git directory that a `.git` is or names, None where it is neither."""
    if dot_git.is_dir():
        return dot_git
    target = pointer(dot_git, b"gitdir:")
    return None if target is None else dot_git.parent / target


def pointer(path: Path, word: bytes) -> Path | None:
    """What a file names after `word`; None where it is no file or says something else."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        text = file.read(_MAX_POINTER_BYTES)
    if not text.startswith(word) or b"\0" in text:
        return None
    return Path(text[len(word) :].strip().decode("utf-8", "surrogateescape"))


def _object_format(config: Path) -> str:
    """Read `extensions.objectFormat` from a configuration; sha1 where it says nothing."""
    if not config.is_file():
        return "sha1"
    with config.open("rb") as file:
        text = file.read(_MAX_CONFIG_BYTES)
    section, found = b"", "sha1"
    for line in text.split(b"\n"):
        head = _SECTION.match(line)
        if head is not None:
            section = head.group(1).lower()
        value = _FORMAT.search(line) if section == b"extensions" else None
        if value is not None and not line.lstrip().startswith((b"#", b";")):
            found = value.group(1).decode().lower()
    return found
