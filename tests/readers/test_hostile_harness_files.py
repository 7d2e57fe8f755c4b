"""Harness files cut anywhere, or with anything in the place of anything: records or a refusal, never a traceback."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samework.decode.archive import expanded
from samework.decode.source import BytesSource
from samework.errors import InputError
from samework.ingest.fold import TrajectoryFold
from samework.ingest.rows import RunRows
from samework.model.events import Event
from samework.model.records import Damage, RunEnd, RunStart
from samework.readers import (
    atif,
    harbor,
    inspect_log,
    openhands_llm_log,
    openhands_v0,
    openhands_v1,
    tau2,
    terminal_bench,
)
from tests.fuzz.mutate import places, removed, replaced

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MODULES = (atif, harbor, inspect_log, openhands_llm_log, openhands_v0, openhands_v1, tau2, terminal_bench)
READERS = {module.READER.name: module.READER for module in MODULES}
JUNK: list[Any] = [
    None,
    True,
    -1,
    2**70,
    10**400,
    1e308,
    "",
    "\ud800",
    "\x1b[2J",
    [],
    [None],
    [[]],
    {},
    {"": None},
    {"text": 1, "type": {}},
]
CALL = {"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}}
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}}
REPLY = {
    "id": "r",
    "model": "m",
    "choices": [{"message": {"content": "x", "tool_calls": [CALL]}, "finish_reason": "stop"}],
    "usage": USAGE,
}
MODEL = {
    "event": "model",
    "span_id": "p",
    "timestamp": "t",
    "input": [{"role": "user", "content": [{"type": "text", "text": "q"}]}],
    "input_refs": [[0, 1]],
    "tools": [{"name": "f", "description": "attachment://" + "0" * 32}],
    "config": {"seed": 1},
    "output": {
        "model": "m",
        "choices": [
            {
                "message": {
                    "id": "a",
                    "role": "assistant",
                    "content": [
                        {"type": "reasoning", "reasoning": "h"},
                        {"type": "tool_use", "id": "w", "result": "r"},
                    ],
                    "tool_calls": [{"id": "c", "function": "f", "arguments": {"a": 1}}],
                },
                "stop_reason": "stop",
                "logprobs": {"content": [{"top_logprobs": [{"logprob": -0.1}, {"logprob": -2.0}]}]},
            }
        ],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_cache_read": 0},
    },
    "call": {
        "response": {"choices": [{"message": {"tool_calls": [CALL]}}], "output": [{"call_id": "c", "arguments": "{}"}]}
    },
}
SAMPLES: dict[str, Any] = {
    "inspect_log": {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m", "run_id": "r", "sandbox": ["docker", "c"], "packages": {"inspect_ai": "1"}},
        "plan": {"config": {"seed": 1}},
        "results": {"total_samples": 1},
        "samples": [
            {
                "id": 1,
                "epoch": 1,
                "uuid": "u",
                "messages": [
                    {"role": "user", "content": "p"},
                    {"role": "tool", "content": "o", "tool_call_id": "c", "error": {"message": "e"}},
                ],
                "output": {
                    "choices": [{"message": {"content": "x"}, "stop_reason": "stop"}],
                    "usage": {"input_tokens": 1},
                },
                "events": [
                    {"event": "span_begin", "id": "p", "type": "agent", "name": "n", "parent_id": "q"},
                    {"event": "span_begin", "id": "q", "type": "tool", "name": "n", "parent_id": "p"},
                    {"event": "step", "action": "begin", "type": "solver"},
                    MODEL,
                    {"event": "tool", "id": "c", "function": "f", "result": "r", "error": None, "events": [MODEL]},
                ],
                "scores": {"s": {"value": {"k": 0.5}, "metadata": {"model_patch": "d"}}},
                "metadata": {"base_commit": "00"},
                "error": {"message": "e"},
                "limit": {"type": "token"},
                "attachments": {"0" * 32: "x"},
                "events_data": {"messages": [{"role": "system", "content": "s"}]},
                "message_pool": [],
                "transcript": {"events": [], "content": {}},
            }
        ],
    },
    "atif": {
        "schema_version": "ATIF-v1.7",
        "session_id": "s",
        "agent": {
            "name": "terminus",
            "version": "1",
            "model_name": "m",
            "extra": {"continuation_index": 1},
            "tool_definitions": [1],
        },
        "steps": [
            {"step_id": 1, "source": "user", "message": "u", "timestamp": "t"},
            {
                "step_id": 2,
                "source": "agent",
                "message": '{"commands": [{"keystrokes": "ls"}]}',
                "reasoning_content": "h",
                "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {"a": 1}}],
                "observation": {"results": [{"source_call_id": "c", "content": [{"type": "text", "text": "o"}]}]},
                "metrics": {"prompt_tokens": 1, "completion_token_ids": [1], "prompt_token_ids": [1], "extra": {}},
            },
            {
                "step_id": 3,
                "source": "system",
                "message": "m",
                "observation": {"results": [{"subagent_trajectory_ref": [{"trajectory_path": "x.json"}]}]},
            },
            {"step_id": 4, "source": "agent", "message": "m", "is_copied_context": True},
        ],
        "final_metrics": {"total_steps": 4},
        "subagent_trajectories": [
            {"trajectory_id": "i", "agent": {"name": "h"}, "steps": [{"source": "agent", "message": "m"}]}
        ],
    },
    "harbor": {
        "task_name": "t",
        "trial_name": "t__1",
        "task_id": {"path": "p"},
        "task_checksum": "c",
        "config": {"agent": {"name": "a", "kwargs": {"seed": 1}}, "environment": {"type": "docker"}},
        "agent_info": {"name": "a", "version": "1", "model_info": {"name": "m", "provider": "p"}},
        "agent_result": {"n_input_tokens": 1, "rollout_details": [{"completion_token_ids": [[1]]}]},
        "verifier_result": {"rewards": {"reward": 1.0}},
        "exception_info": {"exception_type": "E", "exception_message": "m"},
    },
    "terminal_bench": {
        "results": [
            {
                "task_id": "t",
                "trial_name": "t.1-of-2.run",
                "is_resolved": True,
                "failure_mode": "unset",
                "parser_results": {"a": "passed"},
            }
        ]
    },
    "tau2": {
        "info": {
            "agent_info": {"llm": "m", "llm_args": {"seed": 1}},
            "user_info": {"llm": "u"},
            "environment_info": {"domain_name": "d", "policy": "p"},
        },
        "tasks": [{"id": "1"}],
        "simulations": [
            {
                "id": "s",
                "task_id": "1",
                "trial": 0,
                "termination_reason": "user_stop",
                "reward_info": {"reward": 1.0, "reward_breakdown": {"DB": 1.0}},
                "messages": [
                    {
                        "role": "assistant",
                        "content": "x",
                        "tool_calls": [{"id": "c", "name": "f", "arguments": {"a": 1}}],
                        "usage": USAGE,
                    },
                    {"role": "tool", "id": "c", "content": "o", "requestor": "assistant"},
                    {"role": "tool", "tool_messages": [{"id": "c", "content": "o"}]},
                    {"role": "user", "content": "u", "tool_calls": [{"id": "d", "name": "g", "arguments": {}}]},
                ],
            }
        ],
    },
    "openhands_v0": {
        "instance_id": "a__b-1",
        "test_result": {"git_patch": "d", "report": {"resolved": True}},
        "instruction": "i",
        "metadata": {"agent_class": "C", "llm_config": {"model": "m", "seed": 1}},
        "history": [
            {"id": 0, "source": "agent", "action": "system", "args": {"content": "s", "tools": [1]}},
            {"id": 1, "source": "user", "action": "message", "args": {"content": "u"}},
            {
                "id": 2,
                "source": "agent",
                "action": "run",
                "args": {"command": "ls"},
                "tool_call_metadata": {"tool_call_id": "c", "model_response": REPLY},
            },
            {"id": 3, "observation": "run", "cause": 2, "content": "o", "extras": {"metadata": {"exit_code": 0}}},
            {"id": 4, "observation": "recall", "content": "k"},
            {"id": 5, "action": "finish", "args": {"thought": "t"}},
        ],
        "instance": {"base_commit": "00", "repo": "a/b", "base": {"sha": "00"}},
        "issue": {"owner": "o", "repo": "r", "number": 1},
        "error": None,
    },
    "openhands_v1": [
        {
            "id": "1",
            "timestamp": "t",
            "source": "agent",
            "kind": "SystemPromptEvent",
            "system_prompt": {"text": "s"},
            "tools": [1],
        },
        {
            "id": "2",
            "timestamp": "t",
            "source": "user",
            "kind": "MessageEvent",
            "llm_message": {"role": "user", "content": [{"text": "u"}]},
        },
        {
            "id": "3",
            "source": "environment",
            "kind": "ConversationStateUpdateEvent",
            "key": "stats",
            "value": {
                "usage_to_metrics": {"default": {"model_name": "m", "accumulated_token_usage": {"prompt_tokens": 1}}}
            },
        },
        {
            "id": "4",
            "source": "agent",
            "kind": "ActionEvent",
            "tool_name": "f",
            "tool_call_id": "c",
            "tool_call": {"id": "c", "name": "f", "arguments": "{}"},
            "llm_response_id": "r",
            "thought": [{"text": "t"}],
            "reasoning_content": "h",
        },
        {"id": "5", "source": "agent", "kind": "TokenEvent", "prompt_token_ids": [1], "response_token_ids": [2]},
        {
            "id": "6",
            "source": "environment",
            "kind": "ObservationEvent",
            "tool_call_id": "c",
            "observation": {"content": [{"text": "o"}], "exit_code": 0},
        },
        {"id": "7", "source": "environment", "kind": "Condensation", "summary": "s"},
    ],
    "openhands_llm_log": {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "u"}]},
            {"role": "assistant", "content": "x", "tool_calls": [CALL]},
            {"role": "tool", "content": "o", "tool_call_id": "c"},
        ],
        "tools": [1],
        "kwargs": {"seed": 1},
        "raw_messages": [],
        "response": REPLY,
        "timestamp": 1.5,
        "latency_sec": 1.0,
    },
}
by_reader = pytest.mark.parametrize("name", SAMPLES)


def records_of(name: str, data: bytes) -> list[object] | None:
    """Records, checked for their order, and folded as ingest does; None where the file was refused."""
    reader, source = READERS[name], BytesSource("x/sample.json", data)
    assert 0 <= reader.sniff(data[:65536], source) <= 1
    try:
        return checked(list(reader.read(source)))
    except InputError:
        return None


def checked(records: list[object]) -> list[object]:
    depth = 0
    fold = None
    for record in records:
        depth += isinstance(record, RunStart) - isinstance(record, RunEnd)
        assert depth in (0, 1)
        if isinstance(record, RunStart):
            fold = TrajectoryFold(RunRows(), lambda damage: None, tokenizer=None, recorder=None, workspaces=())
        elif isinstance(record, Event):
            assert fold is not None
            fold.add(record)
        assert not isinstance(record, Damage) or (record.reason and record.offset >= 0 and "\x1b" not in record.reason)
    assert depth == 0
    return records


@by_reader
def test_only_its_own_reader_claims_a_sample(name):
    data = json.dumps(SAMPLES[name]).encode()
    claims = {other for other, reader in READERS.items() if reader.sniff(data, BytesSource("x", data)) > 0}
    assert claims == {name}
    assert any(isinstance(record, RunStart) for record in records_of(name, data) or [])


@by_reader
def test_a_file_cut_at_any_byte_is_refused_or_says_that_it_is_cut(name):
    data = json.dumps(SAMPLES[name]).encode()
    for n_bytes in range(len(data)):
        records = records_of(name, data[:n_bytes])
        assert records is None or any(isinstance(record, Damage) for record in records)


@by_reader
def test_anything_may_stand_in_the_place_of_anything(name):
    chosen = random.Random(name)
    for path in places(SAMPLES[name]):
        for junk in chosen.sample(JUNK, 5):
            records_of(name, json.dumps(replaced(SAMPLES[name], path, junk)).encode())
        if path:
            records_of(name, json.dumps(removed(SAMPLES[name], path)).encode())


@by_reader
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_two_mutations_at_once_are_survived(name, data):
    value = SAMPLES[name]
    for _ in range(2):
        path = data.draw(st.sampled_from(list(places(value))))
        value = replaced(value, path, data.draw(st.sampled_from(JUNK)))
        if not isinstance(value, dict | list):
            break
    records_of(name, json.dumps(value).encode())


@by_reader
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_flipped_bytes_are_survived(name, data):
    whole = bytearray(json.dumps(SAMPLES[name]).encode())
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
        whole[at] = data.draw(st.integers(0, 255))
    records_of(name, bytes(whole))


@by_reader
def test_bytes_that_are_no_json_are_refused(name):
    for data in (
        b"",
        b"\x00" * 20,
        b"\xff\xfe{",
        b"[" * 1000,
        b'{"a":' * 1000,
        b"\xef\xbb\xbf",
        b"null",
        b'"x"',
        b"{}",
        b"[]",
    ):
        records = records_of(name, data)
        assert not records or all(isinstance(record, Damage) for record in records)


FILES = [
    ("inspect_log", ("data", "formats", "inspect", "log_formats.json")),
    ("inspect_log", ("data", "formats", "inspect", "log_formats.eval")),
    (
        "inspect_log",
        (
            "data",
            "formats",
            "inspect",
            "generated-fork",
            "a",
            "2026-11-29T14-54-13-00-00_fork_WrXwWs4rB2Ftzf4NztCNmA.eval",
        ),
    ),
    ("atif", ("data", "formats", "atif", "openhands_hello-world.trajectory.json")),
    ("openhands_v0", ("data", "formats", "openhands-v0", "resolver_output.jsonl")),
    ("openhands_v1", ("data", "formats", "openhands-v1", "conversation", "goal", "fixtures", "events.jsonl")),
]


@pytest.mark.shared
@pytest.mark.parametrize(("name", "parts"), FILES, ids=lambda part: part if isinstance(part, str) else part[-1][:20])
def test_a_real_file_cut_or_changed_at_random_gives_whole_records_or_a_named_defect(
    shared_path: Callable[..., Path], name: str, parts: tuple[str, ...]
):
    data = shared_path(*parts).read_bytes().rstrip()
    chosen = random.Random(7)
    cuts = [data[: chosen.randrange(len(data))] for _ in range(25)]
    flips = [bytearray(data) for _ in range(25)]
    for flip in flips:
        flip[chosen.randrange(len(data))] = chosen.randrange(256)
    for changed in (*cuts, *map(bytes, flips)):
        try:
            source = expanded(BytesSource("x", changed))
            READERS[name].sniff(source.head(), source)
            records = checked(list(READERS[name].read(source)))
        except InputError:
            continue
        assert changed not in cuts or any(isinstance(record, Damage) for record in records) or data.startswith(b"PK")
