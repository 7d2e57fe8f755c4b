"""Build a repository that tries everything a repository can to run something: each way would leave a marker file.

Use `build_hostile_repo`, run what is to be judged, then assert that the marker is absent and that `digest_of` the
repository is what it was. `provoke` shows that the traps are live: with plain Git they spring.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import stat
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HOOKS = (
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "post-index-change",
)


def build_hostile_repo(tmp_path: Path, object_format: str = "sha1") -> tuple[Path, Path]:
    """Make a hostile repository.

    Args:
        tmp_path: an empty directory; the repository is made in it.
        object_format: sha1 or sha256.

    Returns:
        (repository with a working tree, path of the marker that must never come to be). Its first commit is the base,
        HEAD is a later one, and the working tree holds untracked work beyond HEAD.
    """
    marker = tmp_path / "marker"
    trap = _script(tmp_path / "trap.sh", marker)
    elsewhere = _alternate(tmp_path / "elsewhere", object_format)
    repo = tmp_path / "hostile"
    _new_repo(repo, object_format)
    _files(repo, tmp_path)
    git(repo, "add", "-A", "--", ".")
    git(repo, "commit", "-q", "-m", "base")
    (repo / "kept.py").write_text("x = 2\n")
    _nested(repo / "nested", object_format)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "work")
    (repo / "untracked.py").write_text("y = 1\n")
    (repo / "kept.py").write_text("x = 3\n")
    _nested(repo / "untracked-nested", object_format)
    for inner in ("nested", "untracked-nested"):
        _arm(repo / inner / ".git", trap)
    _embedded_bare(repo / "embedded", trap, object_format)
    (repo / ".git" / "objects" / "info" / "alternates").write_text(f"{elsewhere / '.git' / 'objects'}\n")
    _arm(repo / ".git", trap)
    assert not marker.exists()
    return repo, marker


def base_of(repo: Path) -> str:
    """Id of the repository's first commit; `rev-parse` springs no trap."""
    return git(repo, "rev-parse", "HEAD~1")


def head_of(repo: Path) -> str:
    """Id of the repository's last commit."""
    return git(repo, "rev-parse", "HEAD")


def digest_of(path: Path) -> str:
    """sha256 over every path below `path`: kind, mode, time of change, size and bytes."""
    total = hashlib.sha256()
    for full in sorted(path.rglob("*")):
        facts = full.lstat()
        row = (os.fsencode(full.relative_to(path)), facts.st_mode, facts.st_mtime_ns, facts.st_size)
        total.update(repr(row).encode())
        if stat.S_ISLNK(facts.st_mode):
            total.update(os.fsencode(full.readlink()))
        elif stat.S_ISREG(facts.st_mode):
            total.update(full.read_bytes())
    return total.hexdigest()


def provoke(repo: Path) -> None:
    """Run plain Git as an unwary tool would; the marker appears."""
    for words in (("status",), ("diff",), ("add", "-A", "--", "kept.py"), ("log", "-p", "-1")):
        subprocess.run(["git", *words], cwd=repo, env=_env(), capture_output=True, check=False)


def git(repo: Path, *words: str, data: bytes = b"") -> str:
    """Plain Git in a repository that is not armed yet."""
    done = subprocess.run(["git", *words], cwd=repo, env=_env(), input=data, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "backslashreplace").strip()


def _env() -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_AUTHOR_DATE": "1700000000 +0000",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
        "GIT_COMMITTER_DATE": "1700000000 +0000",
    }


def _script(path: Path, marker: Path) -> Path:
    path.write_text(f'#!/bin/sh\necho "$0 $*" >> {shlex.quote(str(marker))}\nexit 0\n')
    path.chmod(0o755)
    return path


def _new_repo(path: Path, object_format: str) -> None:
    path.mkdir(parents=True)
    git(path, "init", "-q", f"--object-format={object_format}")


def _alternate(path: Path, object_format: str) -> Path:
    _new_repo(path, object_format)
    (path / "secret").write_text("elsewhere\n")
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "elsewhere")
    return path


def _files(repo: Path, outside: Path) -> None:
    """Names and links of every awkward kind, and attributes that ask for filters and drivers."""
    (repo / "kept.py").write_text("x = 1\n")
    (repo / "run.sh").write_text("#!/bin/sh\n")
    (repo / "run.sh").chmod(0o755)
    (repo / "out").symlink_to(outside)
    (repo / "passwd").symlink_to("/etc/passwd")
    (repo / "-x").write_text("option\n")
    (repo / "--output=x").write_text("option\n")
    (repo / ":(exclude)*").write_text("pathspec\n")
    (repo / ".gitignore").write_text("*.log\n")
    (repo / "noise.log").write_text("ignored\n")
    for name in (b"esc\x1b[2J", b"new\nline", b"bad\xff\xfe", b"tab\tname", b'quo"te', "bidi\u202egnp".encode()):
        (repo / os.fsdecode(name)).write_bytes(name)
    (repo / ".gitattributes").write_text("* filter=trap diff=trap merge=trap text=auto\n*.py filter=long diff=conv\n")
    (repo / ".gitmodules").write_text('[submodule "s"]\n\tpath = s\n\turl = ext::sh -c true\n\tupdate = !true\n')


def _arm(git_dir: Path, trap: Path) -> None:
    """Point everything that a configuration can run at the trap."""
    run = str(trap)
    hooks = git_dir / "armed-hooks"
    for folder in (hooks, git_dir / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in HOOKS:
            target = folder / hook
            target.write_bytes(trap.read_bytes())
            target.chmod(0o755)
    with (git_dir / "config").open("a") as config:
        config.write(
            f"""
[core]
\tfsmonitor = {run}
\thooksPath = {hooks}
\tsshCommand = {run}
\tgitProxy = {run}
\taskPass = {run}
\teditor = {run}
\tpager = {run}
\talternateRefsCommand = {run}
[filter "trap"]
\tclean = {run}
\tsmudge = {run}
\trequired = true
[filter "long"]
\tprocess = {run}
\trequired = true
[diff]
\texternal = {run}
[diff "trap"]
\tcommand = {run}
[diff "conv"]
\ttextconv = {run}
[merge "trap"]
\tdriver = {run} %O
[remote "origin"]
\turl = ext::{run}
\tfetch = +refs/heads/*:refs/remotes/origin/*
\tuploadpack = {run}
\tpromisor = true
[extensions]
\tpartialClone = origin
[credential]
\thelper = {run}
[gpg]
\tprogram = {run}
[alias]
\tstatus = !{run}
\tls-tree = !{run}
[pager]
\tls-files = {run}
[protocol]
\tallow = always
[submodule "s"]
\tupdate = !{run}
\turl = ext::{run}
\tactive = true
[uploadpack]
\tpackObjectsHook = {run}
"""
        )
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "attributes").write_text("* filter=trap diff=trap\n")


def _nested(path: Path, object_format: str) -> None:
    """A repository inside, with a commit."""
    _new_repo(path, object_format)
    (path / "inner.py").write_text("z = 1\n")
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "inner")


def _embedded_bare(path: Path, trap: Path, object_format: str) -> None:
    """Files that are a bare repository: to step into it is enough for an unwary Git."""
    path.mkdir()
    git(path, "init", "-q", "--bare", f"--object-format={object_format}")
    (path / "config").write_text((path / "config").read_text().replace("bare = true", "bare = false\n\tworktree = ."))
    _arm(path, trap)
