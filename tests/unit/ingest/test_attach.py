"""Artifacts that the user names are added to a run: all or none, never over stronger evidence."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from samework.errors import InputError, NotFound, UsageError
from samework.ingest.attach import Attachment, attach, attach_matching
from samework.ingest.settings import IngestSettings
from tests.unit.ingest.conftest import patch

if TYPE_CHECKING:
    from collections.abc import Callable

    from samework.model.results import IngestSummary
    from samework.store.connection import StoreHandle
    from tests.unit.ingest.conftest import Lab

    Take = Callable[..., IngestSummary]


def rows(store: StoreHandle, query: str) -> list[tuple[Any, ...]]:
    return store.db.execute(query).fetchall()


@pytest.fixture
def run_key(lab: Lab, take: Take) -> int:
    take(lab.traj("t.traj", patch=patch()))
    return 1


def test_a_working_tree_is_attached_once(store: StoreHandle, lab: Lab, run_key: int) -> None:
    lab.write("tree/f", "b\n")
    asked = Attachment(worktree=lab.root / "tree")
    assert [each.status for each in attach(store, run_key, asked)] == ["new"]
    assert [each.status for each in attach(store, run_key, asked)] == ["known"]
    assert rows(store, "SELECT policy, grade FROM run_tree") == [("worktree", "direct")]
    lab.write("tree/f", "c\n")
    with pytest.raises(InputError, match="another tree recorded"):
        attach(store, run_key, asked)


def test_the_recorded_patch_makes_a_tree_with_its_repository(store: StoreHandle, lab: Lab, take: Take) -> None:
    repo = lab.write("repo/f", "a\n").parent
    git = ["git", "-C", str(repo), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "base"]):
        subprocess.run([*git, *words], check=True)
    base = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    text = "diff --git a/f b/f\nindex 7898192..6178079 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"
    take(lab.traj("t.traj", patch=text))
    (outcome,) = attach(store, 1, Attachment(repo=repo, base=base))
    assert outcome.status == "new"
    assert rows(store, "SELECT policy, grade, base_commit FROM run_tree") == [("patch", "derived", base)]


def test_reports_manifests_and_invariants_are_attached(store: StoreHandle, lab: Lab, run_key: int) -> None:
    report = lab.write("report.json", {"t": {"resolved": True, "tests_status": {"A": {"success": ["x"]}}}})
    manifest = lab.write("m.json", {"kv.dtype": {"value": "f16", "source": "measured"}})
    asked = Attachment(tests=(report,), manifest=manifest, invariants={"builds": True, "lint": None}, suite="s")
    assert [each.status for each in attach(store, run_key, asked)] == ["new"] * 4
    assert [each.status for each in attach(store, run_key, asked)][:2] == ["known"] * 2
    assert rows(store, "SELECT suite, n_nodes FROM test_report") == [("s", 1)]
    assert rows(store, "SELECT field, value FROM manifest_field WHERE field = 'kv.dtype'") == [("kv.dtype", '"f16"')]
    assert rows(store, "SELECT name, value FROM run_invariant ORDER BY name") == [("builds", True), ("lint", None)]
    attach(store, run_key, Attachment(invariants={"lint": False}))
    assert rows(store, "SELECT name, value FROM run_invariant ORDER BY name") == [("builds", True), ("lint", False)]


def test_a_recorded_field_of_the_manifest_is_kept(store: StoreHandle, lab: Lab, run_key: int) -> None:
    first = lab.write("1.json", {"kv.dtype": "f16", "x": {"absence": "unrecorded"}})
    second = lab.write("2.json", {"kv.dtype": "q8", "x": 1})
    attach(store, run_key, Attachment(manifest=first))
    (outcome,) = attach(store, run_key, Attachment(manifest=second))
    assert "the record is kept" in (outcome.message or "")
    got = rows(store, "SELECT field, value FROM manifest_field WHERE field IN ('kv.dtype', 'x') ORDER BY field")
    assert got == [("kv.dtype", '"f16"'), ("x", "1")]


def test_one_bad_part_leaves_the_run_as_it_was(store: StoreHandle, lab: Lab, run_key: int) -> None:
    report = lab.write("report.json", {"t": {"resolved": True, "tests_status": {"A": {"success": ["x"]}}}})
    bad = lab.write("bad.json", '{"a":')
    with pytest.raises(InputError):
        attach(store, run_key, Attachment(tests=(report,), manifest=bad))
    assert rows(store, "SELECT count(*) FROM test_report") == [(0,)]


@pytest.mark.parametrize(
    "asked",
    [
        Attachment(worktree=Path(), repo=Path(), commit="a" * 40),
        Attachment(commit="a" * 40),
        Attachment(repo=Path()),
        Attachment(repo=Path(), commit="a" * 40, base="b" * 40),
    ],
)
def test_mixed_forms_of_a_tree_are_refused(store: StoreHandle, run_key: int, asked: Attachment) -> None:
    with pytest.raises(UsageError):
        attach(store, run_key, asked)


def test_an_unknown_run_and_a_report_of_another_task_are_refused(store: StoreHandle, lab: Lab, run_key: int) -> None:
    with pytest.raises(NotFound):
        attach(store, run_key + 1, Attachment(invariants={"a": True}))
    report = lab.write("report.json", {"other": {"resolved": True, "tests_status": {}}})
    with pytest.raises(InputError, match="no test report for the task t"):
        attach(store, run_key, Attachment(tests=(report,)))


def test_another_patch_does_not_replace_the_recorded_one(store: StoreHandle, lab: Lab, run_key: int) -> None:
    with pytest.raises(InputError, match="another patch"):
        attach(store, run_key, Attachment(patch=lab.write("p.diff", patch(9))))
    (outcome,) = attach(store, run_key, Attachment(patch=lab.write("same.diff", patch())))
    assert outcome.status == "known"


def test_many_reports_are_attached_by_the_fields_of_their_paths(store: StoreHandle, lab: Lab, take: Take) -> None:
    for task in ("t-1", "t-2"):
        lab.traj(f"trajs/{task}.traj", action=task)
        lab.write(f"logs/{task}/report.json", {"resolved": True, "tests_status": {"A": {"success": ["x"]}}})
    take(lab.root / "trajs", arm="a")
    for n_joined in (2, 2):
        summary = attach_matching(store, "logs/{task}/report.json", IngestSettings(arm="a"), start=lab.root)
        assert (summary.n_joined, summary.n_refused) == (n_joined, 0)
    assert rows(store, "SELECT count(*) FROM test_report") == [(2,)]
    with pytest.raises(InputError, match="no file fits"):
        attach_matching(store, "none/{task}.json", IngestSettings(), start=lab.root)
