"""Reviews are an overlay that only grows: recorded, superseded, disputed, checked by `verify`, never a class."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests.command import answer, samework

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "\x1b[2J\u202e[red]x\udce9"


@pytest.fixture
def store(small_store: Path, tmp_path: Path) -> Path:
    """A store of one's own to write to."""
    return shutil.copytree(small_store, tmp_path / ".samework")


@pytest.fixture
def pair(store: Path) -> tuple[str, str]:
    """A divergent pair."""
    found = answer("pairs", "--class", "divergent", "--limit", "1", store=store)[0]
    return found["a"], found["b"]


def review(store: Path, *words: str, by: str = "ada", reason: str = "seen") -> Any:
    return answer("review", *words, "--by", by, "--reason", reason, store=store)


def test_a_review_is_kept_and_answers_in_the_published_form(store: Path, pair: tuple[str, str], root: Path) -> None:
    assert answer("review", *pair, store=store)["says"] is None
    found = review(store, *reversed(pair), "--matters", "--blind", reason="other behaviour")
    assert found == answer("review", *pair, store=store)
    assert (found["says"], found["consequence"], [found["a"], found["b"]]) == ("matters", "C4", sorted(pair))
    (kept,) = found["reviews"]
    assert (kept["reviewer"], kept["reason"], kept["blind"], kept["is_current"]) == (
        "ada",
        "other behaviour",
        True,
        True,
    )
    jsonschema.validate(found, json.loads((root / "schema" / "review.schema.json").read_text(encoding="utf-8")))


def test_a_later_review_supersedes_that_of_the_same_reviewer_and_no_other(store: Path, pair: tuple[str, str]) -> None:
    review(store, *pair, "--matters")
    review(store, *pair, "--unsure", by="bob")
    found = review(store, *pair, "--no-matter")
    assert [(kept["number"], kept["supersedes"], kept["is_current"]) for kept in found["reviews"]] == [
        (1, None, False),
        (2, None, True),
        (3, 1, True),
    ]
    assert found["says"] == "no-matter"


def test_reviewers_who_do_not_agree_leave_the_pair_disputed(store: Path, pair: tuple[str, str]) -> None:
    review(store, *pair, "--matters")
    found = review(store, *pair, "--no-matter", by="bob")
    assert (found["says"], found["consequence"]) == ("disputed", None)
    assert "Disputed" in samework("review", *pair, store=store).stdout
    funnel = answer("classes", "--funnel", store=store)
    assert (funnel["disputed"], funnel["stages"][-1]["yes"]) == (1, 0)


def test_no_review_changes_a_class_or_a_count(store: Path, pair: tuple[str, str]) -> None:
    def asked() -> list[Any]:
        compared = answer("compare", *pair, store=store, exits=frozenset({1}))
        return [compared["class"], compared["status"], compared["facets"], answer("classes", store=store)]

    before = asked()
    review(store, *pair, "--no-matter")
    assert asked() == before


def test_the_funnel_counts_what_matters(store: Path, pair: tuple[str, str], root: Path) -> None:
    review(store, *pair, "--matters")
    found = answer("classes", "--funnel", store=store)
    jsonschema.validate(found, json.loads((root / "schema" / "funnel.schema.json").read_text(encoding="utf-8")))
    last = found["stages"][-1]
    assert (last["yes"], last["unknown"]) == (1, found["pairs"] - 1)
    assert found["pairs"] == answer("classes", store=store)["pairs"]["total"]
    asked = samework("query", "--named", "pair-funnel", "--format", "json", store=store)
    rows = json.loads(asked.stdout)
    rows = rows["rows"] if isinstance(rows, dict) else rows
    assert len(rows) == answer("classes", store=store)["tasks"]


def test_the_store_is_whole_after_a_review_and_the_review_is_in_the_view(store: Path, pair: tuple[str, str]) -> None:
    review(store, *pair, "--matters", by=HOSTILE, reason=HOSTILE)
    assert samework("verify", store=store).returncode == 0
    shown = samework("review", *pair, store=store).stdout
    assert not {"\x1b", "\u202e"} & set(shown)
    assert "\\x1b[2J\\u202e[red]x" in shown
    done = samework("query", "SELECT judgement, is_current FROM reviews", "--format", "csv", store=store)
    assert done.stdout.split() == ["judgement,is_current", "matters,True"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--matters",), "usage"),
        (("--matters", "--by", "ada"), "usage"),
        (("--matters", "--unsure", "--by", "ada", "--reason", "x"), "usage"),
        (("--matters", "--by", " ", "--reason", "x"), "usage"),
        (("--matters", "--by", "ada", "--reason", "\n"), "usage"),
        (("--matters", "--by", "ada", "--reason", "x" * 20_001), "usage"),
        (("--by", "ada", "--reason", "x"), "usage"),
        (("--blind",), "usage"),
    ],
)
def test_half_a_review_is_refused_and_nothing_is_written(
    store: Path, pair: tuple[str, str], words: tuple[str, ...], code: str
) -> None:
    done = samework("review", *pair, *words, store=store)
    assert (done.returncode, f"[{code}]" in done.stderr) == (2, True), done.stderr
    assert answer("review", *pair, store=store)["reviews"] == []


def test_only_two_runs_of_one_task_are_reviewed(store: Path, pair: tuple[str, str]) -> None:
    other = next(
        run for run in answer("runs", store=store) if run["task"] != answer("review", *pair, store=store)["task"]
    )
    words = ("--matters", "--by", "ada", "--reason", "x")
    for a, b, code in (
        (pair[0], pair[0], "one-run"),
        (pair[0], other["run_id"], "two-tasks"),
        (pair[0], "zz", "no-run"),
    ):
        done = samework("review", a, b, *words, store=store)
        assert (done.returncode, f"[{code}]" in done.stderr) == (2, True), done.stderr
