"""Fixtures of the trees' tests: an object database, and plain repositories made with plain Git."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from samework.trees.object_store import ObjectStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false")


class Repo:
    """A repository made with plain Git."""

    def __init__(self, path: Path, object_format: str = "sha1") -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", f"--object-format={object_format}")

    def git(self, *words: str, data: bytes = b"") -> str:
        done = subprocess.run(["git", *IDENTITY, *words], cwd=self.path, input=data, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def write(self, name: str, text: str | bytes = "x\n") -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def commit(self, message: str = "c") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def own_tree(self) -> str:
        """What Git's own add and write-tree give; moves the index, so ask last."""
        self.git("add", "-A")
        return self.git("write-tree")


@pytest.fixture
def objects(tmp_path: Path) -> ObjectStore:
    return ObjectStore.create(tmp_path / "objects.git")


@pytest.fixture
def make_repo(tmp_path: Path) -> Callable[..., Repo]:
    def make(name: str = "repo", object_format: str = "sha1") -> Repo:
        return Repo(tmp_path / name, object_format)

    return make


@pytest.fixture
def cloned_case(tmp_path: Path, shared_path: Callable[..., Path]) -> Callable[[str], Path]:
    """Clone the bundle of one of the public cases."""

    def clone(case: str) -> Path:
        bundle = next(shared_path("cases", case).glob("*.bundle"))
        target = tmp_path / case
        subprocess.run(["git", "clone", "-q", "--mirror", str(bundle), str(target)], check=True, capture_output=True)
        return target

    return clone
