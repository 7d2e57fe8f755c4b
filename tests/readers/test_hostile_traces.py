"""Traces, replies and reports cut anywhere, or with anything in the place of anything: records or a refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samework.decode.source import BytesSource
from samework.errors import InputError
from samework.ingest import registry
from samework.model.events import Event
from samework.model.records import Damage, RunEnd, RunStart, SuiteReport
from tests.fuzz.mutate import places, replaced

JUNK: list[Any] = [
    None, True, -1, 2**70, 1e308, "", "\ud800", "1" * 30, [], [None], [[]], {}, {"": None}, {"text": 1, "type": {}},
]  # fmt: skip
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
CHAT = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": [{"type": "text", "text": "u"}, {"type": "image", "x": 1}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "o"},
]
REPLY = {
    "id": "r",
    "object": "chat.completion",
    "model": "m",
    "created": 1,
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "a", "tool_calls": [CALL]}}
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}},
}
PARTS = [
    {"role": "user", "parts": [{"type": "text", "content": "u"}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": 1}}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "o"}]},
]


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    def typed(value: object) -> dict[str, Any]:
        return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}

    made = [
        {
            **span,
            "attributes": [{"key": key, "value": typed(value)} for key, value in span["attributes"].items()],
        }
        for span in spans
    ]
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "s"}}]},
                "scopeSpans": [{"scope": {}, "spans": made}],
            }
        ]
    }


def span(number: int, parent: int | None, **attributes: object) -> dict[str, Any]:
    return {
        "traceId": "t1", "spanId": f"s{number}", "parentSpanId": f"s{parent}" if parent else "", "name": f"n{number}",
        "startTimeUnixNano": str(1000 + number), "endTimeUnixNano": str(2000 + number), "status": {"code": 0},
        "attributes": {key.replace("__", "."): value for key, value in attributes.items()},
    }  # fmt: skip


def genai(**more: object) -> dict[str, object]:
    return {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 2, "gen_ai.input.messages": json.dumps(PARTS),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "a"}]}]),
        **more,
    }  # fmt: skip


SAMPLES: dict[str, Any] = {
    "otel_genai": otlp(
        {**span(1, None), "attributes": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "A"}},
        {**span(2, 1), "attributes": genai()},
        {
            **span(3, 1),
            "attributes": {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "f",
                "gen_ai.tool.call.id": "d",
                "gen_ai.tool.call.arguments": '{"a":1}',
                "gen_ai.tool.call.result": "o",
            },
        },
    ),
    "openinference": [
        {
            "name": "llm",
            "context": {"trace_id": "t", "span_id": "s"},
            "parent_id": None,
            "start_time": "2026-01-01T00:00:00Z",
            "attributes": {
                "openinference.span.kind": "LLM",
                "llm.model_name": "m",
                "llm.token_count.prompt": 3,
                "llm.token_count.completion": 2,
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.content": "u",
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "f",
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"a": 1}',
                "llm.tools.0.tool.json_schema": "{}",
                "llm.invocation_parameters": '{"temperature": 0}',
            },
        }
    ],
    "mlflow": {
        "info": {"trace_id": "t", "trace_metadata": {"mlflow.trace.session": "x"}},
        "data": {
            "spans": [
                {
                    "name": "chat",
                    "context": {"span_id": "1", "trace_id": "2"},
                    "parent_id": None,
                    "start_time": 1,
                    "end_time": 2,
                    "attributes": {
                        "mlflow.spanType": '"CHAT_MODEL"',
                        "mlflow.spanInputs": json.dumps({"messages": CHAT, "model": "m"}),
                        "mlflow.spanOutputs": json.dumps(REPLY),
                    },
                },
                {
                    "name": "f",
                    "context": {"span_id": "3", "trace_id": "2"},
                    "parent_id": "1",
                    "start_time": 3,
                    "end_time": 4,
                    "attributes": {
                        "mlflow.spanType": '"TOOL"',
                        "mlflow.spanInputs": '{"a": 1}',
                        "mlflow.spanOutputs": '"o"',
                    },
                },
            ]
        },
    },
    "langfuse": {
        "id": "t",
        "sessionId": "x",
        "projectId": "p",
        "observations": [
            {
                "id": "1",
                "traceId": "t",
                "type": "GENERATION",
                "name": "g",
                "startTime": "2026-01-01T00:00:00Z",
                "parentObservationId": None,
                "model": "m",
                "modelParameters": {"temperature": 0},
                "input": CHAT,
                "output": {"role": "assistant", "content": "a"},
                "usageDetails": {"input": 3, "output": 2, "input_cached_tokens": 1},
            },
            {
                "id": "2",
                "traceId": "t",
                "type": "TOOL",
                "name": "f",
                "input": {"a": 1},
                "output": "o",
                "startTime": "2026-01-01T00:00:01Z",
            },
        ],
    },
    "langsmith": {
        "post": [
            {
                "id": "1",
                "trace_id": "1",
                "dotted_order": "20260101T000000000000Z1",
                "run_type": "llm",
                "name": "x",
                "start_time": 1,
                "inputs": {"messages": CHAT, "model": "m"},
                "extra": {"metadata": {"ls_model_name": "m"}},
            }
        ],
        "patch": [{"id": "1", "outputs": REPLY, "end_time": 2}],
    },
    "ag_ui": [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "1", "role": "user", "content": "u"}]},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "h", "delta": "h"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"a": 1}'},
        {"type": "TOOL_CALL_RESULT", "messageId": "o", "toolCallId": "c", "content": "o"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "usage": [{"inputTokens": 3}]},
    ],
    "agent_trace": {
        "version": "0.1",
        "id": "x",
        "timestamp": "2026-01-01T00:00:00Z",
        "vcs": {"type": "git", "revision": "a" * 40},
        "tool": {"name": "cursor", "version": "1"},
        "files": [
            {
                "path": "a.py",
                "conversations": [
                    {
                        "url": "u",
                        "contributor": {"type": "ai", "model_id": "m"},
                        "ranges": [{"start_line": 1, "end_line": 2}],
                    }
                ],
            }
        ],
    },
    "openai_responses": [
        {
            "request": {"input": "u", "instructions": "s"},
            "response": {
                "id": "r1",
                "object": "response",
                "model": "m",
                "status": "completed",
                "created_at": 1,
                "output": [
                    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "h"}]},
                    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
                    {"type": "function_call", "name": "f", "arguments": '{"a":1}', "call_id": "c"},
                ],
                "usage": {"input_tokens": 3, "input_tokens_details": {"cached_tokens": 1}, "output_tokens": 2},
            },
        },
        {
            "request": {
                "input": [{"type": "function_call_output", "call_id": "c", "output": "o"}],
                "previous_response_id": "r1",
            },
            "response": {
                "id": "r2",
                "object": "response",
                "status": "completed",
                "output": [],
                "previous_response_id": "r1",
            },
        },
    ],
    "anthropic_messages": [
        {
            "request": {
                "model": "m",
                "max_tokens": 9,
                "system": "s",
                "messages": [{"role": "user", "content": "u"}],
                "tools": [{"name": "f"}],
            },
            "response": {
                "id": "x",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "stop_reason": "tool_use",
                "content": [
                    {"type": "thinking", "thinking": "h"},
                    {"type": "text", "text": "a"},
                    {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
                ],
                "usage": {"input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 2},
            },
        }
    ],
    "llamacpp": {
        "content": "a",
        "tokens": [1, 2],
        "prompt": "p",
        "stop": True,
        "stop_type": "eos",
        "model": "m.gguf",
        "tokens_predicted": 2,
        "tokens_evaluated": 3,
        "generation_settings": {"temperature": 0.0, "seed": 1},
        "timings": {"cache_n": 1, "prompt_n": 2, "predicted_n": 2},
        "completion_probabilities": [
            {
                "id": 1,
                "token": "a",
                "logprob": -0.1,
                "top_logprobs": [{"id": 1, "logprob": -0.1}, {"id": 5, "logprob": -3.0}],
            },
            {
                "id": 2,
                "token": "b",
                "logprob": -0.1,
                "top_logprobs": [{"id": 2, "logprob": -0.1}, {"id": 5, "logprob": -3.0}],
            },
        ],
    },
    "openai_chat": {
        "messages": CHAT,
        "response": {
            **REPLY,
            "prompt_token_ids": [1, 2, 3],
            "timings": {"cache_n": 1, "prompt_n": 2},
            "choices": [
                {
                    "finish_reason": "stop",
                    "token_ids": [4],
                    "message": {"role": "assistant", "content": "a"},
                    "meta_info": {"output_token_logprobs": [[-0.1, 4, "a"]], "cached_tokens": 1},
                    "logprobs": {
                        "content": [
                            {
                                "token": "token_id:4",
                                "top_logprobs": [
                                    {"token": "token_id:4", "logprob": -0.1},
                                    {"token": "token_id:5", "logprob": -2.0},
                                ],
                            }
                        ]
                    },
                }
            ],
        },
    },
    "ctrf": {
        "reportFormat": "CTRF",
        "results": {
            "tool": {"name": "x"},
            "summary": {"tests": 1},
            "tests": [
                {
                    "name": "a",
                    "status": "passed",
                    "suite": ["s"],
                    "filePath": "f",
                    "retryAttempts": [{"status": "failed"}],
                }
            ],
        },
    },
    "jest": {
        "numTotalTests": 1,
        "numPassedTests": 1,
        "testResults": [
            {
                "name": "/w/a.js",
                "status": "passed",
                "assertionResults": [{"ancestorTitles": ["s"], "title": "x", "status": "passed"}],
            }
        ],
    },
}
LINES: dict[str, bytes] = {
    "go_test": b'{"Action":"run","Package":"p","Test":"T"}\n{"Action":"pass","Package":"p","Test":"T"}\n'
    b'{"Action":"pass","Package":"p"}\n',
    "pytest_reportlog": b'{"pytest_version":"9","$report_type":"SessionStart"}\n'
    b'{"$report_type":"TestReport","nodeid":"t::a","when":"setup","outcome":"passed"}\n'
    b'{"$report_type":"TestReport","nodeid":"t::a","when":"teardown","outcome":"passed"}\n'
    b'{"$report_type":"SessionFinish","exitstatus":0}\n',
    "tap": b"TAP version 14\n1..2\nok 1 - a\n  ---\n  x: 1\n  ...\n    ok 1 - b\n    1..1\nnot ok 2 - c # TODO\n",
    "swebench_log": b">>>>> Start Test Output\nt.py::a PASSED\n=== 1 passed in 0.1s ===\n>>>>> End Test Output\n",
}
ALL = {name: json.dumps(value).encode() for name, value in SAMPLES.items()} | LINES
by_reader = pytest.mark.parametrize("name", ALL)
by_json_reader = pytest.mark.parametrize("name", SAMPLES)


def records_of(name: str, data: bytes) -> list[object] | None:
    """Records, checked for their order; None where the file was refused."""
    reader, source = registry.reader(name), BytesSource("x/sample", data)
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


def is_whole(records: list[object]) -> bool:
    return not any(isinstance(one, Damage) or (isinstance(one, SuiteReport) and not one.complete) for one in records)


@by_reader
def test_only_its_own_reader_is_surest_of_a_sample(name):
    source = BytesSource("x", ALL[name])
    claims = {other: reader.sniff(ALL[name], source) for other, reader in registry.readers().items()}
    assert max(claims, key=lambda other: claims[other]) == name, claims
    records = records_of(name, ALL[name])
    assert records


@by_reader
def test_a_file_cut_at_any_byte_is_refused_or_says_that_it_is_cut(name):
    data = json.dumps(SAMPLES[name], indent=1).encode() if name in SAMPLES else ALL[name].rstrip()
    for n_bytes in range(0, len(data), 1 if name in LINES else 7):
        records = records_of(name, data[:n_bytes])
        assert records is None or not is_whole(records) or data[:n_bytes].rstrip().endswith(b"}")


@by_json_reader
def test_anything_may_stand_in_the_place_of_anything(name):
    for path in places(SAMPLES[name]):
        for junk in JUNK:
            records_of(name, json.dumps(replaced(SAMPLES[name], path, junk)).encode())


@pytest.mark.parametrize("name", ["go_test", "pytest_reportlog"])
def test_anything_may_stand_in_the_place_of_anything_in_a_line(name):
    lines = [json.loads(line) for line in ALL[name].splitlines()]
    for path in places(lines):
        if path:
            for junk in JUNK:
                changed = replaced(lines, path, junk)
                records_of(name, b"".join(json.dumps(line).encode() + b"\n" for line in changed))


@by_reader
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_flipped_bytes_are_survived(name, data):
    whole = bytearray(ALL[name])
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
        whole[at] = data.draw(st.integers(0, 255))
    records_of(name, bytes(whole))


@by_reader
def test_bytes_of_another_kind_are_refused(name):
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
        assert not records or (not is_whole(records) and not any(isinstance(one, Event) for one in records))


SHARED = [
    ("otel_genai", "otel-genai/vs-copilot-sample-1.jsonl"),
    ("otel_genai", "otel-genai/vs-copilot-sample-4.jsonl"),
    ("otel_genai", "openinference/all-spans.json"),
    ("openinference", "openinference/openinference_client_span_tool_calls.json"),
    ("langsmith", "langsmith/langsmith_js_wrap_openai_reasoning.json"),
    ("ag_ui", "ag-ui/events.json"),
    ("openai_chat", "openai-chat/litellm_haiku_completion.json"),
]


@pytest.mark.shared
@pytest.mark.parametrize(("name", "path"), SHARED)
def test_a_real_file_cut_anywhere_is_refused_or_says_so(shared_path, name, path):
    data = shared_path("data", "formats", *path.split("/")).read_bytes().rstrip()
    boundaries = {at for at, byte in enumerate(data) if byte == 10}
    step = max(len(data) // 50, 1)
    for n_bytes in sorted({*range(0, len(data), step), *list(boundaries)[:50]}):
        records = records_of(name, data[:n_bytes])
        at_end_of_line = data[n_bytes : n_bytes + 1] == b"\n" or n_bytes == 0
        assert records is None or not is_whole(records) or at_end_of_line


@pytest.mark.shared
@pytest.mark.parametrize(("name", "path"), SHARED)
def test_a_real_file_with_flipped_bytes_is_survived(shared_path, name, path):
    data = shared_path("data", "formats", *path.split("/")).read_bytes()
    for number in range(50):
        at = (number * 7919 + 13) % len(data)
        records_of(name, data[:at] + bytes([(data[at] + number + 1) % 256]) + data[at + 1 :])
