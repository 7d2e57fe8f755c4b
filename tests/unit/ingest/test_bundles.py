"""Bundles: one source with all its parts, from a directory or a zip; what is missing is a finding."""

from __future__ import annotations

import json
import subprocess
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from samework.equivalence.pairs import compare
from samework.model.words import Facet, Status
from tests.unit.ingest.conftest import PATCH

if TYPE_CHECKING:
    from collections.abc import Callable

    from samework.model.results import IngestSummary
    from samework.store.connection import StoreHandle
    from tests.unit.ingest.conftest import Lab

    Take = Callable[..., IngestSummary]

REPORT = {
    "created": 1.0,
    "duration": 0.1,
    "exitcode": 0,
    "root": "/w",
    "environment": {},
    "summary": {"passed": 1, "total": 1, "collected": 1},
    "collectors": [],
    "tests": [{"nodeid": "test_a.py::test_b", "lineno": 1, "outcome": "passed", "keywords": []}],
}


def rows(store: StoreHandle, query: str) -> list[tuple[Any, ...]]:
    return store.db.execute(query).fetchall()


def whole(lab: Lab, name: str = "b", **run: object) -> None:
    lab.write(f"{name}/tree/mod.py", "x = 1\n")
    lab.write(f"{name}/m.json", {"kv.dtype": {"value": "f16", "source": "measured"}, "x": 1, "y": {"absence": "n/a"}})
    lab.write(f"{name}/r.json", REPORT)
    parts = {
        "task": "t",
        "arm": "a",
        "repeat": "1",
        "manifest": "m.json",
        "tree": {"worktree": "tree"},
        "tests": [{"report": "r.json", "suite": "s", "env": "e"}],
        "invariants": {"compiles": True},
        **run,
    }
    lab.bundle(name, parts, "ls")


def test_all_parts_of_a_bundle_land_in_one_run(store: StoreHandle, lab: Lab, take: Take) -> None:
    whole(lab)
    summary = take(lab.root)
    assert (summary.n_new, summary.n_skipped, summary.n_refused) == (1, 0, 0)
    assert rows(store, "SELECT task, arm, repeat, format, complete FROM run") == [("t", "a", "1", "events_jsonl", True)]
    assert rows(store, "SELECT policy, grade, n_files, tcd IS NOT NULL FROM run_tree") == [
        ("worktree", "direct", 1, True)
    ]
    assert rows(store, "SELECT suite, env, n_nodes FROM test_report") == [("s", "e", 1)]
    assert rows(store, "SELECT node, outcome FROM test_outcome") == [("test_a.py::test_b", "passed")]
    assert rows(store, "SELECT name, value FROM run_invariant") == [("compiles", True)]
    got = rows(store, "SELECT field, value, source, absence FROM manifest_field WHERE field IN ('kv.dtype', 'y')")
    assert sorted(got) == [("kv.dtype", '"f16"', "measured", None), ("y", None, None, "n/a")]


def test_a_bundle_and_its_zip_are_one_run(store: StoreHandle, lab: Lab, take: Take) -> None:
    folder = lab.bundle("b", {"task": "t"}, "ls")
    path = lab.root / "b.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for each in sorted(folder.iterdir()):
            archive.write(each, f"b/{each.name}")
    assert take(folder).n_new == 1
    assert take(path).n_known == 1
    assert rows(store, "SELECT count(*) FROM run") == [(1,)]
    assert store.sources.has(rows(store, "SELECT source_sha256 FROM source WHERE path LIKE '%.zip'")[0][0])


def test_bundles_that_differ_in_their_working_tree_only_are_two_runs(store: StoreHandle, lab: Lab, take: Take) -> None:
    for name, text in (("one", "1"), ("two", "2")):
        lab.write(f"{name}/tree/f", text)
        lab.bundle(name, {"task": "t", "tree": {"worktree": "tree"}})
    assert take(lab.root).n_new == 2
    assert take(lab.root).n_known == 2
    assert rows(store, "SELECT count(DISTINCT oid) FROM run_tree") == [(2,)]


def test_bundles_below_a_bundle_are_found_and_its_parts_are_no_sources(
    store: StoreHandle, lab: Lab, take: Take
) -> None:
    whole(lab, "b")
    lab.write("b/tree/run.json", {"task": "inside the tree"})
    lab.bundle("b/more/c", {"task": "u"}, "pwd")
    take(lab.root)
    assert rows(store, "SELECT task FROM run ORDER BY task") == [("t",), ("u",)]


def test_a_missing_transcript_makes_the_run_incomplete_and_a_missing_report_does_not(
    store: StoreHandle, lab: Lab, take: Take
) -> None:
    lab.bundle("one", {"task": "one", "transcript": "none.jsonl"})
    lab.bundle("two", {"task": "two", "tests": [{"report": "none.json"}]}, "ls")
    take(lab.root)
    assert rows(store, "SELECT task, complete FROM run ORDER BY task") == [("one", False), ("two", True)]
    assert [code for (code,) in rows(store, "SELECT code FROM defect")] == ["missing-file"] * 2


