"""Agents' files cut anywhere, or with anything in the place of anything: records or a refusal, never a traceback."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samework.decode.source import BytesSource
from samework.errors import InputError
from samework.model.events import Event
from samework.model.records import Damage, RunEnd, RunStart
from samework.readers import mini_swe_agent, predictions, swe_agent, swebench_report, tau_bench
from tests.fuzz.mutate import places, removed, replaced

READERS = {
    module.READER.name: module.READER for module in (swe_agent, mini_swe_agent, predictions, swebench_report, tau_bench)
}
JUNK: list[Any] = [
    None,
    True,
    -1,
    2**70,
    1e308,
    "",
    "\ud800",
    [],
    [None],
    [[]],
    {},
    {"": None},
    {"text": 1, "type": {}},
]
STEP = {"action": "ls\n", "observation": "o", "response": "r", "thought": "t", "thinking_blocks": [{"thinking": "h"}]}
CALL = {"id": "c", "function": {"name": "f", "arguments": '{"command": "ls"}'}}
SAMPLES: dict[str, Any] = {
    "swe_agent": {
        "environment": "main",
        "trajectory": [STEP],
        "history": [
            {"role": "system", "content": "s", "agent": "main"},
            {"role": "user", "content": [{"type": "text", "text": "u"}], "is_demo": True},
            {"role": "assistant", "content": "r", "action": "ls\n"},
        ],
        "info": {"exit_status": "submitted", "submission": "", "best_attempt_idx": 0, "swe_agent_version": "1.1.0"},
        "replay_config": {
            "problem_statement": {"id": "a__b-1"},
            "env": {"repo": {"base_commit": "HEAD", "repo_name": "r"}, "deployment": {"image": "i"}},
            "agent": {"model": {"name": "m", "temperature": 0.0, "completion_kwargs": {"seed": 1}}},
        },
    },
    "mini_swe_agent": {
        "info": {
            "exit_status": "Submitted",
            "submission": "",
            "mini_version": "2.4.6",
            "config": {"model": {"model_name": "m", "model_kwargs": {"seed": 1}}, "environment": {"image": "i"}},
        },
        "messages": [
            {"role": "system", "content": "s"},
            {
                "role": "assistant",
                "content": "c\n```bash\nls\n```",
                "tool_calls": [CALL],
                "extra": {
                    "actions": [{"command": "ls", "tool_call_id": "c"}],
                    "timestamp": 1.5,
                    "response": {
                        "model": "m",
                        "provider": "p",
                        "choices": [{"message": {"reasoning": "h", "reasoning_details": [{"type": "x"}]}}],
                        "usage": {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}},
                    },
                },
            },
            {"role": "tool", "tool_call_id": "c", "content": "o", "extra": {"returncode": 0, "timestamp": 1.5}},
            {"role": "exit", "content": "", "extra": {}},
        ],
        "trajectory_format": "mini-swe-agent-1.1",
        "instance_id": "a__b-1",
    },
    "predictions": [{"instance_id": "a__b-1", "model_name_or_path": "m", "model_patch": "", "base_commit": "0" * 40}],
    "swebench_report": {
        "a__b-1": {
            "patch_successfully_applied": True,
            "resolved": True,
            "model_name_or_path": "m",
            "tests_status": {"FAIL_TO_PASS": {"success": ["t"], "failure": []}},
        }
    },
    "tau_bench": [
        {
            "task_id": 0,
            "trial": 0,
            "reward": 1.0,
            "info": {"source": "user", "error": None},
            "traj": [
                {"role": "user", "content": "u"},
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "content": "o", "tool_call_id": "c"},
            ],
        }
    ],
}
by_reader = pytest.mark.parametrize("name", SAMPLES)


def records_of(name: str, data: bytes) -> list[object] | None:
    """Records, checked for their order; None where the file was refused."""
    reader, source = READERS[name], BytesSource("x/sample", data)
    assert 0 <= reader.sniff(data[:65536], source) <= 1
    try:
        records = list(reader.read(source))
    except InputError:
        return None
    depth = 0
    for record in records:
        depth += isinstance(record, RunStart) - isinstance(record, RunEnd)
        assert depth in (0, 1)
        assert depth or not isinstance(record, Event)
        assert not isinstance(record, Damage) or (record.reason and record.offset >= 0)
    assert depth == 0
    return records


@by_reader
def test_only_its_own_reader_claims_a_sample(name):
    data = json.dumps(SAMPLES[name]).encode()
    claims = {other for other, reader in READERS.items() if reader.sniff(data, BytesSource("x", data)) > 0}
    assert claims == {name}
    records = records_of(name, data)
    assert records
    assert not any(isinstance(record, Damage) for record in records)


@by_reader
def test_a_file_cut_at_any_byte_is_refused_or_says_that_it_is_cut(name):
    data = json.dumps(SAMPLES[name], indent=1).encode()
    for n_bytes in range(len(data)):
        records = records_of(name, data[:n_bytes])
        assert records is None or any(isinstance(record, Damage) for record in records)


@by_reader
def test_anything_may_stand_in_the_place_of_anything(name):
    for path in places(SAMPLES[name]):
        for junk in JUNK:
            records_of(name, json.dumps(replaced(SAMPLES[name], path, junk)).encode())
        if path:
            records_of(name, json.dumps(removed(SAMPLES[name], path)).encode())


@by_reader
@settings(max_examples=60, deadline=None)
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
    ):
        records = records_of(name, data)
        assert not records or all(isinstance(record, Damage) for record in records)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("swe_agent", ("data", "formats", "swe-agent", "6e44b9__sweagenttestrepo-1c2844.traj")),
        ("swe_agent", ("data", "formats", "swe-agent", "function_calling_simple.traj")),
        ("mini_swe_agent", ("data", "formats", "mini-swe-agent", "generated-fix-add", "a1.traj.json")),
        ("mini_swe_agent", ("data", "formats", "mini-swe-agent", "github_issue.traj.json")),
        ("predictions", ("data", "formats", "swe-agent", "all_preds.jsonl")),
        ("swebench_report", ("data", "verified-cross", "vexp", "logs", "django__django-11206", "report.json")),
        ("tau_bench", ("data", "formats", "tau-bench", "gpt-4o-airline.tasks0-4.DERIVED.json")),
    ],
)
def test_a_real_file_cut_at_twenty_places_is_refused_or_says_so(shared_path, name, parts):
    data = shared_path(*parts).read_bytes().rstrip()
    for place in range(20):
        records = records_of(name, data[: len(data) * place // 20])
        assert records is None or any(isinstance(record, Damage) for record in records)
