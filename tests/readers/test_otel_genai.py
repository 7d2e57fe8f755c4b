"""The reader of GenAI traces: three generations of messages, wrappers, agents, tools, and content that is off."""

from __future__ import annotations

import json

import pytest

from samework.decode.source import BytesSource
from samework.errors import DamagedRecord
from samework.model.words import EndReason
from samework.readers.otel_genai import READER
from tests.tracelab import lines, runs_in, walked


def otlp(*spans, **resource):
    def typed(value):
        if isinstance(value, bool):
            return {"boolValue": value}
        if isinstance(value, int):
            return {"intValue": str(value)}
        if isinstance(value, list):
            return {"arrayValue": {"values": [typed(one) for one in value]}}
        return {"stringValue": value}

    def attributes(given):
        return [{"key": key, "value": typed(value)} for key, value in given.items()]

    made = [
        {**span, "attributes": attributes(span["attributes"]),
         "events": [{"name": name, "attributes": attributes(given)} for name, given in span.get("events", [])]}
        for span in spans
    ]  # fmt: skip
    return {"resourceSpans": [{"resource": {"attributes": attributes(resource)}, "scopeSpans": [{"spans": made}]}]}


def span(number, parent=None, trace="t", status=0, events=(), **attributes):
    return {
        "traceId": trace, "spanId": f"s{number}", "parentSpanId": f"s{parent}" if parent else "", "name": f"n{number}",
        "startTimeUnixNano": str(1000 + number), "endTimeUnixNano": str(2000 + number), "status": {"code": status},
        "attributes": {key.replace("__", "."): value for key, value in attributes.items()}, "events": list(events),
    }  # fmt: skip


def user(text):
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def assistant(text="", *calls):
    parts = [{"type": "text", "content": text}] if text else []
    return {
        "role": "assistant",
        "parts": parts + [{"type": "tool_call", "id": i, "name": n, "arguments": a} for i, n, a in calls],
    }


def chat(number, messages, reply, parent=None, **more):
    return span(
        number, parent, gen_ai__operation__name="chat", gen_ai__request__model="m", gen_ai__response__model="m-1",
        gen_ai__usage__input_tokens=3, gen_ai__usage__output_tokens=2,
        gen_ai__input__messages=json.dumps(messages), gen_ai__output__messages=json.dumps([reply]), **more,
    )  # fmt: skip


def tool(number, call_id, result, parent=None):
    return span(
        number, parent, gen_ai__operation__name="execute_tool", gen_ai__tool__name="f", gen_ai__tool__call__id=call_id,
        gen_ai__tool__call__arguments='{"a": 1}', gen_ai__tool__call__result=result,
    )  # fmt: skip


ASKED = [user("go")]
CALLED = assistant("", ("c1", "f", {"a": 1}))
ANSWERED = [*ASKED, CALLED, {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "ok"}]}]


def test_a_conversation_is_told_once_though_each_call_repeats_it():
    (run,) = runs_in(READER, otlp(chat(1, ASKED, CALLED), tool(2, "c1", "ok"), chat(3, ANSWERED, assistant("done"))))
    assert run.told == [("user", "go"), ("completion", ""), ("observation", "ok"), ("completion", "done")]
    assert [(call.name, call.arguments, call.exact) for call in run.completions[0].calls] == [("f", '{"a":1}', False)]
    assert run.tokens == 10
    assert run.facts["model.id"] == "m-1"
    assert not run.damages


def test_a_result_that_no_prompt_repeats_comes_from_its_tool():
    (run,) = runs_in(READER, otlp(chat(1, ASKED, CALLED), tool(2, "c1", "ok")))
    assert run.told == [("user", "go"), ("completion", ""), ("observation", "ok")]


def test_a_call_that_leaves_the_conversation_is_an_edit_of_the_context():
    other = [user("go"), assistant("summary"), user("on")]
    (run,) = runs_in(READER, otlp(chat(1, ASKED, CALLED), chat(2, other, assistant("done"))))
    assert [kind for kind, _ in run.told] == ["user", "completion", "context_edit", "completion", "user", "completion"]


