"""No command that reads Git runs anything that a repository asks for, or changes a byte of it."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.command import answer, new_store, samework
from tests.hostile import base_of, build_hostile_repo, digest_of, head_of, provoke

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = '{"kind":"user","text":"go"}\n{"kind":"completion","text":"done"}\n{"kind":"end"}\n'
PATCH = """diff --git a/kept.py b/kept.py
--- a/kept.py
+++ b/kept.py
@@ -1 +1 @@
-x = 1
+x = 2
"""


class Trap(NamedTuple):
    """A hostile repository, the marker that must never come to be, and what must stay as it is."""

    repo: Path
    marker: Path
    store: Path
    base: str
    head: str
    digest: str

    def assert_quiet(self) -> None:
        assert not self.marker.exists(), self.marker.read_text()
        assert digest_of(self.repo) == self.digest


def set_trap(place: Path, object_format: str) -> Trap:
    """run.json may name only what lies in its own folder, so the hostile repository is the bundle itself."""
    repo, marker = build_hostile_repo(place, object_format)
    (repo / "events.jsonl").write_text(EVENTS)
    (repo / "final.patch").write_text(PATCH)
    (repo / "bad.patch").write_text(PATCH.replace("-x = 1", "-x = 8"))
    return Trap(repo, marker, new_store(place), base_of(repo), head_of(repo), "")


def tree_forms(trap: Trap) -> dict[str, dict[str, str]]:
    return {
        "worktree": {"worktree": "."},
        "nested-worktree": {"worktree": "untracked-nested"},
        "bare-worktree": {"worktree": "embedded"},
        "commit": {"repo": ".", "commit": trap.head},
        "patch": {"repo": ".", "base": trap.base, "patch": "final.patch"},
        "bad-patch": {"repo": ".", "base": trap.base, "patch": "bad.patch"},
        "option": {"repo": ".", "commit": "--output=pwned"},
        "path": {"repo": ".", "commit": f"{trap.head}:kept.py"},
        "upload-pack": {"repo": "ext::sh -c true", "commit": trap.head},
        "alone": {"base": trap.base, "patch": "final.patch"},
        "asserted": {"oid": trap.head},
    }


def ingest_forms(trap: Trap, arms: tuple[str, ...]) -> Trap:
    """Ingest a run for each form; run.json changes between ingests, the repository does not."""
    for arm in arms:
        run = {"task": "t", "arm": arm, "transcript": "events.jsonl", "tree": tree_forms(trap)[arm]}
        (trap.repo / "run.json").write_text(json.dumps(run))
        before = digest_of(trap.repo)
        done = samework("ingest", trap.repo, store=trap.store)
        assert not trap.marker.exists(), (arm, trap.marker.read_text())
        assert digest_of(trap.repo) == before, arm
        assert done.returncode == 0, (arm, done.stderr)
    return trap._replace(digest=digest_of(trap.repo))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Trap:
    """A store with a run for each form of a tree, every one of them in the hostile repository."""
    trap = set_trap(tmp_path_factory.mktemp("hostile"), "sha1")
    return ingest_forms(trap, tuple(tree_forms(trap)))


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest) -> object:
    """After every command: no marker, no byte changed."""
    yield
    if "filled" in request.fixturenames:
        request.getfixturevalue("filled").assert_quiet()


def tree_grades(store: Path) -> dict[str, str]:
    return {run["arm"]: run["evidence"]["tree"] for run in answer("runs", store=store)}


def test_each_form_of_a_tree_is_taken_without_running_anything(filled: Trap) -> None:
    grades = tree_grades(filled.store)
    assert {grades[arm] for arm in ("worktree", "nested-worktree", "commit", "patch")} <= {"direct", "derived"}
    assert {grades[arm] for arm in ("bad-patch", "option", "path", "upload-pack")} == {"none"}


@pytest.mark.parametrize("arm", ["worktree", "bad-patch"])
def test_a_run_is_shown(filled: Trap, arm: str) -> None:
    assert samework("show", f"t:{arm}:1", store=filled.store).returncode == 0


@pytest.mark.parametrize(("a", "b"), [("worktree", "commit"), ("alone", "patch"), ("bad-patch", "option")])
def test_two_runs_are_compared(filled: Trap, a: str, b: str) -> None:
    done = samework("compare", f"t:{a}:1", f"t:{b}:1", store=filled.store)
    assert done.returncode in {0, 1, 3}, done.stderr


def test_the_patched_base_and_the_commit_differ_and_the_diff_is_reported(filled: Trap, tmp_path: Path) -> None:
    out = tmp_path / "pair.html"
    done = samework("report", "t:commit:1", "t:worktree:1", "-o", out, store=filled.store)
    assert done.returncode == 0, done.stderr
    page = out.read_text(encoding="utf-8")
    assert "kept.py" in page
    assert "\x1b" not in page


def test_a_task_is_reported(filled: Trap, tmp_path: Path) -> None:
    out = tmp_path / "task.html"
    assert samework("report", "--task", "t", "-o", out, store=filled.store).returncode == 0
    assert "upload-pack" in out.read_text(encoding="utf-8")


def test_a_sha256_repository_is_no_less_safe(tmp_path: Path) -> None:
    trap = ingest_forms(set_trap(tmp_path, "sha256"), ("worktree", "commit", "patch"))
    runs = answer("runs", store=trap.store)
    assert {run["evidence"]["tree"] for run in runs} <= {"direct", "derived"}
    samework("compare", "t:worktree:1", "t:commit:1", store=trap.store)
    samework("report", "t:worktree:1", "t:commit:1", "-o", tmp_path / "pair.html", store=trap.store)
    trap.assert_quiet()


def test_the_store_verifies(filled: Trap) -> None:
    assert samework("verify", store=filled.store).stdout == "Whole.\n"


def test_the_store_is_backed_up(filled: Trap, tmp_path: Path) -> None:
    assert samework("backup", tmp_path / "copy.tar", store=filled.store).returncode == 0


def test_the_judging_commands_answer(filled: Trap) -> None:
    for words in (
        ("classes",),
        ("pairs",),
        ("forks",),
        ("claims", "t:commit:1", "t:patch:1"),
        ("query", "from tree_entries"),
    ):
        assert samework(*words, store=filled.store).returncode in {0, 1, 3}, words


@pytest.mark.parametrize("inside", ["nested", "embedded", ".git"])
def test_a_working_tree_is_named(filled: Trap, inside: str) -> None:
    done = samework("snapshot", filled.repo / inside)
    assert done.returncode in {0, 2, 3}, done.stderr


def test_a_working_tree_is_named_from_within(filled: Trap) -> None:
    """Git's own variables, and where one stands, choose no other repository and no configuration."""
    trapped = {"GIT_DIR": str(filled.repo / ".git"), "GIT_CONFIG_GLOBAL": str(filled.repo / ".git" / "config")}
    here = samework("snapshot", ".", "--json", cwd=filled.repo, **trapped)
    there = samework("snapshot", filled.repo, "--json")
    assert json.loads(here.stdout)["oid"] == json.loads(there.stdout)["oid"]


