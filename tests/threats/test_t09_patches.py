"""T9: a patch that leaves the tree, writes through a link or never ends is unknown with its reason, never empty."""

from __future__ import annotations

import json
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import answer, new_store, samework
from tests.hostile import git

if TYPE_CHECKING:
    from pathlib import Path


def new_file(path: str, old: str = "/dev/null") -> str:
    return f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- {old}\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"


LINK = "diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+{outside}\n"
PATCHES = {
    "traversal": "--- a/../../etc/x\n+++ b/../../etc/x\n@@ -0,0 +1 @@\n+x\n",
    "parent": new_file("../evil"),
    "git": new_file(".git/hooks/post-commit"),
    "absolute": new_file("/etc/evil"),
    "link": LINK + "\\ No newline at end of file\n" + new_file("link/evil"),
    "cut": new_file("whole") + new_file("cut")[:-4],
    "words": "this is no patch\n",
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("t9")
    repo = place / "repo"
    repo.mkdir()
    (repo / "kept").write_text("1\n")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "base")):
        git(repo, *words)
    base = git(repo, "rev-parse", "HEAD")
    for name, patch in PATCHES.items():
        folder = place / "in" / name
        subprocess.run(["git", "clone", "-q", "--bare", str(repo), str(folder / "repo")], check=True)
        (folder / "p.patch").write_text(patch.replace("{outside}", str(place)))
        run = {"task": "t", "arm": name, "tree": {"repo": "repo", "base": base, "patch": "p.patch"}}
        (folder / "run.json").write_text(json.dumps(run))
    before = {path for path in place.rglob("*") if path.is_file()}
    store = new_store(place)
    samework("ingest", place / "in", store=store)
    assert {path for path in place.rglob("*") if path.is_file() and not path.is_relative_to(store)} == before
    return {name: answer("show", f"t:{name}:1", store=store) for name in PATCHES}


@pytest.mark.parametrize("name", PATCHES)
def test_it_makes_no_tree_and_says_why(name: str, shown: dict[str, Any]) -> None:
    tree = shown[name]["tree"]
    assert tree["oid"] is None
    assert tree["null_reason"].startswith("patch_failed: ")
    assert shown[name]["patch"]["status"] != "empty"


@pytest.mark.slow
def test_a_million_hunks_take_no_more_than_their_share_of_time(tmp_path: Path) -> None:
    hunks = "".join(f"@@ -{n},1 +{n},1 @@\n-a\n+b\n" for n in range(1, 3_000_001, 3))
    (tmp_path / "in").mkdir()
    head = "diff --git a/f b/f\nindex 1111111111..2222222222 100644\n--- a/f\n+++ b/f\n"
    (tmp_path / "in" / "p.patch").write_text(head + hunks)
    run = {"task": "t", "arm": "a", "tree": {"base": "ab" * 20, "patch": "p.patch"}}
    (tmp_path / "in" / "run.json").write_text(json.dumps(run))
    store = new_store(tmp_path)
    began = time.process_time()
    answer("ingest", tmp_path / "in", store=store)
    assert time.process_time() - began < 120
    assert answer("show", "t:a:1", store=store)["patch"]["n_paths"] == 1
