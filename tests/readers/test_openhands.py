"""OpenHands: actions of one reply are one completion, results go by cause, repeated conversations count once."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import samework as sw
from samework.decode.source import BytesSource, DirSource, FileSource
from samework.errors import UnknownFormat
from samework.model.events import Event
from samework.model.records import Damage, ManifestFact, OutcomeRecord, PatchRecord, RunEnd, RunStart
from samework.model.words import EndReason
from samework.readers.openhands_llm_log import READER as LLM_LOG
from samework.readers.openhands_v0 import READER as V0
from samework.readers.openhands_v1 import READER as V1
from tests.stores import empty_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def only(records: list[Any], kind: type) -> list[Any]:
    return [record for record in records if isinstance(record, kind)]


def told(records: list[Any]) -> list[tuple[str, str]]:
    return [(event.kind.value, event.text) for event in only(records, Event)]


def read(reader: Any, *values: Any) -> list[Any]:
    source = BytesSource("x.jsonl", "".join(json.dumps(value) + "\n" for value in values).encode())
    assert reader.sniff(source.head(), source) > 0.8
    return list(reader.read(source))


# 0.x


def reply(name: str, calls: dict[str, str], **usage: Any) -> dict[str, Any]:
    made = [{"id": call, "function": {"name": "execute_bash", "arguments": text}} for call, text in calls.items()]
    return {
        "id": name,
        "choices": [{"message": {"content": "thinking", "tool_calls": made}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2} | usage,
    }


def action(
    number: int, kind: str, response: dict[str, Any] | None = None, call: str = "c1", **args: Any
) -> dict[str, Any]:
    made = {"id": number, "source": "agent", "action": kind, "args": args}
    return made | ({"tool_call_metadata": {"tool_call_id": call, "model_response": response}} if response else {})


def result(number: int, cause: int, text: str, **more: Any) -> dict[str, Any]:
    return {"id": number, "source": "agent", "observation": "run", "cause": cause, "content": text, "extras": {}} | more


def instance(history: list[Any], **more: Any) -> dict[str, Any]:
    record = {
        "instance_id": "a__b-1",
        "test_result": {"git_patch": "diff"},
        "instruction": "do",
        "metadata": {"agent_class": "C", "llm_config": {"model": "m", "temperature": 0.0}},
    }
    return record | {"history": history, "instance": {"base_commit": "ab" * 20, "repo": "a/b"}, "error": None} | more


USER = {"id": 1, "source": "user", "action": "message", "args": {"content": "do"}}


def test_actions_of_one_reply_are_one_completion_and_results_go_by_cause():
    both = reply("g1", {"c1": '{"command": "ls"}', "c2": '{"command":"pwd"}'})
    again = reply("g2", {"c1": '{"command": "id"}'}, prompt_tokens_details={"cached_tokens": 4})
    history = [
        {"id": 0, "source": "agent", "action": "system", "args": {"content": "sys", "tools": [{"x": 1}]}},
        USER,
        action(2, "run", both, "c1", command="ls"),
        action(3, "run", both, "c2", command="pwd"),
        result(4, 3, "second"),
        result(5, 2, "first", extras={"metadata": {"exit_code": 1}}),
        action(6, "run", again, "c1", command="id"),
        result(7, 6, "third"),
        action(8, "finish", None),
    ]
    records = read(V0, instance(history))
    assert told(records) == [
        ("system", "sys"),
        ("tools", '[{"x":1}]'),
        ("user", "do"),
        ("completion", "thinking"),
        ("observation", "second"),
        ("observation", "first"),
        ("completion", "thinking"),
        ("observation", "third"),
        ("completion", ""),
    ]
    calls = [(call.arguments, call.call_id, call.exact) for event in only(records, Event) for call in event.calls]
    assert calls == [
        ('{"command": "ls"}', "e2", True),
        ('{"command":"pwd"}', "e3", True),
        ('{"command": "id"}', "e6", True),
        ("{}", "e8", False),
    ]
    assert [(event.call_id, event.exit_status) for event in only(records, Event) if event.kind == "observation"] == [
        ("e3", None),
        ("e2", 1),
        ("e6", None),
    ]
    assert [event.usage.cached_tokens for event in only(records, Event) if event.usage] == [None, 4]
    assert [end.reason for end in only(records, RunEnd)] == [EndReason.FINISHED]


def test_replies_of_one_id_are_as_many_as_their_calls_come_again():
    both = reply("same", {"c1": '{"command": "ls"}', "c2": '{"command":"pwd"}'})
    one = reply("same", {"c1": '{"command": "id"}'})
    history = [USER, action(2, "run", both, "c1"), action(3, "run", both, "c2"), result(4, 3, "x")]
    history += [action(5, "run", both, "c1"), action(6, "run", both, "c2"), action(7, "run", one), result(8, 7, "y")]
    records = read(V0, instance(history))
    made = [event for event in only(records, Event) if event.kind == "completion"]
    assert [[call.call_id for call in event.calls] for event in made] == [["e2", "e3"], ["e5", "e6"], ["e7"]]
    assert [event.usage.prompt_tokens for event in made] == [9, 9, 9]
    assert [event.call_id for event in only(records, Event) if event.kind == "observation"] == ["e3", "e7"]


def test_a_run_that_goes_on_after_its_finish_has_not_ended():
    finish, more = action(2, "finish", None), {**USER, "id": 3}
    assert read(V0, instance([USER, finish]))[-1].reason is EndReason.FINISHED
    assert read(V0, instance([USER, finish, more]))[-1].reason is EndReason.UNRECORDED
    assert read(V0, instance([USER, finish, action(3, "run", None)]))[-1].reason is EndReason.UNRECORDED


def test_an_instance_has_its_task_base_and_patch():
    records = read(
        V0,
        instance([USER], test_result={"git_patch": "", "report": {"resolved": True}}),
        instance([], instance_id="c__d-2", test_result={}),
    )
    assert [(start.task, start.layout, start.base_commit) for start in only(records, RunStart)] == [
        ("a__b-1", "swe-bench", "ab" * 20),
        ("c__d-2", "swe-bench", "ab" * 20),
    ]
    assert [(patch.patch, patch.null_reason is None) for patch in only(records, PatchRecord)] == [
        (b"", True),
        (None, False),
    ]
    assert [(each.name, each.value) for each in only(records, OutcomeRecord)] == [("resolved", True)]
    assert told(records) == [("user", "do"), ("user", "do")]


def test_pairs_of_an_older_history_and_actions_without_replies_are_read():
    run = {"action": "run", "command": "ls", "thought": "look", "keep_prompt": True}
    records = read(
        V0,
        {
            "issue": {"owner": "o", "repo": "r", "number": 5},
            "issue_type": "issue",
            "instruction": "fix",
            "base_commit": "",
            "git_patch": "diff",
            "success": False,
            "history": [
                [{"action": "message", "content": "fix"}, {"observation": "null"}],
                [run, {"observation": "run", "content": "a", "exit_code": 0}],
            ],
        },
    )
    assert told(records) == [("user", "fix"), ("completion", "look"), ("observation", "a")]
    (call,) = [each for event in only(records, Event) for each in event.calls]
    assert (call.name, call.arguments, call.exact) == ("run", '{"command":"ls"}', False)
    assert [start.task for start in only(records, RunStart)] == ["o__r-5"]
    assert [(each.name, each.value) for each in only(records, OutcomeRecord)] == [("success", False)]


def test_a_limit_and_an_error_end_a_run():
    for error, reason in (
        ("RuntimeError: Agent reached maximum iteration", EndReason.LIMIT),
        ("boom", EndReason.ERROR),
    ):
        assert [end.reason for end in only(read(V0, instance([USER], error=error)), RunEnd)] == [reason]


def test_pages_of_a_session_are_one_run_in_the_order_of_their_numbers(tmp_path):
    folder = tmp_path / "sid" / "events"
    folder.mkdir(parents=True)
    for number, event in {2: action(2, "run", None, command="ls"), 10: result(10, 2, "out"), 1: USER}.items():
        (folder / f"{number}.json").write_text(json.dumps(event))
    assert V0.sniff(b"", DirSource(folder)) > 0.8
    assert told(list(V0.read(DirSource(folder)))) == [("user", "do"), ("completion", ""), ("observation", "out")]
    with sw.Store(empty_store(tmp_path / "store")) as store:
        assert store.ingest(tmp_path / "sid").n_new == 1
        assert store.ingest(tmp_path / "sid").n_known == 1


# 1.x


def event(kind: str, source: str = "agent", **more: Any) -> dict[str, Any]:
    return {"id": f"id-{kind}", "timestamp": "2026-01-01T00:00:00", "source": source, "kind": kind} | more


def acted(name: str, response: str, text: str = "", **more: Any) -> dict[str, Any]:
    thought = [{"type": "text", "text": text}] if text else []
    call = {"id": name, "name": "terminal", "arguments": '{"command": "ls"}'}
    return event(
        "ActionEvent",
        tool_name="terminal",
        tool_call_id=name,
        tool_call=call,
        llm_response_id=response,
        thought=thought,
        action={"command": "ls"},
        **more,
    )


def seen(name: str, text: str, **more: Any) -> dict[str, Any]:
    return event(
        "ObservationEvent",
        "environment",
        tool_name="terminal",
        tool_call_id=name,
        observation={"content": [{"type": "text", "text": text}]} | more,
    )


def stats(prompt: int, made: int, usage_id: str = "default") -> dict[str, Any]:
    counted = {"prompt_tokens": prompt, "completion_tokens": made, "cache_read_tokens": 1}
    return event(
        "ConversationStateUpdateEvent",
        "environment",
        key="stats",
        value={"usage_to_metrics": {usage_id: {"model_name": "m", "accumulated_token_usage": counted}}},
    )


EVENTS = [
    event("SystemPromptEvent", system_prompt={"text": "sys"}, tools=[{"t": 1}]),
    event("MessageEvent", "user", llm_message={"role": "user", "content": [{"type": "text", "text": "do"}]}),
    stats(10, 2),
    acted("c1", "r1", "both", reasoning_content="hm"),
    seen("c1", "one", exit_code=0),
    acted("c2", "r1"),
    seen("c2", "two"),
    stats(30, 5),
    acted("c3", "r2"),
    event("TokenEvent", prompt_token_ids=[1, 2], response_token_ids=[3]),
    event("AgentErrorEvent", tool_call_id="c3", error="no such tool"),
    event("Condensation", "environment", summary="short"),
    event("MessageEvent", llm_message={"role": "assistant", "content": [{"type": "text", "text": "bye"}]}),
    event("ConversationStateUpdateEvent", "environment", key="execution_status", value="finished"),
]


def test_actions_with_one_response_are_one_completion_though_results_stand_between():
    records = read(V1, *EVENTS)
    assert told(records) == [
        ("system", "sys"),
        ("tools", '[{"t":1}]'),
        ("user", "do"),
        ("completion", "both"),
        ("observation", "one"),
        ("observation", "two"),
        ("completion", ""),
        ("observation", "no such tool"),
        ("context_edit", "short"),
        ("completion", "bye"),
    ]
    first, second, _ = [each for each in only(records, Event) if each.kind == "completion"]
    assert [(call.arguments, call.exact, call.call_id) for call in first.calls] == [
        ('{"command": "ls"}', True, "c1"),
        ('{"command": "ls"}', True, "c2"),
    ]
    assert (first.reasoning, first.usage.prompt_tokens, second.usage.prompt_tokens, second.usage.completion_tokens) == (
        "hm",
        10,
        20,
        3,
    )
    assert (second.token_ids, second.prompt_token_ids) == ((3,), (1, 2))
    assert [end.reason for end in only(records, RunEnd)] == [EndReason.FINISHED]
    assert not only(records, Damage)


def status(value: str) -> dict[str, Any]:
    return event("ConversationStateUpdateEvent", "environment", key="execution_status", value=value)


def usages(records: list[Any]) -> list[Any]:
    made = [each.usage for each in only(records, Event) if each.kind == "completion"]
    return [each and (each.prompt_tokens, each.completion_tokens) for each in made]


def test_a_conversation_that_goes_on_has_not_ended():
    more = event("MessageEvent", "user", llm_message={"role": "user", "content": "more"})
    finish = acted("c1", "r1") | {"tool_name": "finish"}
    assert read(V1, *EVENTS[:2], finish, status("finished"))[-1].reason is EndReason.FINISHED
    for later in ([status("running")], [more], [acted("c2", "r2")]):
        assert read(V1, *EVENTS[:2], finish, status("finished"), *later)[-1].reason is EndReason.UNRECORDED


def test_an_error_of_the_conversation_ends_it_with_its_code():
    for code, reason in (("LLMContextWindowExceedError", EndReason.ERROR), ("MaxIterationsReached", EndReason.LIMIT)):
        told_of = event("ConversationErrorEvent", "environment", code=code, detail="x")
        for last in ([told_of], [status("error"), told_of], [told_of, status("error")]):
            records = read(V1, *EVENTS[:2], acted("c1", "r1"), *last)
            assert (records[-1].reason, records[-1].detail) == (reason, f"{code}: x")
            assert not only(records, Damage)


def test_all_that_the_counts_grew_by_is_counted():
    growing = [stats(10, 5), stats(30, 9), acted("c1", "r1"), seen("c1", "x"), stats(60, 12), acted("c2", "r2")]
    records = read(V1, *EVENTS[:2], *growing, seen("c2", "x"), stats(100, 20))
    assert usages(records) == [(30, 9), (70, 11)]
    assert not only(records, Damage)
    (damage,) = only(read(V1, EVENTS[1], stats(10, 5)), Damage)
    assert (damage.code, damage.reason.split(" after")[0]) == (
        "counts-without-call",
        "10 prompt and 5 completion tokens",
    )


def test_the_agents_counts_are_those_of_its_own_model(tmp_path):
    assert usages(read(V1, EVENTS[1], stats(9, 1, "condenser"), stats(10, 5, "agent"), acted("c1", "r1"))) == [(10, 5)]
    two = stats(10, 5, "left")
    two["value"]["usage_to_metrics"]["right"] = two["value"]["usage_to_metrics"]["left"]
    records = read(V1, EVENTS[1], two, acted("c1", "r1"))
    assert usages(records) == [None]
    assert [damage.code for damage in only(records, Damage)] == ["counts-without-call"]
    (tmp_path / "events").mkdir()
    (tmp_path / "base_state.json").write_text(json.dumps({"agent": {"llm": {"model": "m", "usage_id": "right"}}}))
    for number, each in enumerate([EVENTS[1], two, acted("c1", "r1")]):
        (tmp_path / "events" / f"event-{number:05d}-abc.json").write_text(json.dumps(each))
    assert usages(list(V1.read(DirSource(tmp_path)))) == [(10, 5)]


def test_a_result_without_its_call_taints_the_run_and_an_unknown_kind_does_not():
    found = only(read(V1, *EVENTS[:2], seen("c9", "x"), event("NewKind")), Damage)
    assert [(damage.code, damage.taints_run) for damage in found] == [("missing-call", True), ("unknown-record", False)]


def test_a_conversation_in_files_has_its_state(tmp_path):
    folder = tmp_path / "conv"
    (folder / "events").mkdir(parents=True)
    state = {
        "id": "i",
        "agent": {"kind": "Agent", "llm": {"model": "m", "temperature": 0.5}},
        "workspace": {"working_dir": "/w"},
    }
    (folder / "base_state.json").write_text(json.dumps(state))
    with pytest.raises(UnknownFormat, match="without its events"):
        list(V1.read(DirSource(folder)))
    for number, each in enumerate(EVENTS):
        (folder / "events" / f"event-{number:05d}-abc.json").write_text(json.dumps(each))
    records = list(V1.read(DirSource(folder)))
    assert told(records) == told(read(V1, *EVENTS))
    assert [(start.native_id, start.model) for start in only(records, RunStart)] == [("i", "m")]
    assert {"sampling.temperature", "workspace.root", "model.id"} <= {
        fact.field for fact in only(records, ManifestFact)
    }
    with sw.Store(empty_store(tmp_path / "store")) as store:
        assert store.ingest(folder).n_new == 1


# Logs of calls


def logged(messages: list[Any], said: str, time: float, **more: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 5, "completion_tokens": 1}
    response = {
        "id": "x",
        "model": "m",
        "choices": [{"message": {"content": said}, "finish_reason": "stop"}],
        "usage": usage,
    }
    return {
        "messages": messages,
        "kwargs": {"temperature": 0.0},
        "response": response,
        "cost": 0,
        "timestamp": time,
        "latency_sec": 1.0,
    } | more


def test_calls_of_one_conversation_are_one_run_by_time(tmp_path):
    ask, more = {"role": "user", "content": [{"type": "text", "text": "q"}]}, {"role": "user", "content": "go on"}
    first = logged([ask], "one", 1700000000.1)
    second = logged([ask, {"role": "assistant", "content": "one"}, more], "two", 1700000002.5)
    other = logged([{"role": "user", "content": "else"}], "three", 1700000003.5)
    for call in (second, first, other):
        (tmp_path / f"m-{call['timestamp']:.3f}.json").write_text(json.dumps(call))
    records = list(LLM_LOG.read(DirSource(tmp_path)))
    assert told(records) == [
        ("user", "q"),
        ("completion", "one"),
        ("user", "go on"),
        ("completion", "two"),
        ("user", "else"),
        ("completion", "three"),
    ]
    assert len(only(records, RunStart)) == 2
    with sw.Store(empty_store(tmp_path / "store")) as store:
        assert store.ingest(tmp_path).n_new == 2


def test_messages_before_they_were_turned_into_text_are_read():
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    raw = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "r", "tool_call_id": "c"},
    ]
    records = read(LLM_LOG, logged([{"role": "user", "content": "text"}], "bye", 1.5, raw_messages=raw))
    assert told(records) == [("user", "q"), ("completion", ""), ("observation", "r"), ("completion", "bye")]


@pytest.mark.parametrize(("name", "reason"), [("finish", EndReason.FINISHED), ("run", EndReason.UNRECORDED)])
def test_a_last_reply_that_calls_a_tool_is_the_end_where_the_tool_is_finish(name, reason):
    call = logged([{"role": "user", "content": "q"}], "", 1.5)
    asks = {"id": "c", "function": {"name": name, "arguments": "{}"}}
    call["response"]["choices"] = [{"message": {"tool_calls": [asks]}, "finish_reason": "tool_calls"}]
    assert read(LLM_LOG, call)[-1].reason is reason


@pytest.mark.shared
def test_counts_of_instances_are_those_of_a_plain_walk(shared_path: Callable[..., Path]):
    for name in ("multi_swe_bench_output.jsonl", "resolver_output.jsonl"):
        path = shared_path("data", "formats", "openhands-v0", name)
        lines = [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
        events = [each for line in lines for each in line["history"]]
        replies = {
            each["tool_call_metadata"]["model_response"]["id"]: each["tool_call_metadata"]["model_response"]
            for each in events
            if "tool_call_metadata" in each
        }
        skipped = {"system", "recall", "message"}
        loose = [
            each
            for each in events
            if each.get("action") and each["action"] not in skipped and "tool_call_metadata" not in each
        ]
        records = list(V0.read(FileSource(path)))
        kinds = Counter(each.kind.value for each in only(records, Event))
        assert len(only(records, RunStart)) == len(only(records, PatchRecord)) == len(lines)
        assert kinds["completion"] == len(replies) + len(loose)
        assert kinds["observation"] == sum(
            1 for each in events if each.get("observation") and each["observation"] != "recall"
        )
        usages = [each.usage for each in only(records, Event) if each.usage]
        assert sum(usage.prompt_tokens for usage in usages) == sum(
            each["usage"]["prompt_tokens"] for each in replies.values()
        )
        assert sum(len(each.calls) for each in only(records, Event)) == sum(
            len(each["choices"][0]["message"]["tool_calls"]) for each in replies.values()
        ) + len(loose)
        assert not only(records, Damage)


@pytest.mark.shared
def test_counts_of_conversations_are_those_of_a_plain_walk(shared_path: Callable[..., Path]):
    path = shared_path("data", "formats", "openhands-v1", "conversation", "goal", "fixtures", "events.jsonl")
    lines = [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    counts = Counter(line["kind"] for line in lines)
    kinds = Counter(each.kind.value for each in only(list(V1.read(FileSource(path))), Event))
    assert (kinds["completion"], kinds["observation"]) == (counts["ActionEvent"], counts["ObservationEvent"])


@pytest.mark.shared
def test_counts_of_call_logs_are_those_of_a_plain_walk(shared_path: Callable[..., Path], tmp_path: Path):
    paths = sorted(shared_path("data", "formats", "openhands-v1-llmlog").glob("*.json"))
    values = [json.loads(path.read_bytes()) for path in paths]
    with sw.Store(empty_store(tmp_path / "store")) as store:
        assert store.ingest(paths[0].parent).n_new == 2
        rows = store.sql("select sum(n_steps), sum(n_calls) from run").fetchall()
        assert rows == [
            (
                len(paths),
                sum(len(value["response"]["choices"][0]["message"].get("tool_calls") or []) for value in values),
            )
        ]
        rows = store.sql("select sum(prompt_tokens), sum(completion_tokens) from call_usage").fetchall()
        assert rows == [
            tuple(
                sum(value["response"]["usage"][name] for value in values)
                for name in ("prompt_tokens", "completion_tokens")
            )
        ]
