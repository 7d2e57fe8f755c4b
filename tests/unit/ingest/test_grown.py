"""A session that is ingested while it is written, and again when it went on, is one run."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import pytest

import samework as sw
from tests.stores import empty_store

if TYPE_CHECKING:
    from pathlib import Path


def lines(n_steps: int, last: str = "done") -> list[bytes]:
    """A native record with an id of its own: `n_steps` completions, the last one saying `last`."""
    found: list[dict[str, object]] = [{"kind": "meta", "native_id": "s-1", "task": "t", "arm": "a", "recorder": "r 1"}]
    found.append({"kind": "user", "text": "go"})
    for step in range(n_steps):
        call = {"id": f"c{step}", "name": "shell", "arguments": json.dumps({"command": f"ls {step}"})}
        text = last if step == n_steps - 1 else f"step {step}"
        found.append({"kind": "completion", "text": text, "tool_calls": [call]})
        found.append({"kind": "observation", "call_id": f"c{step}", "text": f"line {step}\n"})
    return [json.dumps(line).encode() + b"\n" for line in found]


@pytest.fixture
def records(tmp_path: Path) -> list[Path]:
    """The session cut inside a record, whole so far, and at its end."""
    whole = lines(4)
    paths = []
    for name, data in (
        ("cut", b"".join(whole[:5]) + whole[5][:20]),
        ("so-far", b"".join(whole[:7])),
        ("end", b"".join(whole)),
    ):
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_bytes(data)
    return paths


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_longest_record_stands_in_any_order(records: list[Path], tmp_path: Path, order: tuple[int, ...]) -> None:
    store = sw.Store(empty_store(tmp_path / ".samework"))
    for place in order:
        store.ingest(records[place])
    (run,) = store.runs()
    assert (run.n_steps, run.complete) == (4, True)
    assert store.verify() == []
    only = sw.Store(empty_store(tmp_path / "only"))
    only.ingest(records[2])
    assert run.run_id == only.runs()[0].run_id


def test_in_one_ingest_they_are_one_run_too(records: list[Path], tmp_path: Path) -> None:
    store = sw.Store(empty_store(tmp_path / ".samework"))
    summary = store.ingest(*records)
    assert (summary.n_new + summary.n_incomplete, len(store.runs())) == (1, 1)
    assert store.verify() == []


REPORT = '<testsuite tests="1" failures="0" errors="0"><testcase classname="t" name="a"/></testsuite>'


def attached(store: sw.Store, folder: Path) -> str:
    """Attach a tree, a report and an invariant to the only run; returns its id."""
    (run,) = store.runs()
    report, worktree = folder / "report.xml", folder / "worktree"
    report.write_text(REPORT)
    worktree.mkdir()
    (worktree / "a.py").write_text("a = 1\n")
    store.attach(run.run_id, worktree=worktree, tests=[report], suite="s", env="e", invariants={"builds": True})
    return run.run_id


def test_what_was_recorded_before_a_run_went_on_is_not_of_the_longer_record(
    records: list[Path], tmp_path: Path
) -> None:
    store = sw.Store(empty_store(tmp_path / ".samework"))
    store.ingest(records[1])
    run_id = attached(store, tmp_path)
    summary = store.ingest(records[2])
    (grown,) = store.runs()
    assert grown.run_id != run_id
    assert summary.sources[0].message == f"run {run_id} went on; the longer record stands for it"
    assert (grown.evidence["tests"], grown.evidence["tree"], grown.evidence["invariants"]) == ("none",) * 3
    (finding,) = store.show(grown.run_id).defects
    assert finding.reason == "recorded before the run went on, and not taken over: a tree, test reports, invariants"
    assert store.sql("select count(*) from test_outcomes").fetchall() == [(0,)]
    assert store.verify() == []
    assert store.repair().lost == ()


def test_a_record_that_only_ended_keeps_what_was_attached(records: list[Path], tmp_path: Path) -> None:
    store = sw.Store(empty_store(tmp_path / ".samework"))
    store.ingest(records[2])
    attached(store, tmp_path)
    with records[2].open("ab") as stream:
        stream.write(b'{"kind": "end", "text": "finished"}\n')
    store.ingest(records[2])
    (grown,) = store.runs()
    assert grown.end_reason == "finished"
    assert (grown.evidence["tests"], grown.evidence["tree"]) == ("direct", "direct")
    assert store.sql("select count(*) from test_outcomes").fetchall() == [(1,)]
    assert store.verify() == []
    assert store.repair().lost == ()


def bundle(folder: Path, n_steps: int, tree: str, outcome: str) -> Path:
    """A bundle of the session so far, with the tree and the test of that moment."""
    folder.mkdir()
    (folder / "events.jsonl").write_bytes(b"".join(lines(4)[: 2 + 2 * n_steps]))
    inner = "" if outcome == "passed" else "<failure/>"
    count = int(outcome == "failed")
    case = f'<testcase classname="t" name="a">{inner}</testcase>'
    (folder / "r.xml").write_text(f'<testsuite tests="1" failures="{count}" errors="0">{case}</testsuite>')
    (folder / "tree").mkdir()
    (folder / "tree" / "a.py").write_text(tree)
    tests = [{"report": "r.xml", "suite": "s", "env": "e"}]
    told = {"task": "t", "arm": "a", "transcript": "events.jsonl", "tree": {"worktree": "tree"}, "tests": tests}
    (folder / "run.json").write_text(json.dumps(told))
    return folder


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_each_moment_of_a_session_keeps_to_its_own_results_in_any_order(tmp_path: Path, order: tuple[int, ...]) -> None:
    """A failure of an earlier moment is no flaky test of the later one."""
    other = bundle(tmp_path / "other", 3, "c\n", "failed")
    path = other / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b"s-1", b"s-2"))
    found = [bundle(tmp_path / "v1", 2, "a\n", "failed"), bundle(tmp_path / "v2", 3, "b\n", "passed"), other]
    store = sw.Store(empty_store(tmp_path / ".samework"))
    for place in order:
        store.ingest(found[place])
    a, b = sorted(store.runs(), key=lambda run: run.repeat)
    pair = store.compare(a.run_id, b.run_id)
    assert (pair.run_class, pair.status) == ("divergent", "established")
    assert store.verify() == []


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_equal_records_that_left_other_trees_are_two_runs_in_any_order(tmp_path: Path, order: tuple[int, ...]) -> None:
    found = [bundle(tmp_path / "v1", 2, "a\n", "failed"), bundle(tmp_path / "v2", 2, "b\n", "passed")]
    store = sw.Store(empty_store(tmp_path / ".samework"))
    for place in order:
        store.ingest(found[place])
    a, b = store.runs()
    assert store.compare(a.run_id, b.run_id).facets["tree"].verdict == "different"


def test_an_equal_record_brings_what_the_first_lacked(records: list[Path], tmp_path: Path) -> None:
    store = sw.Store(empty_store(tmp_path / ".samework"))
    store.ingest(records[2], bundle(tmp_path / "v1", 4, "a\n", "passed"))
    (run,) = store.runs()
    assert (run.evidence["tree"], run.evidence["tests"]) == ("direct", "direct")
    assert store.verify() == []


def test_a_session_that_went_another_way_is_another_run(records: list[Path], tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(b"".join(lines(3, last="another way")))
    store = sw.Store(empty_store(tmp_path / ".samework"))
    store.ingest(records[2], other)
    assert sorted(run.n_steps for run in store.runs()) == [3, 4]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_records_that_name_one_repeat_are_one_run(records: list[Path], tmp_path: Path, order: tuple[int, ...]) -> None:
    store = sw.Store(empty_store(tmp_path / ".samework"))
    for place in order:
        records[place].write_bytes(records[place].read_bytes().replace(b'"native_id": "s-1", ', b""))
        store.ingest(records[place], repeat="7")
    (run,) = store.runs()
    assert (run.repeat, run.n_steps, run.complete) == ("7", 4, True)
    assert store.verify() == []


def test_records_without_an_id_of_their_own_stay_apart(records: list[Path], tmp_path: Path) -> None:
    store = sw.Store(empty_store(tmp_path / ".samework"))
    for path in records:
        path.write_bytes(path.read_bytes().replace(b'"native_id": "s-1", ', b""))
        store.ingest(path)
    assert len(store.runs()) == 3


def claude(*turns: tuple[str, str | None, str, str]) -> bytes:
    """A session of Claude Code: for each turn its id, the id that it hangs on, the prompt and the reply ("": none)."""
    found: list[dict[str, object]] = []
    for at, (name, parent, prompt, reply) in enumerate(turns):
        base = {"sessionId": "s-1", "isSidechain": False, "timestamp": f"2026-01-01T00:00:{at:02}Z", "version": "2"}
        asked = {"type": "user", "uuid": name, "parentUuid": parent, "message": {"role": "user", "content": prompt}}
        usage = {"input_tokens": 1, "output_tokens": 10**at}
        message = {"role": "assistant", "id": f"m-{name}", "model": "m", "content": reply, "usage": usage}
        told = {"type": "assistant", "uuid": f"{name}-r", "parentUuid": name, "message": message}
        found += [{**base, **asked}, *([{**base, **told}] if reply else [])]
    return b"".join(json.dumps(line).encode() + b"\n" for line in found)


FIRST, SECOND = ("u0", None, "one", "first"), ("u1", "u0-r", "two", "old")
BACK, ON = ("u2", "u0-r", "two again", "new"), ("u3", "u1-r", "three", "old goes on")


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_session_that_went_back_is_the_same_runs_in_any_order(tmp_path: Path, order: tuple[int, ...]) -> None:
    moments = (claude(FIRST, SECOND), claude(FIRST, SECOND, BACK), claude(FIRST, SECOND, BACK, ON))
    store = sw.Store(empty_store(tmp_path / ".samework"))
    for at in order:
        path = tmp_path / f"{at}" / "s-1.jsonl"
        path.parent.mkdir()
        path.write_bytes(moments[at])
        store.ingest(path)
    runs = store.sql(
        "select r.native_id, r.parent_native_id, r.n_events, sum(u.completion_tokens) from runs r"
        " join call_usage u using (run_key) group by all order by all"
    ).fetchall()
    assert runs == [("s-1", None, 6, 1011), ("s-1/u2", "s-1", 4, 100)]
    assert store.verify() == []


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(
    ("names", "earlier"),
    [
        (("checkpoint-1", "checkpoint-2"), claude(FIRST)),
        (("s-1", "s-1"), claude((*FIRST[:3], ""))),
        (("checkpoint-1", "checkpoint-2"), claude((*FIRST[:3], ""))),
    ],
    ids=["under-another-name", "before-the-first-reply", "both"],
)
def test_what_names_a_session_may_change_while_it_grows(
    tmp_path: Path, names: tuple[str, str], earlier: bytes, order: tuple[int, int]
) -> None:
    store = sw.Store(empty_store(tmp_path / ".samework"))
    for at in order:
        path = tmp_path / f"{at}" / f"{names[at]}.jsonl"
        path.parent.mkdir()
        path.write_bytes((earlier, claude(FIRST, SECOND))[at])
        store.ingest(path)
    (run,) = store.runs()
    assert (run.task, run.arm, run.repeat, run.n_steps) == (names[1], "claude-code/m", "1", 2)
    assert store.verify() == []


def test_records_that_a_person_named_apart_stay_apart(tmp_path: Path) -> None:
    store = sw.Store(empty_store(tmp_path / ".samework"))
    for name, data in (("a", claude(FIRST)), ("b", claude(FIRST, SECOND))):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(data)
        store.ingest(path, task=name)
    assert len(store.runs()) == 2


def test_a_session_that_began_at_another_time_is_another_one(tmp_path: Path) -> None:
    store = sw.Store(empty_store(tmp_path / ".samework"))
    for name, data in (("a", claude(FIRST)), ("b", claude(FIRST, SECOND).replace(b"00:00:00Z", b"00:00:09Z"))):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(data)
        store.ingest(path)
    assert len(store.runs()) == 2