@pytest.mark.parametrize(
    ("arm", "words", "status"),
    [
        ("asserted", ("--worktree", "{repo}"), 0),
        ("option", ("--repo", "{repo}", "--commit", "{head}"), 0),
        ("path", ("--repo", "{repo}", "--base", "{base}", "--patch", "{repo}/final.patch"), 0),
        ("upload-pack", ("--repo", "{repo}", "--commit", "--upload-pack=touch"), 2),
        ("upload-pack", ("--repo", "{repo}", "--commit", "HEAD"), 2),
        ("upload-pack", ("--repo", "{repo}", "--base", "{base}", "--patch", "{repo}/bad.patch"), 2),
    ],
)
def test_a_tree_is_attached(filled: Trap, tmp_path: Path, arm: str, words: tuple[str, ...], status: int) -> None:
    copy = tmp_path / ".samework"
    shutil.copytree(filled.store, copy)
    given = [word.format(repo=filled.repo, head=filled.head, base=filled.base) for word in words]
    done = samework("attach", f"t:{arm}:1", *given, store=copy)
    assert done.returncode == status, done.stderr
    if status:
        assert done.stderr.strip()
    else:
        assert tree_grades(copy)[arm] in {"direct", "derived"}


def test_the_traps_are_live(tmp_path: Path) -> None:
    """Plain Git in the same repository leaves the marker: absence above is no accident."""
    repo, marker = build_hostile_repo(tmp_path)
    provoke(repo)
    assert marker.exists()


def test_a_repository_of_the_store_itself_is_trusted_with_nothing(filled: Trap, tmp_path: Path) -> None:
    """Configuration that lands in a copied store's objects.git is not followed either."""
    copy = tmp_path / ".samework"
    shutil.copytree(filled.store, copy)
    marker = tmp_path / "ran"
    script = tmp_path / "ran.sh"
    script.write_text(f"#!/bin/sh\ntouch {marker}\n")
    script.chmod(0o755)
    with (copy / "objects.git" / "config").open("a") as config:
        config.write(f"[core]\n\tfsmonitor = {script}\n\tpager = {script}\n[diff]\n\texternal = {script}\n")
    for words in (("verify",), ("compare", "t:commit:1", "t:worktree:1"), ("report", "-o", tmp_path / "x.html")):
        samework(*words, store=copy)
        assert not marker.exists(), words
