"""Reading a tree of 5,000 files from our object database, beside `git ls-tree -r -z` on the same tree.

Run: python bench/read_tree.py. Prints both times (best of several, milliseconds) and their ratio; exit 1 beyond 2.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from samework.trees.content_digest import content_digest
from samework.trees.object_store import ObjectStore
from samework.trees.snapshot import snapshot_commit, snapshot_worktree

if TYPE_CHECKING:
    from collections.abc import Callable

N_FILES = 5000
N_ROUNDS = 50
LIMIT = 2.0


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        repo = make_repo(root / "repo")
        head = git(repo, "rev-parse", "HEAD").decode().strip()
        objects = ObjectStore.create(root / "objects.git")
        copied = timed(lambda: snapshot_commit(repo, head, objects), 1)
        tree = snapshot_commit(repo, head, objects).oid
        assert tree is not None
        theirs = timed(lambda: git(objects.path, "ls-tree", "-r", "-z", tree), N_ROUNDS)
        ours = timed(lambda: ObjectStore.open(objects.path).read_tree(tree), N_ROUNDS)
        entries = objects.read_tree(tree)
        assert len(entries) == N_FILES
        digest = timed(lambda: content_digest(ObjectStore.open(objects.path), entries), 3)
        worktree = timed(lambda: snapshot_worktree(repo, objects), 2)
    ratio = ours / theirs
    print(f"git ls-tree -r -z        {theirs:8.1f} ms")
    print(f"read_tree                {ours:8.1f} ms   ratio {ratio:.2f} (limit {LIMIT})")
    print(f"content digest, no cache {digest:8.1f} ms")
    print(f"snapshot of the commit   {copied:8.1f} ms   (first copy, everything hashed)")
    print(f"snapshot of the worktree {worktree:8.1f} ms")
    return int(ratio > LIMIT)


def make_repo(path: Path) -> Path:
    """A repository of `N_FILES` files in some 500 directories."""
    for n in range(N_FILES):
        file = path / f"package{n % 50}" / f"part{n % 500}" / f"module_{n}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"value = {n}\n" * 40)
    git(path, "init", "-q")
    git(path, "add", "-A")
    git(path, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "base")
    git(path, "gc", "-q")
    return path


def git(path: Path, *words: str) -> bytes:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(["git", *words], cwd=path, check=True, capture_output=True, env=env).stdout


def timed(work: Callable[[], object], n_rounds: int) -> float:
    spans = []
    for _ in range(n_rounds):
        began = time.perf_counter()
        work()
        spans.append(time.perf_counter() - began)
    return min(spans) * 1000


if __name__ == "__main__":
    sys.exit(main())
