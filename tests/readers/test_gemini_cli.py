"""The reader of Gemini CLI: both layouts of a session, what was taken back as a run of its own, and the stream."""

from __future__ import annotations

import json
from typing import Any

import pytest

from samework.errors import DamagedRecord
from samework.model.words import EndReason, EventKind
from samework.readers.gemini_cli import READER
from tests.agentlab import read_bytes, read_file, read_lines

META = {"sessionId": "s-1", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z", "kind": "main"}
DOCUMENTS = ("12_cbfeaa512b_0", "51_3fab7adf0b_0", "9c_53780d06b7_0", "ab_2b9748b105_0", "c9_45f262e88d_0")


def asked(name: str, text: object) -> dict[str, Any]:
    return {"id": name, "timestamp": "2026-01-01T00:00:00Z", "type": "user", "content": text}


def replied(name: str, text: str, *calls: object, n_out: int = 5, **more: Any) -> dict[str, Any]:
    tokens = {"input": 100, "output": n_out, "cached": 60, "thoughts": 7, "tool": 2, "total": 0}
    return {
        "id": name, "timestamp": "2026-01-01T00:00:00Z", "type": "gemini", "content": text, "model": "g-1",
        "toolCalls": list(calls), "tokens": tokens, **more,
    }  # fmt: skip


def called(call_id: str, output: str | None, name: str = "run_shell_command") -> dict[str, Any]:
    response = {"functionResponse": {"id": call_id, "name": name, "response": {"output": output}}}
    return {"id": call_id, "name": name, "args": {"command": "ls"}, "result": None if output is None else [response]}


def document(*messages: object, **meta: Any) -> bytes:
    return json.dumps({**META, **meta, "messages": messages}, indent=2).encode()


@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_gives_calls_results_thoughts_and_counts(indent):
    thought = {"subject": "Plan", "description": "look first"}
    messages = [
        asked("u1", [{"text": "do"}]),
        replied(
            "a1", "look", called("c1", "Output: x\nExit Code: 3\nSignal: 0"), called("c2", "y"), thoughts=[thought]
        ),
        {"id": "n1", "type": "info", "content": "an update"},
        replied("a2", "done"),
    ]
    (run,) = read_bytes(READER, json.dumps({**META, "messages": messages}, indent=indent).encode(), sure=0.9)
    assert run.kinds == ["user", "completion", "observation", "observation", "completion"]
    assert run.steps[0].reasoning == "Plan: look first"
    assert [event.exit_status for event in run.of(EventKind.OBSERVATION)] == [3, None]
    usage = run.steps[0].usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens, usage.reasoning_tokens) == (
        102, 60, 12, 7,
    )  # fmt: skip
    assert (run.start.native_id, run.start.model) == ("s-1", "g-1")
    assert not run.damage


def test_a_later_line_of_an_id_stands_in_the_place_of_the_first():
    (run,) = read_lines(
        READER,
        META,
        asked("u1", "do"),
        replied("a1", "look"),
        asked("u2", "more"),
        replied("a1", "look", called("c1", "x"), n_out=9),
        {"$set": {"lastUpdated": "2026-01-01T00:00:01Z", "directories": ["/w"]}},
    )
    assert run.texts == ["do", "look", "x", "more"]
    assert run.tokens("completion_tokens") == 16
    assert run.facts["workspace.root"] == "/w"


def test_what_was_taken_back_is_a_branch_whose_shared_tokens_are_counted_once():
    live, left = read_lines(
        READER,
        META,
        asked("u1", "one"),
        replied("a1", "first", n_out=3),
        asked("u2", "two"),
        replied("a2", "old", n_out=13),
        {"$rewindTo": "u2"},
        asked("u3", "two again"),
        replied("a3", "new", n_out=23),
    )
    assert live.texts == ["one", "first", "two again", "new"]
    assert left.texts == ["one", "first", "two", "old"]
    assert live.tokens("completion_tokens") == 10 + 30
    assert left.tokens("completion_tokens") == 20
    assert left.start.parent_native_id == "s-1"


def test_a_prompt_without_an_answer_that_is_taken_back_is_no_branch():
    (run,) = read_lines(READER, META, asked("u1", "one"), {"$rewindTo": "u1"}, asked("u2", "again"))
    assert run.texts == ["again"]


def test_a_rewind_to_an_unknown_message_takes_back_everything():
    live, left = read_lines(READER, META, replied("a1", "old"), {"$rewindTo": "x"}, asked("u2", "again"))
    assert (live.texts, left.texts) == (["again"], ["old"])