def test_only_the_innermost_of_nested_model_calls_counts():
    spans = [
        span(1, gen_ai__operation__name="invoke_agent", gen_ai__usage__input_tokens=3, gen_ai__usage__output_tokens=2),
        chat(2, ASKED, assistant("a"), parent=1),
        chat(3, ASKED, assistant("a"), parent=2),
    ]
    (run,) = runs_in(READER, otlp(*spans))
    assert run.told == [("user", "go"), ("completion", "a")]
    assert run.tokens == 5


def test_an_agent_inside_an_agent_with_calls_of_its_own_is_a_run():
    spans = [
        span(1, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="outer"),
        chat(2, ASKED, assistant("o"), parent=1),
        span(3, 1, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="inner"),
        chat(4, [user("sub")], assistant("i"), parent=3),
    ]
    outer, inner = runs_in(READER, otlp(*spans))
    assert (outer.start.agent, outer.start.native_id, outer.start.parent_native_id) == ("outer", "t", None)
    assert (inner.start.agent, inner.start.native_id, inner.start.parent_native_id) == ("inner", "s3", "t")
    assert (outer.told[-1], inner.told[-1]) == (("completion", "o"), ("completion", "i"))
    assert outer.start.content_sha256 != inner.start.content_sha256


def test_traces_of_one_conversation_are_one_run_across_lines():
    first = chat(1, ASKED, assistant("a"), gen_ai__conversation__id="x")
    more = chat(2, [*ASKED, assistant("a"), user("b")], assistant("c"), gen_ai__conversation__id="x") | {"traceId": "u"}
    (run,) = runs_in(READER, lines(otlp(first), otlp(more)))
    assert run.told == [("user", "go"), ("completion", "a"), ("user", "b"), ("completion", "c")]
    assert run.start.native_id == "x"


def test_a_reply_whose_content_was_not_captured_is_not_an_empty_reply():
    bare = span(1, gen_ai__operation__name="chat", gen_ai__request__model="m", gen_ai__usage__input_tokens=7)
    (run,) = runs_in(READER, otlp(bare))
    assert run.tokens == 7
    assert [(one.code, one.taints_run) for one in run.damages] == [("content-unrecorded", True)]


def test_a_tool_without_the_reply_that_called_it_leaves_the_run_incomplete():
    agent = span(1, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="A")
    (run,) = runs_in(READER, otlp(agent, tool(2, "c", "o", parent=1)))
    assert [event.calls[0].name for event in run.completions] == ["f"]
    assert run.told[-1] == ("observation", "o")
    assert [one.code for one in run.damages] == ["content-unrecorded"]


def test_messages_in_span_events_are_read():
    given = span(
        1, gen_ai__operation__name="chat",
        events=[
            ("gen_ai.system.message", {"content": "s"}), ("gen_ai.user.message", {"content": "u"}),
            ("gen_ai.choice", {"finish_reason": "stop", "message": json.dumps({"content": "a"})}),
        ],
    )  # fmt: skip
    (run,) = runs_in(READER, otlp(given))
    assert run.told == [("system", "s"), ("user", "u"), ("completion", "a")]


def test_indexed_keys_of_openllmetry_are_read():
    keys = {
        "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "u", "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.tool_calls.0.name": "f", "gen_ai.completion.0.tool_calls.0.arguments": '{"a": 1}',
        "gen_ai.completion.0.tool_calls.0.id": "c", "gen_ai.request.model": "m",
    }  # fmt: skip
    (run,) = runs_in(READER, otlp({**span(1), "attributes": keys}))
    assert run.told == [("user", "u"), ("completion", "")]
    assert [(call.arguments, call.exact, call.call_id) for call in run.completions[0].calls] == [
        ('{"a": 1}', True, "c")
    ]


def test_a_span_that_was_sent_twice_counts_once():
    (run,) = runs_in(READER, lines(otlp(chat(1, ASKED, assistant("a"))), otlp(chat(1, ASKED, assistant("a")))))
    assert len(run.completions) == 1
    assert [(one.code, one.taints_run) for one in run.damages] == [("repeated-span", False)]


