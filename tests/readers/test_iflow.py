"""The reader of iFlow CLI: a reply is what stands together, a call is one however often it is written."""

from __future__ import annotations

import json

from samework.model.words import EventKind
from samework.readers.iflow import READER
from tests.agentlab import read_file, read_lines


def line(kind: str, uuid: str, *content: object, message_id: str | None = None) -> dict[str, object]:
    message = {"role": kind, "content": list(content), "usage": {"input_tokens": 0, "output_tokens": 0}}
    return {
        "uuid": uuid, "parentUuid": None, "sessionId": "session-1", "timestamp": "2026-01-01T00:00:00Z", "type": kind,
        "isSidechain": False, "message": {**message, "id": message_id or uuid, "model": "m"}, "cwd": "/w",
    }  # fmt: skip


def use(call_id: str) -> dict[str, object]:
    return {"type": "tool_use", "id": call_id, "name": "read_file", "input": {"path": call_id}}


def gave(call_id: str, output: str) -> dict[str, object]:
    response = {"functionResponse": {"id": call_id, "name": "read_file", "response": {"output": output}}}
    return {"type": "tool_result", "tool_use_id": call_id, "content": {"callId": call_id, "responseParts": response}}


def test_calls_that_are_written_again_are_one_and_a_reply_ends_with_its_results():
    (run,) = read_lines(
        READER,
        line("user", "u1", {"type": "text", "text": "do"}),
        line("assistant", "a1", {"type": "text", "text": "look"}, use("c1")),
        line("assistant", "a2", use("c1"), use("c2")),
        line("user", "r1", gave("c1", "one")),
        line("user", "r2", gave("c2", "two")),
        line("assistant", "a3", use("c2"), {"type": "text", "text": "done"}),
    )
    assert run.kinds == ["user", "completion", "observation", "observation", "completion"]
    assert run.texts == ["do", "look", "one", "two", "done"]
    assert [call.call_id for call in run.calls] == ["c1", "c2"]
    assert all(event.usage is None for event in run.events)


def test_a_real_session_has_the_counts_of_a_plain_walk(shared_path):
    path = shared_path("data", "formats", "iflow", "session.jsonl")
    records = [json.loads(raw) for raw in path.read_bytes().splitlines()]
    blocks = [block for one in records for block in one["message"]["content"] if isinstance(block, dict)]
    (run,) = read_file(READER, path)
    assert {call.call_id for call in run.calls} == {block["id"] for block in blocks if block["type"] == "tool_use"}
    assert len(run.calls) == len({block["id"] for block in blocks if block["type"] == "tool_use"})
    assert len(run.of(EventKind.OBSERVATION)) == sum(block["type"] == "tool_result" for block in blocks)
    assert len(run.steps) == 4
    assert not run.damage
