"""T7: a hostile tree in a commit is read as objects through the commands, shown visibly, and never checked out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from samework.text import visible
from tests.command import answer, new_store, samework
from tests.hostile import git

if TYPE_CHECKING:
    from pathlib import Path

NAMES = (b".git", b"..", b"README", b"a\nb", b"bad\xff", b"esc\x1b[2J", b"readme")


def test_its_faults_are_flags_and_its_names_are_text(tmp_path: Path) -> None:
    repo = tmp_path / "in"
    repo.mkdir()
    git(repo, "init", "-q")
    commits = []
    for content in (b"one\n", b"two\n"):
        blob = git(repo, "hash-object", "-w", "--stdin", data=content)
        link = git(repo, "hash-object", "-w", "--stdin", data=b"/etc/passwd")
        entries = [b"100644 blob %b\t%b\0" % (blob.encode(), name) for name in NAMES]
        entries += [b"120000 blob %b\tlink\0" % link.encode(), b"160000 commit %b\tsub\0" % (b"ab" * 20)]
        tree = git(repo, "mktree", "-z", "--missing", data=b"".join(entries))
        commits.append(git(repo, "commit-tree", tree, "-m", "x"))
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(repo / ".git")}
    store = new_store(tmp_path)
    for arm, commit in zip("ab", commits, strict=True):
        (repo / "run.json").write_text(json.dumps({"task": "t", "arm": arm, "tree": {"repo": ".", "commit": commit}}))
        samework("ingest", repo, store=store)
    flags = answer("show", "t:a:1", store=store)["tree"]["flags"]
    assert {"fsck:hasDotgit", "fsck:hasDotdot", "fsck:caseCollision"} <= set(flags)
    for words in (("compare", "t:a:1", "t:b:1"), ("show", "t:a:1"), ("query", "from trees")):
        done = samework(*words, store=store)
        assert done.returncode in {0, 1, 3}, done.stderr
        assert visible(done.stdout) == done.stdout
    for ending in ("html", "md", "json"):
        out = tmp_path / f"pair.{ending}"
        assert samework("report", "t:a:1", "t:b:1", "-o", out, store=store).returncode == 0
        text = out.read_text(encoding="utf-8")
        assert "x1b" in text
        assert "\x1b" not in text
        assert "root:" not in text, "a link was followed"
        out.unlink()
    after = {path for path in tmp_path.rglob("*") if not path.is_relative_to(store)}
    assert {path for path in after if not path.is_relative_to(repo / ".git")} - before == {repo / "run.json"}