def test_parts_that_leave_the_bundle_are_not_read(store: StoreHandle, lab: Lab, take: Take) -> None:
    lab.write("secret/f", "s")
    lab.bundle("b", {"task": "t", "tree": {"worktree": "../secret"}}, "ls")
    take(lab.root / "b")
    ((oid, reason),) = rows(store, "SELECT oid, null_reason FROM run_tree") or [(None, "refused")]
    assert oid is None
    assert reason


def test_a_base_and_a_patch_without_a_repository_are_a_patch(store: StoreHandle, lab: Lab, take: Take) -> None:
    text = "diff --git a/f b/f\nindex 1111111..2222222 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"
    lab.write("b/p.diff", text)
    lab.bundle("b", {"task": "t", "tree": {"base": "a" * 40, "patch": "p.diff"}}, "ls")
    take(lab.root)
    assert rows(store, "SELECT status, base_commit FROM patch") == [("parsed", "a" * 40)]
    assert rows(store, "SELECT count(*) FROM run_tree WHERE oid IS NOT NULL") == [(0,)]


@pytest.mark.parametrize("base", ["", "main", "HEAD", "abc123", "0" * 40])
def test_a_base_that_is_no_commit_id_is_unrecorded_and_told(
    store: StoreHandle, lab: Lab, take: Take, base: str
) -> None:
    for arm in "ab":
        lab.write(f"{arm}/p.diff", PATCH.format(id="2222222"))
        lab.bundle(arm, {"task": "t", "arm": arm, "tree": {"base": base, "patch": "p.diff"}}, "ls")
        take(lab.root / arm)
    assert (
        rows(store, "SELECT p.base_commit, r.base_commit FROM patch p JOIN run r USING (run_key)") == [(None, None)] * 2
    )
    reason = f"the base {base!r} is no commit id, so the base is unrecorded"
    assert rows(store, "SELECT code, reason FROM defect") == [("odd-base", reason)] * 2
    found = compare(store, 1, 2)
    assert (found.facets[Facet.TREE].grade, found.status) == ("asserted", Status.PROVISIONAL)


@pytest.mark.parametrize(("word", "verdict"), [("b", "same"), ("EVIL", "unknown")])
def test_what_patches_say_beside_their_ids_comes_into_the_comparison(
    store: StoreHandle, lab: Lab, take: Take, word: str, verdict: str
) -> None:
    for arm, line in (("a", "b"), ("b", word)):
        lab.write(f"{arm}/p.diff", PATCH.format(id="2222222").replace("+b\n", f"+{line}\n"))
        lab.bundle(arm, {"task": "t", "arm": arm, "tree": {"base": "C" * 40, "patch": "p.diff"}}, "ls")
        take(lab.root / arm)
    found = compare(store, 1, 2).facets[Facet.TREE]
    assert (found.verdict, found.reason) == (
        verdict, "equal_post_images" if verdict == "same" else "patches_contradict",
    )  # fmt: skip
    shown = rows(store, "SELECT count(tree), count(*) FROM run_digests")
    assert shown == [(2 if verdict == "same" else 0, 2)]


def test_a_patch_with_its_repository_is_a_tree(store: StoreHandle, lab: Lab, take: Take) -> None:
    repo = lab.write("b/repo/f", "a\n").parent
    git = ["git", "-C", str(repo), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "base"]):
        subprocess.run([*git, *words], check=True)
    base = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    text = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"
    lab.write("b/p.diff", text)
    lab.bundle("b", {"task": "t", "tree": {"repo": "repo", "base": base, "patch": "p.diff"}}, "ls")
    take(lab.root / "b")
    ((policy, oid, reason),) = rows(store, "SELECT policy, oid, null_reason FROM run_tree")
    assert (policy, reason) == ("patch", None)
    (repo / "f").write_text("b\n")
    subprocess.run([*git, "commit", "-q", "-a", "-m", "done"], check=True)
    tree = subprocess.run([*git, "rev-parse", "HEAD^{tree}"], check=True, capture_output=True, text=True).stdout.strip()
    assert oid == tree


def test_a_damaged_run_json_is_refused_by_name(lab: Lab, take: Take) -> None:
    lab.write("b/run.json", '{"task": ')
    lab.bundle("c", {"task": "t"}, "ls")
    statuses = {each.path.rpartition("/")[2]: each.status for each in take(lab.root).sources}
    assert statuses["c"] == "new"
    assert statuses["b"] in {"refused", "skipped"}


def test_unknown_keys_are_kept(store: StoreHandle, lab: Lab, take: Take) -> None:
    take(lab.bundle("b", {"task": "t", "colour": "red"}, "ls"))
    assert json.loads(rows(store, "SELECT extra FROM run")[0][0])["colour"] == "red"