def test_ends_come_from_the_last_reply_or_a_failed_root():
    done = chat(1, ASKED, assistant("a"), gen_ai__response__finish_reasons=["length"])
    (run,) = runs_in(READER, otlp(done))
    assert run.end.reason is EndReason.LIMIT
    (run,) = runs_in(READER, otlp(span(1, gen_ai__operation__name="chat", status=2)))
    assert (run.end.reason, run.events, run.damages) == (EndReason.ERROR, [], [])


@pytest.mark.parametrize(
    ("word", "reason"),
    [("tool_calls", "unrecorded"), ("STOP", "unrecorded"), ("stop", "finished"), ("end_turn", "finished")],
)
def test_a_reply_that_calls_a_tool_is_no_end_where_its_reason_says_so_or_is_always_the_same(word, reason):
    asks = chat(1, ASKED, assistant("", ("c", "f", {"a": 1})), gen_ai__response__finish_reasons=[word])
    assert runs_in(READER, otlp(asks))[0].end.reason == reason


def test_a_last_model_call_that_failed_is_an_error_and_one_that_was_asked_again_is_a_finding():
    root = span(1, gen_ai__operation__name="invoke_agent")
    done = [chat(n, ASKED, assistant("a"), parent=1, gen_ai__response__finish_reasons=["stop"]) for n in (2, 4)]
    failed = span(3, 1, gen_ai__operation__name="chat", status=2)
    (run,) = runs_in(READER, otlp(root, done[0], failed))
    assert (run.end.reason, run.damages) == (EndReason.ERROR, [])
    (run,) = runs_in(READER, otlp(root, failed, done[1]))
    assert (run.end.reason, [damage.code for damage in run.damages]) == (EndReason.FINISHED, ["failed-call"])
    (run,) = runs_in(READER, otlp({**failed, "parentSpanId": ""}, {**done[1], "parentSpanId": ""}))
    assert run.end.reason is EndReason.FINISHED


def test_spans_without_models_are_refused_with_the_reason():
    with pytest.raises(DamagedRecord, match="no span of a model"):
        list(READER.read(BytesSource("x", json.dumps(otlp(span(1, http__method="GET"))).encode())))


@pytest.mark.shared
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_real_traces_have_as_many_tools_and_conversations_as_they_name(shared_path, number):
    path = shared_path("data", "formats", "otel-genai", f"vs-copilot-sample-{number}.jsonl")
    pairs = [one for line in path.read_text().splitlines() for one in walked(json.loads(line)) if "key" in one]
    values = [(one["key"], next(iter(one["value"].values()))) for one in pairs]
    runs = runs_in(READER, path)
    assert len(runs) == len({value for key, value in values if key == "gen_ai.conversation.id"})
    called = [value for key, value in values if key == "gen_ai.tool.call.id"]
    assert [call.call_id for run in runs for event in run.events for call in event.calls] == called
    results = [value for key, value in values if key == "gen_ai.tool.call.result"]
    assert [text for run in runs for kind, text in run.told if kind == "observation"] == results


@pytest.mark.shared
def test_real_spans_of_an_sdk_have_the_tokens_that_they_count(shared_path):
    path = shared_path("data", "formats", "openinference", "all-spans.json")
    counts = [one for one in walked(json.loads(path.read_text())) if "gen_ai.usage.input_tokens" in one]
    runs = runs_in(READER, path)
    total = sum(one["gen_ai.usage.input_tokens"] + one["gen_ai.usage.output_tokens"] for one in counts)
    assert (len(runs), sum(run.tokens for run in runs)) == (len(counts), total)


@pytest.mark.shared
def test_a_real_trace_without_models_is_refused(shared_path):
    path = shared_path("data", "formats", "otel-genai", "dazzaji_test-traces.json")
    with pytest.raises(DamagedRecord, match="no span of a model"):
        runs_in(READER, path)


def test_cached_tokens_are_part_of_the_input():
    cached = {"gen_ai.usage.cache_read.input_tokens": 2, "gen_ai.usage.cache_creation.input_tokens": 1}
    given = chat(1, ASKED, assistant("a"))
    (run,) = runs_in(READER, otlp({**given, "attributes": {**given["attributes"], **cached}}))
    usage = run.completions[0].usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.cache_write_tokens) == (3, 2, 1)
