"""The reader of `codex exec --json`: each item once, totals of a thread never as those of a call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from samework.model.words import EndReason, EventKind
from samework.readers.codex_exec import READER
from tests.agentlab import read_file, read_lines

BEGUN = {"type": "thread.started", "thread_id": "th-1"}
TURN = {"type": "turn.started"}
DONE = {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 2}}


def item(state: str, kind: str, item_id: str, **more: Any) -> dict[str, Any]:
    return {"type": f"item.{state}", "item": {"id": item_id, "type": kind, **more}}


def command(state: str, item_id: str, **more: Any) -> dict[str, Any]:
    return item(state, "command_execution", item_id, command=f"bash -lc {item_id}", **more)


def test_items_that_no_result_parts_are_one_completion_and_none_is_read_twice():
    (run,) = read_lines(
        READER,
        BEGUN,
        TURN,
        item("completed", "reasoning", "i0", text="hm"),
        item("completed", "agent_message", "i1", text="look"),
        command("started", "i2", aggregated_output="", exit_code=None),
        command("started", "i3", aggregated_output="", exit_code=None),
        command("completed", "i3", aggregated_output="three", exit_code=1),
        command("completed", "i2", aggregated_output="two", exit_code=0),
        item("completed", "agent_message", "i4", text="done"),
        DONE,
    )
    assert run.kinds == ["completion", "observation", "observation", "completion"]
    assert run.texts == ["look", "three", "two", "done"]
    assert [call.arguments for call in run.calls] == ["bash -lc i2", "bash -lc i3"]
    assert [event.exit_status for event in run.of(EventKind.OBSERVATION)] == [1, 0]
    assert [event.call_id for event in run.of(EventKind.OBSERVATION)] == ["i3", "i2"]
    assert run.steps[0].reasoning == "hm"
    assert run.end.reason is EndReason.FINISHED


def test_totals_of_the_thread_are_kept_apart_from_the_tokens_of_calls():
    (run,) = read_lines(READER, BEGUN, TURN, item("completed", "agent_message", "i1", text="done"), DONE)
    assert run.steps[0].usage is None
    assert run.start.extra == {"thread_usage": {"input_tokens": 10, "output_tokens": 2}}
    assert run.start.native_id == "th-1"


def test_kinds_of_item_keep_what_they_carry():
    (run,) = read_lines(
        READER,
        BEGUN,
        item("completed", "file_change", "i1", changes=[{"path": "a", "kind": "add"}], status="completed"),
        item("completed", "mcp_tool_call", "i2", server="s", tool="t", arguments={"a": 1}, result={"content": "ok"}),
        item("completed", "web_search", "i3", query="q"),
        item("completed", "todo_list", "i4", items=[]),
        item("completed", "marvel", "i5"),
        item("completed", "error", "i6", message="odd"),
        DONE,
    )
    assert [(call.name, call.arguments) for call in run.calls] == [
        ("file_change", '[{"path":"a","kind":"add"}]'),
        ("s.t", '{"a":1}'),
        ("web_search", '"q"'),
    ]
    assert run.codes == ["program-message", "unknown-record"]


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ([TURN], EndReason.LOG_TRUNCATED),
        ([TURN, {"type": "error", "message": "Reconnecting"}, command("started", "i1")], EndReason.LOG_TRUNCATED),
        ([DONE, TURN], EndReason.LOG_TRUNCATED),
        ([{"type": "turn.failed", "error": {"message": "no"}}], EndReason.ERROR),
        ([DONE], EndReason.FINISHED),
    ],
)
def test_the_end_is_that_of_the_last_turn(last, reason):
    (run,) = read_lines(READER, BEGUN, TURN, *last)
    assert run.end.reason is reason


def old(kind: str, **more: Any) -> dict[str, Any]:
    return {"id": "0", "msg": {"type": kind, **more}}


def total(n_in: int, n_out: int, last_in: int, last_out: int) -> dict[str, Any]:
    info = {
        "total_token_usage": {"input_tokens": n_in, "output_tokens": n_out},
        "last_token_usage": {"input_tokens": last_in, "cached_input_tokens": 4, "output_tokens": last_out},
    }
    return old("token_count", info=info)


def test_older_output_gives_the_tokens_of_each_call_once():
    (run,) = read_lines(
        READER,
        {"model": "m-1", "workdir": "/w"},
        {"prompt": "do"},
        old("task_started"),
        old("agent_reasoning", text="hm"),
        old("agent_message", message="look"),
        old("exec_command_begin", call_id="c1", command=["ls"]),
        total(10, 2, 10, 2),
        total(10, 2, 10, 2),
        old("exec_command_end", call_id="c1", aggregated_output="a", exit_code=0),
        old("mcp_tool_call_begin", call_id="c2", invocation={"server": "s", "tool": "t", "arguments": {"a": 1}}),
        old("mcp_tool_call_end", call_id="c2", result={"Ok": {"content": [{"type": "text", "text": "b"}]}}),
        total(25, 5, 15, 3),
        old("agent_message", message="done"),
        old("task_complete"),
    )
    assert run.kinds == ["user", "completion", "observation", "completion", "observation", "completion"]
    assert run.texts == ["do", "look", "a", "", "b", "done"]
    assert [call.arguments for call in run.calls] == ['["ls"]', '{"a":1}']
    assert (run.tokens("prompt_tokens"), run.tokens("completion_tokens")) == (25, 5)
    assert not run.damage
    assert run.end.reason is EndReason.FINISHED


def test_older_output_that_ends_early_or_is_not_known_says_so():
    (run,) = read_lines(READER, old("task_started"), old("marvel"), {"x": 1}, old("agent_message", message="a"))
    assert sorted(run.codes) == ["damaged-record", "unknown-record"]
    assert run.end.reason is EndReason.LOG_TRUNCATED


def test_an_older_task_that_failed_is_not_finished_and_does_not_end_the_next():
    begun, failed, complete = old("task_started"), old("error", message="no"), old("task_complete")
    (run,) = read_lines(READER, begun, failed, complete)
    assert (run.end.reason, run.end.detail) == (EndReason.ERROR, "no")
    assert read_lines(READER, begun, failed, complete, begun)[0].end.reason is EndReason.LOG_TRUNCATED


@pytest.mark.parametrize("name", ["a1", "a2", "b1", "c1", "x1"])
def test_real_output_has_the_counts_of_a_plain_walk(shared_path, name):
    path = shared_path("data", "formats", "codex", "generated-fix-add", name, "exec-stdout.jsonl")
    items = [json.loads(raw) for raw in path.read_bytes().splitlines()]
    done = [one["item"] for one in items if one["type"] == "item.completed"]
    (run,) = read_file(READER, path)
    commands = [one for one in done if one["type"] == "command_execution"]
    assert [call.arguments for call in run.calls] == [one["command"] for one in commands]
    assert [event.text for event in run.of(EventKind.OBSERVATION)] == [one["aggregated_output"] for one in commands]
    assert [event.exit_status for event in run.of(EventKind.OBSERVATION)] == [one["exit_code"] for one in commands]
    assert "".join(event.text for event in run.steps) == "".join(
        one["text"] for one in done if one["type"] == "agent_message"
    )
