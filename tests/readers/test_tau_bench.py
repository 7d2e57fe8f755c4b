"""tau-bench: many runs in one list, read one at a time, each with its calls and its reward."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from samework.decode.limits import Limits
from samework.decode.source import BytesSource, FileSource
from samework.errors import DamagedRecord
from samework.model.events import Event
from samework.model.reader import Reader
from samework.model.records import Damage, OutcomeRecord, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, RunKind
from samework.readers import tau_bench
from samework.readers.tau_bench import READER


def call(name: str, arguments: object, call_id: str | None = "call_1") -> dict:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def trial(task: int, number: int, reward: float = 1.0, **more: object) -> dict:
    messages = [
        {"role": "system", "content": "policy"},
        {"role": "user", "content": 'Hi, my "name" is {[ \\'},
        {"role": "assistant", "content": None, "tool_calls": [call("look", '{"id": "A1"}')]},
        {"role": "tool", "tool_call_id": "call_1", "name": "look", "content": "{}"},
        {"role": "assistant", "content": "Found."},
        {"role": "user", "content": "Bye ###STOP###"},
    ]
    info = {"source": "user", "user_cost": 0.1}
    return {"task_id": task, "reward": reward, "info": info, "traj": messages, "trial": number, **more}


RUNS = [trial(0, 0), trial(0, 1, 0.0), trial(1, 0)]


def read(text: str | bytes) -> list[object]:
    return list(READER.read(BytesSource("results.json", text if isinstance(text, bytes) else text.encode())))


def only(records: list[object], kind: type) -> list:
    return [record for record in records if isinstance(record, kind)]


def sniff(document: object) -> float:
    data = json.dumps(document).encode()
    return READER.sniff(data[:65536], BytesSource("results.json", data))


def test_it_is_a_reader():
    assert isinstance(READER, Reader)


def test_each_trial_is_a_run_with_task_repeat_and_reward():
    records = read(json.dumps(RUNS))
    assert [(start.task, start.repeat) for start in only(records, RunStart)] == [("0", "0"), ("0", "1"), ("1", "0")]
    assert {(start.kind, start.layout) for start in only(records, RunStart)} == {(RunKind.TOOL_USE, "tau-bench")}
    assert [outcome.value for outcome in only(records, OutcomeRecord)] == [1.0, 0.0, 1.0]
    assert {end.reason for end in only(records, RunEnd)} == {EndReason.FINISHED}


def test_events_of_one_run():
    records = read(json.dumps(RUNS[:1]))
    assert [event.kind for event in only(records, Event)] == [
        EventKind.SYSTEM,
        EventKind.USER,
        EventKind.COMPLETION,
        EventKind.OBSERVATION,
        EventKind.COMPLETION,
        EventKind.USER,
    ]
    (made,) = [found for event in only(records, Event) for found in event.calls]
    assert (made.name, made.arguments, made.exact, made.call_id) == ("look", '{"id": "A1"}', True, "call_1")


def test_arguments_that_were_decoded_are_not_exact_and_missing_ids_are_made():
    messages = [{"role": "assistant", "content": "", "tool_calls": [call("f", {"b": 1}, None), call("g", "x", None)]}]
    made = [found for event in only(read(json.dumps([trial(0, 0, traj=messages)])), Event) for found in event.calls]
    assert [(found.arguments, found.exact, found.call_id) for found in made] == [
        ('{"b":1}', False, "s1.0"),
        ("x", True, "s1.1"),
    ]


def test_offsets_point_at_the_runs():
    text = json.dumps(RUNS, indent=1)
    starts = [text.index(json.dumps(run, indent=1).splitlines()[1].strip()) for run in RUNS[:1]]
    offsets = [event.offset for event in only(read(text), Event)]
    assert text[offsets[0] :].startswith("{")
    assert offsets[0] < starts[0]
    assert len(set(offsets)) == 3


def test_spacing_and_order_of_keys_do_not_change_what_a_run_is():
    reordered = [dict(reversed(run.items())) for run in RUNS]
    ids = [start.content_sha256 for start in only(read(json.dumps(RUNS)), RunStart)]
    assert ids == [start.content_sha256 for start in only(read(json.dumps(reordered, indent=3)), RunStart)]
    assert len(set(ids)) == 3


@pytest.mark.parametrize("n_lost", [1, 30, 400])
def test_a_cut_list_gives_the_runs_before_the_cut(n_lost):
    text = json.dumps(RUNS)[:-n_lost]
    records = read(text)
    assert [start.task for start in only(records, RunStart)] == (["0", "0", "1"] if n_lost == 1 else ["0", "0"])
    (damage,) = only(records, Damage)
    assert (damage.code, damage.taints_run, damage.offset + damage.n_bytes) == ("cut-tail", False, len(text))


def test_a_list_is_read_the_same_in_small_pieces(monkeypatch):
    text = json.dumps([trial(number, 0, note="\\" * 40 + '"' * 3) for number in range(20)])
    whole = read(text)
    monkeypatch.setattr(tau_bench, "MIB", 7)
    assert read(text) == whole


def test_a_run_beyond_the_limit_is_reported(monkeypatch):
    monkeypatch.setattr(tau_bench, "MIB", 64)
    source = BytesSource("results.json", json.dumps(RUNS).encode())
    found = list(tau_bench._elements(source, Limits(max_line_bytes=100)))
    assert [getattr(record, "code", None) for record in found] == ["limit-exceeded"]


def test_a_run_that_is_none_is_reported_and_the_rest_is_read():
    for odd in ({"task_id": 3}, {"traj": []}, [1], {"task_id": True, "traj": []}):
        records = read(json.dumps([RUNS[0], odd, RUNS[2]]))
        assert len(only(records, RunStart)) == 2
        assert [damage.taints_run for damage in only(records, Damage)] == [False]
    for odd in ("7", '"text"', "null"):
        records = read(f"[{json.dumps(RUNS[0])}, {odd}, {json.dumps(RUNS[2])}, {odd}]")
        assert len(only(records, RunStart)) == 2
        assert len(only(records, Damage)) == 2


def test_bytes_after_the_list_are_reported():
    (damage,) = only(read(json.dumps(RUNS) + "\n{}"), Damage)
    assert damage.reason == "bytes after the end of the list"
    assert not only(read(json.dumps(RUNS) + "\n \n"), Damage)


def test_a_trial_that_failed_says_so():
    records = read(json.dumps([trial(0, 0, 0.0, info={"error": "boom\x1b[2J", "traceback": "t"}, traj=[])]))
    (end,) = only(records, RunEnd)
    assert (end.reason, end.detail) == (EndReason.ERROR, "boom\\x1b[2J")


def test_a_run_without_a_stop_has_no_recorded_end():
    records = read(json.dumps([trial(0, 0, traj=[{"role": "assistant", "content": "a"}])]))
    assert only(records, RunEnd) == [RunEnd()]


def test_a_reward_that_is_no_number_is_no_outcome():
    for reward in (None, "1", float("nan")):
        assert not only(read(json.dumps([trial(0, 0, reward)])), OutcomeRecord)


def test_what_is_no_list_of_runs_is_refused():
    for text in ("{}", "7", "[7]", "", "[" + json.dumps(RUNS[0])[:-9]):
        with pytest.raises(DamagedRecord):
            read(text)


def test_other_formats_are_not_claimed():
    assert sniff(RUNS) > 0.9
    assert sniff({"simulations": RUNS, "info": {}, "tasks": []}) == 0
    assert sniff([{"role": "user", "content": '"task_id": 1, "traj": [], "reward": 0'}]) == 0
    assert sniff([{"instance_id": "a", "model_patch": ""}]) == 0


@pytest.mark.shared
def test_real_calls_and_rewards_are_those_of_the_file(shared_path):
    for parts, n_runs in ((("tau-airline", "gpt-4o-airline.json"), 200), (("formats", "tau-bench"), 20)):
        path = shared_path("data", *parts)
        path = path if path.is_file() else next(path.glob("*.json"))
        source, document = FileSource(path), json.loads(path.read_bytes())
        assert READER.sniff(source.head(), source) > 0.9
        records = list(READER.read(source))
        assert not only(records, Damage)
        runs: list[tuple] = []
        for record in records:
            if isinstance(record, RunStart):
                runs.append((record.task, record.repeat, [], []))
            elif isinstance(record, Event):
                runs[-1][2].extend((found.name, found.arguments) for found in record.calls)
            elif isinstance(record, OutcomeRecord):
                runs[-1][3].append(record.value)
        assert runs == [
            (
                str(row["task_id"]),
                str(row["trial"]),
                [
                    (found["function"]["name"], found["function"]["arguments"])
                    for message in row["traj"]
                    for found in message.get("tool_calls") or []
                ],
                [row["reward"]],
            )
            for row in document
        ]
        assert len(runs) == n_runs
        assert set(Counter(run[0] for run in runs).values()) == {4}


@pytest.mark.shared
def test_runs_of_an_excerpt_are_those_of_the_whole(shared_path):
    whole, part = (
        {start.content_sha256 for start in only(list(READER.read(FileSource(path))), RunStart)}
        for path in (
            shared_path("data", "tau-airline", "gpt-4o-airline.json"),
            next(shared_path("data", "formats", "tau-bench").glob("*.json")),
        )
    )
    assert part <= whole
