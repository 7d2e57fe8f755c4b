"""The only place that runs Git: a Git directory of our own, made anew each time, with nothing of theirs in force.

Their configuration, hooks, filters, attributes outside the tree, index and refs are never in the path of a command;
of theirs only object directories (read, as alternates) and a work tree may be named. Refuses to run in their `.git`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from samework.canon.patch_names import quoted
from samework.errors import GitInputError, SameworkError
from samework.text import shortened
from samework.trees.object_files import check_objects

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

GIT_TIMEOUT_S = 900
"""A command that has not ended by then is stopped and counts as failed."""

LOOKUP_TIMEOUT_S = 60
"""The same for a command that only looks something up."""

_MAX_WORDS = 500
_MAX_LINES = 3
_SETTINGS = """\
\tfileMode = true
\tsymlinks = true
\tignoreCase = false
\tprecomposeUnicode = false
\tprotectHFS = false
\tprotectNTFS = false
\tautocrlf = false
\tsafecrlf = false
\teol = lf
\tfsmonitor = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tuntrackedCache = false
\tsplitIndex = false
\tsparseCheckout = false
\tcommitGraph = false
\tmultiPackIndex = false
\tlooseCompression = 1
[pack]
\tcompression = 1
[gc]
\tauto = 0
\tpruneExpire = never
[maintenance]
\tauto = false
[protocol]
\tallow = never
[safe]
\tbareRepository = explicit
[submodule]
\trecurse = false
[diff]
\tignoreSubmodules = all
[advice]
\taddEmbeddedRepo = false
"""
_PINNED = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
    "TZ": "UTC",
}


def write_git_dir(
    path: Path, object_format: str, *, is_bare: bool, is_precious: bool = False, holds_objects: bool = True
) -> None:
    """Write an empty Git directory with pinned settings, without running Git and without any template.

    Args:
        path: directory to fill; made where absent.
        object_format: sha1 or sha256.
        is_bare: False where a work tree will be named.
        is_precious: True forbids Git to prune objects that no ref reaches.
        holds_objects: False where the objects lie elsewhere.
    """
    for part in ("refs", "objects/info", "objects/pack") if holds_objects else ("refs",):
        (path / part).mkdir(parents=True, exist_ok=True)
    extensions = [f"\tobjectFormat = {object_format}"] if object_format != "sha1" else []
    extensions += ["\tpreciousObjects = true"] if is_precious else []
    head = f"[core]\n\trepositoryformatversion = 1\n\tbare = {str(is_bare).lower()}\n"
    tail = "\n".join(["[extensions]", *extensions, ""]) if extensions else ""
    (path / "config").write_text(head + _SETTINGS + tail, encoding="utf-8")
    (path / "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")


class NeutralGit:
    """A Git directory for a few commands; use it in a `with`."""

    def __init__(
        self,
        object_format: str,
        *,
        objects_path: Path | None = None,
        alternates: Sequence[Path] = (),
        work_tree: Path | None = None,
    ) -> None:
        """Name what the commands may touch.

        Args:
            object_format: sha1 or sha256.
            objects_path: object directory of ours to write to; None: one that is thrown away.
            alternates: object directories to read from, theirs among them.
            work_tree: directory whose files are read.

        Raises:
            GitInputError: an object directory of theirs holds what Git would wait for.
        """
        for theirs in alternates:
            check_objects(theirs)
        self._program = shutil.which("git")
        if self._program is None:
            raise SameworkError("git is not on PATH", code="git-missing", hint="Install git 2.39 or newer.")
        self._dir = tempfile.TemporaryDirectory(prefix="samework-git-")
        self.path = Path(self._dir.name)
        write_git_dir(self.path, object_format, is_bare=work_tree is None, holds_objects=objects_path is None)
        """The Git directory; it is gone after the `with`, and may hold files of the caller until then."""
        self._work_tree = work_tree
        self._env = {
            **_PINNED,
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": self._dir.name,
            "XDG_CONFIG_HOME": self._dir.name,
            "TMPDIR": self._dir.name,
            "GIT_DIR": str(self.path),
            # Git would read a relative path from where it runs, which is the working tree.
            "GIT_OBJECT_DIRECTORY": str((objects_path or self.path / "objects").absolute()),
        }
        if alternates:
            self._env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = ":".join(_listed(path.absolute()) for path in alternates)
        if work_tree is not None:
            self._env["GIT_WORK_TREE"] = str(work_tree.absolute())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._dir.cleanup()

    @property
    def index_path(self) -> Path:
        """The index of this Git directory; may be written or copied between commands."""
        return self.path / "index"

    def run(
        self,
        *words: str,
        stdin: bytes | IO[bytes] = b"",
        stdout: IO[bytes] | None = None,
        index: Path | None = None,
        timeout_s: float = GIT_TIMEOUT_S,
    ) -> bytes:
        """Run one Git command.

        Args:
            words: the command; ids in it must have passed `places.checked_id`.
            stdin: what it reads.
            stdout: file to write to instead of returning the output.
            index: index file to use instead of our own.
            timeout_s: seconds after which it is stopped.

        Returns:
            Its output, empty where `stdout` is given.

        Raises:
            GitInputError: it failed; the message is Git's own words.
        """
        env = self._env if index is None else {**self._env, "GIT_INDEX_FILE": str(index)}
        source: dict[str, Any] = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
        try:
            done: subprocess.CompletedProcess[bytes] = subprocess.run(  # noqa: S603 (a fixed program, words checked by the callers)
                [str(self._program), *words],
                **source,
                stdout=subprocess.PIPE if stdout is None else stdout,
                stderr=subprocess.PIPE,
                cwd=self._work_tree or self.path,
                env=env,
                timeout=timeout_s,
                check=False,
                text=False,
            )
        except subprocess.TimeoutExpired as error:
            raise GitInputError(f"git {words[0]} did not end within {timeout_s} s", code="git-failed") from error
        if done.returncode:
            said = _words_of(done.stderr) or f"git {words[0]} ended with status {done.returncode}"
            raise GitInputError(said, code="git-failed")
        return done.stdout or b""


def _words_of(stderr: bytes) -> str:
    """Git's own reason: its first errors, made visible, on one line."""
    lines = stderr.decode("utf-8", "backslashreplace").split("\n")
    reasons = [line for line in lines if line.startswith(("error:", "fatal:"))] or [line for line in lines if line]
    return shortened("; ".join(reasons[:_MAX_LINES]), _MAX_WORDS)


def _listed(path: Path) -> str:
    """A path as an entry of the list of alternates, quoted where Git would cut it."""
    text = str(path)
    if ":" in text or text.startswith('"') or "\n" in text:
        return quoted(os.fsencode(text))
    return text