def test_a_new_context_is_one_edit_and_keeps_what_was_said():
    (run,) = read_lines(
        READER,
        META,
        asked("u1", "one"),
        replied("a1", "first"),
        {"$set": {"messages": [asked("u9", "the story so far")]}},
        replied("a2", "second"),
    )
    assert run.kinds == ["user", "completion", "context_edit", "completion"]
    assert run.texts[2] == "user: the story so far"


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (replied("a1", "", called("c1", None)), EndReason.LOG_TRUNCATED),
        ({"id": "e1", "type": "error", "content": "quota"}, EndReason.ERROR),
        (replied("a1", "done"), EndReason.UNRECORDED),
    ],
)
def test_the_end_is_what_the_last_message_shows(last, reason):
    (run,) = read_lines(READER, META, asked("u1", "one"), last)
    assert run.end.reason is reason


def test_zero_counts_are_no_counts_and_a_cut_output_is_marked():
    tokens = {"input": 0, "output": 0, "cached": 0}
    (run,) = read_bytes(READER, document(replied("a1", "", called("c1", "x" * 51200), tokens=tokens)))
    assert run.steps[0].usage is None
    assert run.of(EventKind.OBSERVATION)[0].truncated_by_recorder


def test_a_cut_document_gives_the_messages_before_the_cut_and_is_not_whole():
    data = document(asked("u1", "one"), asked("u2", "two"))
    (run,) = read_bytes(READER, data[: data.index(b'"two"')])
    assert run.texts == ["one"]
    assert run.damage[0].taints_run


def test_a_stream_joins_its_pieces_and_ends_with_its_result():
    def said(kind: str, **more: Any) -> dict[str, Any]:
        return {"type": kind, "timestamp": "2026-01-01T00:00:00Z", **more}

    (run,) = read_lines(
        READER,
        said("init", session_id="s-1", model="g-1"),
        said("message", role="user", content="do"),
        said("message", role="assistant", content="lo", delta=True),
        said("message", role="assistant", content="ok", delta=True),
        said("tool_use", tool_name="ls", tool_id="c1", parameters={"path": "."}),
        said("tool_result", tool_id="c1", status="success", output="a"),
        said("message", role="assistant", content="done", delta=True),
        said("result", status="success", stats={"total_tokens": 9}),
    )
    assert run.texts == ["do", "look", "a", "done"]
    assert run.calls[0].arguments == '{"path":"."}'
    assert run.end.reason is EndReason.FINISHED
    assert run.start.native_id == "s-1"


def test_what_holds_no_session_is_refused():
    with pytest.raises(DamagedRecord):
        read_bytes(READER, b"[1]\n")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_real_documents_have_the_counts_of_a_plain_walk(shared_path, name):
    path = shared_path("data", "formats", "gemini-cli", f"{name}.session.json")
    messages = json.loads(path.read_bytes())["messages"]
    replies = [one for one in messages if one["type"] == "gemini"]
    calls = [call for one in replies for call in one.get("toolCalls", [])]
    (run,) = read_file(READER, path)
    assert len(run.steps) == len(replies)
    assert [call.call_id for call in run.calls] == [call["id"] for call in calls]
    assert len(run.of(EventKind.OBSERVATION)) == sum(bool(call.get("result")) for call in calls)
    assert len(run.of(EventKind.USER)) == sum(one["type"] == "user" for one in messages)
    assert run.tokens("prompt_tokens") == sum(one["tokens"]["input"] + one["tokens"]["tool"] for one in replies)
    assert run.tokens("cached_tokens") == sum(one["tokens"]["cached"] for one in replies)
    assert run.tokens("completion_tokens") == sum(
        one["tokens"]["output"] + one["tokens"]["thoughts"] for one in replies
    )
    assert not run.damage


def test_a_real_session_in_lines_has_the_counts_of_a_plain_walk(shared_path):
    path = shared_path("data", "formats", "gemini-cli", "jsonl_v040.jsonl")
    values = [json.loads(raw) for raw in path.read_bytes().splitlines()]
    replies = [one for one in values if one.get("type") == "gemini"]
    (run,) = read_file(READER, path)
    assert len(run.steps) == len(replies)
    assert run.tokens("prompt_tokens") == sum(one["tokens"]["input"] for one in replies)
    assert len(run.calls) == sum(len(one.get("toolCalls", [])) for one in replies)
    assert run.of(EventKind.OBSERVATION)[0].text.startswith("Output: AgentSessions/")
