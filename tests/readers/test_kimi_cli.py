"""The reader of Kimi CLI's wire log: a step is a completion, its tokens are counted once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from samework.model.words import EndReason, EventKind
from samework.readers.kimi_cli import READER
from tests.agentlab import read_file, read_lines

HEAD = {"type": "metadata", "protocol_version": "1.4", "created_at": 1}
REQUEST = {"type": "llm.request", "kind": "loop", "provider": "kimi", "model": "k-1", "thinkingEffort": "on", "time": 2}
SPENT = {"inputOther": 10, "output": 4, "inputCacheRead": 90, "inputCacheCreation": 1}


def loop(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "context.append_loop_event", "event": {"type": kind, **more}, "time": 3}


def asked(text: str) -> dict[str, Any]:
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return {"type": "context.append_message", "message": message, "time": 2}


def part(**more: Any) -> dict[str, Any]:
    return loop("content.part", stepUuid="s", part=more)


def spent(scope: str) -> dict[str, Any]:
    return {"type": "usage.record", "usage": SPENT, "usageScope": scope, "time": 4}


def test_a_step_is_one_completion_and_its_tokens_are_counted_once():
    (run,) = read_lines(
        READER,
        HEAD,
        {"type": "config.update", "systemPrompt": "be good", "cwd": "/w", "time": 1},
        {"type": "turn.prompt", "input": [], "time": 2},
        asked("do"),
        loop("step.begin", uuid="s"),
        REQUEST,
        part(type="think", think="hm"),
        part(type="text", text="look"),
        loop("tool.call", toolCallId="Bash_0", name="Bash", args={"command": "ls"}),
        loop("tool.call", toolCallId="Bash_1", name="Bash", args={"command": "no"}),
        loop("tool.result", toolCallId="Bash_0", result={"output": "a"}),
        loop(
            "tool.result",
            toolCallId="Bash_1",
            result={"output": "no\nCommand failed with exit code: 7.", "isError": True},
        ),
        loop("step.end", uuid="s", usage=SPENT, finishReason="tool_use"),
        spent("turn"),
        loop("step.begin", uuid="s2"),
        part(type="text", text="done"),
        loop("step.end", uuid="s2", finishReason="end_turn"),
        spent("turn"),
    )
    assert run.kinds == ["system", "user", "completion", "observation", "observation", "completion"]
    assert (run.steps[0].text, run.steps[0].reasoning) == ("look", "hm")
    assert [event.exit_status for event in run.of(EventKind.OBSERVATION)] == [None, 7]
    assert run.tokens("prompt_tokens") == 202
    assert run.tokens("cached_tokens") == 180
    assert run.end.reason is EndReason.FINISHED
    assert run.facts["workspace.root"] == "/w"
    assert run.start.model == "k-1"
    assert not run.damage


def test_a_compaction_is_an_edit_and_the_call_that_wrote_it_is_counted():
    (run,) = read_lines(
        READER,
        HEAD,
        loop("step.begin", uuid="s"),
        loop("step.end", uuid="s", usage=SPENT, finishReason="end_turn"),
        {"type": "full_compaction.begin", "time": 5},
        spent("session"),
        {"type": "context.apply_compaction", "summary": "long", "contextSummary": "the story", "time": 5},
        {"type": "context.undo", "count": 1, "time": 6},
    )
    assert run.kinds == ["completion", "completion", "context_edit", "context_edit"]
    assert run.texts[2] == "the story"
    assert run.tokens("completion_tokens") == 8


def test_a_request_without_a_reply_is_no_completion():
    (run,) = read_lines(READER, HEAD, asked("hi"), loop("step.begin", uuid="s"), REQUEST, asked("hi?"))
    assert run.kinds == ["user", "user"]
    assert run.codes == ["request-without-reply"]
    assert run.end.reason is EndReason.LOG_TRUNCATED


def test_the_tokens_of_history_before_a_fork_are_not_added():
    (run,) = read_lines(
        READER,
        HEAD,
        loop("step.begin", uuid="s"),
        loop("step.end", uuid="s", usage=SPENT, finishReason="end_turn"),
        {"type": "forked", "time": 5},
        loop("step.begin", uuid="s2"),
        loop("step.end", uuid="s2", usage=SPENT, finishReason="end_turn"),
    )
    assert len(run.steps) == 2
    assert run.tokens("completion_tokens") == 4
    assert run.codes == ["replayed-history"]


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ({"type": "turn.cancel", "time": 9}, EndReason.CANCELLED),
        (loop("step.end", uuid="s", finishReason="max_tokens"), EndReason.LIMIT),
        (loop("step.end", uuid="s", finishReason="end_turn"), EndReason.FINISHED),
        (part(type="text", text="and"), EndReason.LOG_TRUNCATED),
    ],
)
def test_the_end_is_that_of_the_last_step(last, reason):
    closing = [loop("step.end", uuid="s", finishReason="tool_use")] if last["type"] == "turn.cancel" else []
    (run,) = read_lines(READER, HEAD, loop("step.begin", uuid="s"), part(type="text", text="a"), *closing, last)
    assert run.end.reason is reason


def test_unknown_records_are_counted_and_known_ones_of_the_interface_are_not():
    (run,) = read_lines(READER, HEAD, {"type": "marvel"}, {"type": "permission.set_mode"}, {"type": "plan_mode.enter"})
    assert run.codes == ["unknown-record"]


def test_a_real_log_has_the_counts_of_a_plain_walk(shared_path):
    path = shared_path("data", "formats", "kimi-cli", "assistant_tools.jsonl")
    values = [json.loads(raw) for raw in path.read_bytes().splitlines()]
    events = [one["event"] for one in values if one["type"] == "context.append_loop_event"]
    usages = [one["usage"] for one in events if one["type"] == "step.end"]
    usages += [one["usage"] for one in values if one["type"] == "usage.record" and one["usageScope"] == "session"]
    (run,) = read_file(READER, path)
    assert len(run.steps) == sum(one["type"] == "step.end" for one in events) + 1
    assert [call.call_id for call in run.calls] == [one["toolCallId"] for one in events if one["type"] == "tool.call"]
    assert len(run.of(EventKind.OBSERVATION)) == sum(one["type"] == "tool.result" for one in events)
    assert len(run.of(EventKind.USER)) == sum(one["type"] == "context.append_message" for one in values)
    assert run.tokens("completion_tokens") == sum(one["output"] for one in usages)
    assert run.tokens("cached_tokens") == sum(one["inputCacheRead"] for one in usages)
    assert run.tokens("prompt_tokens") == sum(
        one["inputOther"] + one["inputCacheRead"] + one["inputCacheCreation"] for one in usages
    )
    assert not any(one.taints_run for one in run.damage)
