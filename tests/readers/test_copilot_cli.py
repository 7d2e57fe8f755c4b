"""The reader of Copilot CLI: a message is a completion, a sub-agent a run, totals stay totals."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

import pytest

from samework.decode.source import BytesSource
from samework.model.words import EndReason, EventKind
from samework.readers import copilot_cli
from samework.readers.copilot_cli import READER
from tests.agentlab import read_file, read_lines, runs_of

HEAD, BASE = "a" * 40, "b" * 40


def event(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": "e", "timestamp": "2026-01-01T00:00:00Z", "parentId": None}


def begun(**context: Any) -> dict[str, Any]:
    return event(
        "session.start", sessionId="s-1", producer="copilot-agent", copilotVersion="1.0", selectedModel="auto",
        context={"cwd": "/w", "branch": "main", "baseCommit": BASE, **context},
    )  # fmt: skip


def replied(text: str, *calls: object, message_id: str = "m", **more: Any) -> dict[str, Any]:
    data = {"content": text, "toolRequests": list(calls), "messageId": message_id, "model": "g-1", "outputTokens": 3}
    return event("assistant.message", **{**data, **more})


def call(call_id: str, arguments: object = '{"command": "ls"}') -> dict[str, Any]:
    return {"toolCallId": call_id, "name": "shell", "arguments": arguments}


def gave(call_id: str, text: str, **more: Any) -> dict[str, Any]:
    return event("tool.execution_complete", toolCallId=call_id, success=True, result={"content": text}, **more)


def test_a_session_gives_messages_calls_and_results_once():
    (run,) = read_lines(
        READER,
        begun(headCommit=HEAD),
        event("user.message", content="do", transformedContent="do, now"),
        event("assistant.turn_start", turnId="1"),
        event("assistant.reasoning", content="hm"),
        replied("look", call("c1"), call("c2", {"command": "no"}), reasoningText="hm"),
        event("tool.execution_start", toolCallId="c1"),
        gave("c2", "no\n<exited with exit code 2>"),
        gave("c1", "a"),
        replied("done", message_id="m2", reasoningOpaque="x"),
        event("session.shutdown", shutdownType="routine", tokenDetails={"input": {"tokenCount": 9}}),
    )
    assert run.kinds == ["user", "completion", "observation", "observation", "completion"]
    assert run.texts[0] == "do, now"
    assert run.steps[0].reasoning == "hm"
    assert run.steps[1].reasoning_hidden
    assert [(one.arguments, one.exact) for one in run.calls] == [
        ('{"command": "ls"}', True),
        ('{"command":"no"}', False),
    ]
    assert [one.exit_status for one in run.of(EventKind.OBSERVATION)] == [2, None]
    assert run.tokens("completion_tokens") == 6
    assert run.steps[0].usage is not None
    assert run.steps[0].usage.prompt_tokens is None
    assert run.start.base_commit == HEAD
    assert run.start.extra == {"tokenDetails": {"input": {"tokenCount": 9}}}
    assert run.end.reason is EndReason.FINISHED


def test_the_branchs_base_stands_in_only_where_no_head_is_recorded():
    (run,) = read_lines(READER, begun())
    assert run.start.base_commit == BASE


def test_a_sub_agent_is_a_run_of_its_own_with_the_session_as_parent():
    main, sub = read_lines(
        READER,
        begun(),
        replied("ask one", call("c1")),
        event("subagent.started", toolCallId="c1", agentName="explore"),
        replied("sub", call("c2"), message_id="s1", parentToolCallId="c1", model="g-2"),
        gave("c2", "inner", parentToolCallId="c1"),
        gave("c1", "outer"),
        replied("done", message_id="m2"),
        event("session.shutdown", shutdownType="routine"),
    )
    assert main.texts == ["ask one", "outer", "done"]
    assert sub.texts == ["sub", "inner"]
    assert (sub.start.native_id, sub.start.parent_native_id, sub.start.model) == ("s-1/c1", "s-1", "g-2")
    assert sub.start.extra == {"call": "c1", "agent": "explore"}


@pytest.mark.parametrize("held_bytes", [0, 2000, 1 << 20])
def test_sub_agents_that_work_at_once_are_told_one_after_the_other(held_bytes, monkeypatch):
    monkeypatch.setattr(copilot_cli, "_MAX_HELD_BYTES", held_bytes)
    turns = [(step, agent) for step in range(4) for agent in ("c1", "c2", "é", "c3")]
    main, *subs = read_lines(
        READER,
        begun(),
        *(replied(f"{agent} {step}", message_id=f"{agent}{step}", parentToolCallId=agent) for step, agent in turns),
        event("session.shutdown", shutdownType="routine"),
    )
    assert main.texts == []
    assert [run.start.extra for run in subs] == [{"call": agent} for agent in ("c1", "c2", "é", "c3")]
    assert [run.texts for run in subs] == [[f"{agent} {n}" for n in range(4)] for agent in ("c1", "c2", "é", "c3")]


def test_a_sub_agent_whose_key_is_written_with_escapes_is_found():
    text = json.dumps(replied("sub", parentToolCallId="c1")).replace("parentToolCallId", "parentToolCall\\u0049d")
    main, sub = runs_of(READER, BytesSource("x", f"{json.dumps(begun())}\n{text}\n".encode()))
    assert (main.texts, sub.texts) == ([], ["sub"])


def test_many_sub_agents_do_not_read_the_file_once_each():
    lines = [begun(), *(replied("sub", parentToolCallId=f"c{n}") for n in range(100))]
    source = Counted("x", "\n".join(map(json.dumps, lines)).encode())
    assert len(runs_of(READER, source)) == 101
    assert source.n_opened == 3


class Counted(BytesSource):
    n_opened = 0

    def open(self) -> BinaryIO:
        self.n_opened += 1
        return super().open()


def test_chunks_of_a_message_are_one_completion():
    (run,) = read_lines(
        READER, begun(), replied("a", chunkIndex=0, chunkCount=2), replied("b", chunkIndex=1, chunkCount=2)
    )
    assert [step.text for step in run.steps] == ["a\nb"]
    assert run.tokens("completion_tokens") == 3


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ([event("abort", reason="user")], EndReason.CANCELLED),
        ([event("session.error", message="no")], EndReason.ERROR),
        ([event("session.shutdown", shutdownType="routine"), event("session.resume")], EndReason.LOG_TRUNCATED),
        ([], EndReason.LOG_TRUNCATED),
    ],
)
def test_the_end_is_the_last_that_was_said_of_it(last, reason):
    (run,) = read_lines(READER, begun(), replied("a"), *last)
    assert run.end.reason is reason


def test_a_truncation_is_an_edit_and_the_unknown_is_counted():
    (run,) = read_lines(
        READER, begun(), event("session.truncation", tokenLimit=1), event("marvel.x"), event("hook.start"), sure=0.9
    )
    assert run.kinds == ["context_edit"]
    assert run.codes == ["unknown-record"]


def by(agent: str, said: dict[str, Any]) -> dict[str, Any]:
    return {**said, "agentId": agent}


def test_what_came_before_a_sub_agent_is_named_is_its_own_too():
    """Its first events name the call alone, so that whose they are is known only further down."""
    main, first, other = read_lines(
        READER,
        begun(),
        replied("go", call("c1"), call("c9")),
        replied("early", message_id="m2", parentToolCallId="c1"),
        replied("beside", message_id="m9", parentToolCallId="c9"),
        by("a-1", replied("late", message_id="m3", parentToolCallId="c1")),
    )
    assert [step.text for step in main.steps] == ["go"]
    assert sorted([step.text for step in run.steps] for run in (first, other)) == [["beside"], ["early", "late"]]


@pytest.mark.parametrize("started_at", [0, 1, 2])
def test_a_sub_agent_that_is_named_late_keeps_its_model_and_its_name(started_at):
    said = [
        replied("early", message_id="m2", parentToolCallId="c1", model="haiku"),
        by("a-1", event("tool.execution_complete", toolCallId="c2", parentToolCallId="c1", result="one")),
    ]
    said.insert(started_at, event("subagent.started", toolCallId="c1", agentName="explore"))
    main, agent = read_lines(READER, begun(), replied("go", call("c1")), *said)
    assert (main.start.model, agent.start.native_id, agent.start.model) == ("g-1", "s-1/a-1", "haiku")
    assert agent.start.extra == {"call": "a-1", "agent": "explore"}


def test_what_the_id_of_a_sub_agent_told_stands_before_what_its_call_told():
    _, agent = read_lines(
        READER,
        begun(),
        event("subagent.started", toolCallId="c1", agentName="by call"),
        replied("one", message_id="m1", parentToolCallId="c1", model="g-call"),
        by("a-1", event("subagent.started", agentName="by id")),
        by("a-1", replied("two", message_id="m2", model="g-id")),
        by("a-1", replied("three", message_id="m3", parentToolCallId="c1")),
    )
    assert (agent.start.model, agent.start.extra) == ("g-id", {"call": "a-1", "agent": "by id"})


def test_a_sub_agent_is_told_by_the_envelope_and_is_one_run_with_what_names_its_call_alone():
    main, agent = read_lines(
        READER,
        begun(),
        replied("go", call("c1")),
        by("a-1", event("subagent.started", toolCallId="c1", agentName="explore")),
        by("a-1", event("user.message", content="look")),
        by("a-1", replied("", call("c2"), message_id="m2", parentToolCallId="c1")),
        gave("c2", "one", parentToolCallId="c1"),
        by("a-1", replied("found", message_id="m3")),
        by("a-2", event("subagent.started", toolCallId="c9", agentName="never")),
        gave("c1", "found"),
        replied("so", message_id="m4"),
        event("session.shutdown", shutdownType="routine"),
    )
    assert main.kinds == ["completion", "observation", "completion"]
    assert agent.kinds == ["user", "completion", "observation", "completion"]
    assert (agent.start.native_id, agent.start.parent_native_id) == ("s-1/a-1", "s-1")
    assert agent.start.extra["agent"] == "explore"


def test_the_start_of_a_sub_agent_joins_its_id_to_the_call_that_began_it():
    _, agent = read_lines(
        READER,
        begun(),
        replied("go", call("c1")),
        by("a-1", event("subagent.started", toolCallId="c1", agentName="explore")),
        by("a-1", replied("", call("c2"), message_id="m2")),
        gave("c2", "one", parentToolCallId="c1"),
    )
    assert agent.kinds == ["completion", "observation"]
    assert agent.start.native_id == "s-1/a-1"


def test_parts_of_one_call_of_the_model_are_one_completion_whatever_their_message_ids():
    (run,) = read_lines(
        READER,
        begun(),
        replied("a", message_id="m1", apiCallId="x", chunkIndex=0, chunkCount=2),
        replied("b", call("c1"), message_id="m2", apiCallId="x", chunkIndex=1, chunkCount=2, encryptedContent="e"),
        replied("c", message_id="m3", apiCallId="x"),
    )
    assert [step.text for step in run.steps] == ["a\nb", "c"]
    assert run.tokens("completion_tokens") == 6
    assert run.steps[0].reasoning_hidden


def test_the_exit_status_stands_in_the_text_or_in_the_contents_and_pictures_are_marked():
    image = {"type": "image", "mimeType": "image/png", "data": "AA=="}
    left = {"content": "no", "contents": [{"type": "shell_exit", "shellId": "1", "exitCode": 4}]}
    (run,) = read_lines(
        READER,
        begun(),
        event("user.message", content="see", attachments=[{"type": "blob", "data": "AA=="}, {"type": "file"}]),
        replied("", call("c1"), call("c2"), call("c3")),
        gave("c1", "hi\n<shellId: 0 completed with exit code 3>"),
        event("tool.execution_complete", toolCallId="c2", success=True, result=left),
        event("tool.execution_complete", toolCallId="c3", result={"content": "seen", "binaryResultsForLlm": [image]}),
    )
    results = run.of(EventKind.OBSERVATION)
    assert [one.exit_status for one in results] == [3, 4, None]
    assert results[2].text.startswith("seen\n<image sha256")
    assert run.texts[0].startswith("see\n<blob sha256")
    assert run.texts[0].count("<") == 1


def test_a_result_that_is_text_alone_is_kept_and_so_is_an_error():
    (run,) = read_lines(
        READER,
        begun(),
        replied("", call("c1"), call("c2")),
        event("tool.execution_complete", toolCallId="c1", success=True, result="one"),
        event("tool.execution_complete", toolCallId="c2", success=False, error={"message": "no", "code": "denied"}),
    )
    assert [one.text for one in run.of(EventKind.OBSERVATION)] == ["one", "no"]


def test_a_stream_ends_with_its_result():
    (run,) = read_lines(
        READER,
        event("user.message", content="ping"),
        event("assistant.message_delta", deltaContent="p"),
        replied("pong"),
        {"type": "result", "timestamp": "t", "sessionId": "s-2", "exitCode": 0, "usage": {}},
        sure=0.5,
    )
    assert not run.damage
    assert (run.start.native_id, run.end.reason, run.end.detail) == ("s-2", EndReason.FINISHED, "exit code 0")


def test_a_compaction_that_failed_is_no_edit_and_a_cleared_context_is_one():
    (run,) = read_lines(
        READER,
        begun(),
        event("session.compaction_complete", success=False, error="no"),
        event("session.context_cleared", messagesCleared=3),
        event("session.shutdown", shutdownType="routine"),
    )
    assert run.kinds == ["context_edit"]
    assert not run.damage


def test_a_sample_has_the_counts_of_a_plain_walk(shared_path):
    path = shared_path("data", "formats", "copilot-cli", "small.events.jsonl")
    values = [json.loads(raw) for raw in path.read_bytes().splitlines()]
    replies = [one["data"] for one in values if one["type"] == "assistant.message"]
    found = read_file(READER, path)
    assert len(found) == 2
    assert sum(len(run.steps) for run in found) == len(replies)
    assert sum(len(run.calls) for run in found) == sum(len(one["toolRequests"]) for one in replies)
    assert sum(len(run.of(EventKind.OBSERVATION)) for run in found) == sum(
        one["type"] == "tool.execution_complete" for one in values
    )
    assert sum(run.tokens("completion_tokens") for run in found) == sum(one["outputTokens"] for one in replies)
    assert not any(one.taints_run for run in found for one in run.damage)
