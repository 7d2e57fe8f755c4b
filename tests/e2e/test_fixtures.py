"""What each fixture was made to show holds through the command line."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import answer, samework

if TYPE_CHECKING:
    from collections.abc import Iterator

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
EXPECTED = sorted([*FIXTURES.glob("small/*/expected.json"), *FIXTURES.glob("codex-fix-add/expected.json")])
JUDGED = frozenset({0, 1, 3})
EXIT = {"token-identical": 0, "tree-identical": 0, "tests-identical": 0, "divergent": 1, "unresolved": 3}


def named_pairs(store: Path, *words: str) -> dict[tuple[str, frozenset[str]], dict[str, Any]]:
    """Every pair by its task and the names `arm/repeat` of its runs."""
    names = {run["run_id"]: f"{run['arm']}/{run['repeat']}" for run in answer("runs", store=store)}
    pairs = answer("pairs", "--limit", "1000000", *words, store=store)
    return {(pair["task"], frozenset((names[pair["a"]], names[pair["b"]]))): pair for pair in pairs}


@pytest.fixture(scope="module")
def small_pairs(small_store: Path) -> dict[tuple[str, frozenset[str]], dict[str, Any]]:
    return named_pairs(small_store)


@pytest.fixture(scope="module")
def kv_pairs(kv_store: Path) -> dict[tuple[str, frozenset[str]], dict[str, Any]]:
    return named_pairs(kv_store)


def test_there_are_expectations() -> None:
    assert len(EXPECTED) >= 10


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.parent.name)
def test_listed_pairs_have_the_expected_class(
    path: Path, small_pairs: dict[tuple[str, frozenset[str]], dict[str, Any]]
) -> None:
    expected = json.loads(path.read_text())
    for want in expected["pairs"]:
        got = small_pairs[expected["task"], frozenset((want["a"], want["b"]))]
        facets = {facet: got["facets"][facet] for facet in want["facets"]}
        assert (got["class"], got["status"], facets) == (want["class"], want["status"], want["facets"])


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.parent.name)
def test_compared_pairs_answer_with_anomalies_and_exit_status(path: Path, small_store: Path) -> None:
    expected = json.loads(path.read_text())
    task, want = expected["task"], expected["pairs"][0]
    a, b = (f"{task}:{want[side].replace('/', ':')}" for side in "ab")
    done = samework("compare", a, b, "--json", store=small_store)
    got = json.loads(done.stdout)
    assert got["class"] == want["class"]
    assert got["status"] == want["status"]
    assert {anomaly["code"] for anomaly in got["anomalies"]} == set(want["anomalies"])
    assert done.returncode == EXIT[want["class"]]


def test_codex_runs_show_every_class_that_their_evidence_allows(
    small_pairs: dict[tuple[str, frozenset[str]], dict[str, Any]],
) -> None:
    """Sed twice and the script leave one tree by different means, `sum` another that passes, `wrong` one that fails."""
    got = {names: pair for (task, names), pair in small_pairs.items() if task == "fix-add"}
    assert len(got) == 10
    tree = {"sed/1": "add", "sed/2": "add", "script/1": "add", "sum/1": "sum", "wrong/1": "wrong"}
    for names, pair in got.items():
        a, b = names
        want = "tree-identical" if tree[a] == tree[b] else "divergent" if "wrong/1" in names else "tests-identical"
        assert pair["class"] == want, names
        # Codex records no token ids: other text may refute equal tokens, equal text cannot establish them
        tokens = pair["facets"]["tokens"]
        assert tokens in {"unknown", "different"}, names
        is_floor = want == "tree-identical" and tokens == "unknown"
        assert pair["status"] == ("at_least" if is_floor else "established"), names
    assert got[frozenset(("sed/1", "sed/2"))]["facets"]["actions"] == "same"
    assert got[frozenset(("sed/1", "script/1"))]["facets"]["actions"] == "different"


A, A2, B, B_AGAIN, B2, B2_AGAIN, C = (
    "retained/1", "retained/2", "recomputed/1", "recomputed/2", "split/1", "split/2", "chunked/1",
)  # fmt: skip


def verdicts(
    pairs: dict[tuple[str, frozenset[str]], dict[str, Any]], a: str, b: str, kind: str = ""
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(task, pair) of two arms over all tasks of a kind."""
    return (
        (task, pair) for (task, names), pair in pairs.items() if names == frozenset((a, b)) and task.startswith(kind)
    )


@pytest.mark.slow
def test_kv_path_is_whole(kv_store: Path, kv_pairs: dict[tuple[str, frozenset[str]], dict[str, Any]]) -> None:
    runs = answer("runs", store=kv_store)
    assert len(runs) == 540
    assert all(run["complete"] for run in runs)
    assert len(kv_pairs) == 60 * 9 * 8 // 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("a", "b", "n_different"), [(A, A2, 0), (B, B_AGAIN, 0), (B2, B2_AGAIN, 0), (A, B, 14), (A, B2, 11), (B, C, 3)]
)
def test_kv_path_tokens_differ_as_often_as_when_they_were_made(
    a: str, b: str, n_different: int, kv_pairs: dict[tuple[str, frozenset[str]], dict[str, Any]]
) -> None:
    got = Counter(pair["facets"]["tokens"] for _, pair in verdicts(kv_pairs, a, b))
    assert got == Counter({"same": 60 - n_different, "different": n_different})


@pytest.mark.slow
def test_kv_path_transplants_follow_the_donor_of_the_state(
    kv_pairs: dict[tuple[str, frozenset[str]], dict[str, Any]],
) -> None:
    differing = [task for task, pair in verdicts(kv_pairs, A, B2) if pair["facets"]["tokens"] == "different"]
    assert len(differing) == 11
    for donor, host, transplant in (
        (A, B2, "retained-into-split/1"),
        (B2, A, "split-into-retained/1"),
    ):
        follows = dict(verdicts(kv_pairs, donor, transplant))
        assert Counter(pair["facets"]["tokens"] for pair in follows.values()) == {"same": 60}
        leaves = dict(verdicts(kv_pairs, host, transplant))
        assert all(leaves[task]["facets"]["tokens"] == "different" for task in differing)


@pytest.mark.slow
def test_kv_path_tool_calls_fork_in_8_of_30_items(
    kv_store: Path, kv_pairs: dict[tuple[str, frozenset[str]], dict[str, Any]]
) -> None:
    changed = {task for task, pair in verdicts(kv_pairs, A, B, "tool-") if pair["facets"]["actions"] == "different"}
    assert len(changed) == 8
    runs = {run["run_id"]: f"{run['arm']}/{run['repeat']}" for run in answer("runs", store=kv_store)}
    forks = answer("forks", "--tool-calls", store=kv_store)
    forked = set()
    for fork in forks:
        sides = [{runs[run] for run in branch["runs"]} for branch in fork["branches"]]
        if fork["task"].startswith("tool-") and any(
            A in one and B in other for one, other in itertools.permutations(sides, 2)
        ):
            forked.add(fork["task"])
            assert fork["origin"] == "model/greedy"
    assert forked == changed


@pytest.mark.slow
def test_kv_path_one_fork_changed_work(kv_store: Path) -> None:
    forks = answer("forks", "--changed-work", store=kv_store)
    assert {fork["task"] for fork in forks if fork["consequence"] == "C3"} == {"code-016"}
    done = samework("compare", "code-016:retained:1", "code-016:recomputed:1", store=kv_store)
    assert done.returncode == 1
