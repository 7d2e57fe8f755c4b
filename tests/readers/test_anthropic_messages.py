"""The reader of Messages: blocks, repeated requests, usage apart from the cache, streams."""

from __future__ import annotations

import pytest

from samework.errors import DamagedRecord
from samework.model.events import Usage
from samework.model.words import EndReason
from samework.readers.anthropic_messages import READER
from tests.tracelab import as_source, lines, runs_in

USE = {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}
RESULT = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "ok"}]}
ASKED = [{"role": "user", "content": "go"}]


def reply(number, *blocks, stop="end_turn", **usage):
    return {
        "id": f"m{number}", "type": "message", "role": "assistant", "model": "m-1", "stop_reason": stop,
        "content": list(blocks), "usage": {"input_tokens": 1, "output_tokens": 2, **usage},
    }  # fmt: skip


def said(text):
    return {"type": "text", "text": text}


def call(number, messages, *blocks, stop="end_turn", **more):
    return {
        "request": {"model": "m", "max_tokens": 9, "messages": messages, **more},
        "response": reply(number, *blocks, stop=stop),
    }


def test_a_conversation_is_told_once_though_each_request_repeats_it():
    later = [
        *ASKED,
        {"role": "assistant", "content": [said("a"), USE]},
        {"role": "user", "content": [RESULT, said("on")]},
    ]
    (run,) = runs_in(
        READER,
        lines(call(1, ASKED, said("a"), USE, stop="tool_use", system="s"), call(2, later, said("done"), system="s")),
    )
    assert run.told == [
        ("system", "s"),
        ("user", "go"),
        ("completion", "a"),
        ("observation", "ok"),
        ("user", "on"),
        ("completion", "done"),
    ]
    assert [(each.arguments, each.exact, each.call_id) for each in run.completions[0].calls] == [
        ('{"a":1}', False, "c")
    ]
    assert (run.end.reason, run.facts["model.id_requested"]) == (EndReason.FINISHED, "m")


REFUSED = {"request": {"messages": ASKED}, "response": {"type": "error", "error": {"type": "overloaded_error"}}}


def test_a_reply_that_calls_a_tool_is_not_the_end_of_a_run():
    (run,) = runs_in(READER, lines(call(1, ASKED, USE, stop="tool_use")))
    assert (run.end.reason, run.end.detail) == (EndReason.UNRECORDED, "tool_use")
    again = [*ASKED, {"role": "assistant", "content": [said("a")]}, {"role": "user", "content": "and?"}]
    (run,) = runs_in(READER, lines(call(1, ASKED, said("a")), {"request": {"messages": again}}))
    assert run.end.reason is EndReason.UNRECORDED


def test_a_call_that_failed_is_the_end_where_it_is_the_last_and_else_a_finding():
    (run,) = runs_in(READER, lines(call(1, ASKED, said("a")), REFUSED))
    assert (run.end.reason, run.damages) == (EndReason.ERROR, [])
    (run,) = runs_in(READER, lines(call(1, ASKED, said("a")), {"type": "error", "error": {"type": "api_error"}}))
    assert (run.end.reason, run.damages) == (EndReason.ERROR, [])
    (run,) = runs_in(READER, lines(call(1, ASKED, said("a")), REFUSED, call(2, ASKED, said("b"))))
    assert [text for kind, text in run.told if kind == "completion"] == ["a", "b"]
    assert (run.end.reason, [damage.code for damage in run.damages]) == (EndReason.FINISHED, ["failed-call"])


def test_a_reply_that_stands_twice_counts_once():
    one = call(1, ASKED, said("a"))
    (run,) = runs_in(READER, lines(one, one))
    assert run.told == [("user", "go"), ("completion", "a")]
    assert [damage.code for damage in run.damages] == ["copied-record"]


def test_what_the_cache_gave_is_part_of_the_prompt():
    (run,) = runs_in(READER, reply(1, said("a"), cache_read_input_tokens=10, cache_creation_input_tokens=5))
    assert run.completions[0].usage == Usage(16, 10, 5, 2)


def test_thinking_is_reasoning_and_what_was_redacted_is_hidden():
    (run,) = runs_in(READER, reply(1, {"type": "thinking", "thinking": "hm"}, said("a")))
    assert (run.completions[0].reasoning, run.completions[0].text) == ("hm", "a")
    (run,) = runs_in(READER, reply(1, {"type": "redacted_thinking", "data": "x"}, said("a")))
    assert run.completions[0].reasoning_hidden


def test_another_conversation_is_another_run():
    other = [{"role": "user", "content": "else"}]
    first, second = runs_in(READER, lines(call(1, ASKED, said("a")), call(2, other, said("b"))))
    assert first.told == [("user", "go"), ("completion", "a")]
    assert second.told == [("user", "else"), ("completion", "b")]


def test_a_request_that_cuts_its_history_is_an_edit_of_the_context():
    later = [*ASKED, {"role": "assistant", "content": "short"}, {"role": "user", "content": "on"}]
    (run,) = runs_in(READER, lines(call(1, ASKED, said("long")), call(2, later, said("b"))))
    assert "context_edit" in [kind for kind, _ in run.told]


def test_a_stream_is_put_together_with_the_models_own_arguments():
    events = [
        {"type": "message_start", "message": {**reply(1), "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
        {"type": "content_block_start", "index": 1, "content_block": {**USE, "input": {}}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a":'}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "  1}"}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    (run,) = runs_in(READER, lines(*events))
    assert run.told == [("completion", "a")]
    assert [(each.arguments, each.exact) for each in run.completions[0].calls] == [('{"a":  1}', True)]
    assert run.completions[0].usage.completion_tokens == 7
    (run,) = runs_in(READER, lines(reply(0, said("z")), *events[:-1]))
    assert [one.code for one in run.damages] == ["cut-tail"]


SERVED = {"type": "server_tool_use", "id": "s", "name": "bash_code_execution", "input": {"command": "ls"}}
GIVEN = {
    "type": "bash_code_execution_tool_result",
    "tool_use_id": "s",
    "content": {"type": "bash_code_execution_result", "stdout": "a", "return_code": 3},
}


def test_what_the_providers_own_tools_answered_is_an_observation_after_the_reply():
    asked = {"type": "mcp_tool_use", "id": "t", "name": "ask", "server_name": "w", "input": {"q": 1}}
    found = {"type": "mcp_tool_result", "tool_use_id": "t", "is_error": False, "content": [said("so")]}
    history = [
        *ASKED,
        {"role": "assistant", "content": [SERVED, {**GIVEN, "content": {}}, asked, found, said("done")]},
        {"role": "user", "content": "on"},
    ]
    (run,) = runs_in(
        READER, lines(call(1, ASKED, SERVED, GIVEN, asked, found, said("done")), call(2, history, said("bye")))
    )
    assert [kind for kind, _ in run.told] == ["user", "completion", "observation", "observation", "user", "completion"]
    assert run.told[1] == ("completion", "done")
    assert [each.name for each in run.completions[0].calls] == ["bash_code_execution", "ask"]
    results = [event for event in run.events if event.kind.value == "observation"]
    assert [(each.call_id, each.exit_status) for each in results] == [("s", 3), ("t", None)]
    assert results[1].text == "so"


def test_a_history_from_before_the_file_keeps_what_the_providers_tools_answered():
    history = [*ASKED, {"role": "assistant", "content": [SERVED, GIVEN]}, {"role": "user", "content": "on"}]
    (run,) = runs_in(READER, call(2, history, said("bye")))
    assert [kind for kind, _ in run.told] == ["user", "completion", "observation", "user", "completion"]


def test_arguments_of_the_providers_tools_and_a_compaction_are_put_together_in_a_stream():
    events = [
        {"type": "message_start", "message": reply(1) | {"stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {**SERVED, "input": {}}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a": '}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "1}"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "compaction", "content": None}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "compaction_delta", "content": "story"}},
        {"type": "message_stop"},
    ]
    (run,) = runs_in(READER, lines(*events))
    assert [(each.arguments, each.exact) for each in run.completions[0].calls] == [('{"a": 1}', True)]
    assert run.completions[0].text == "story"


def test_server_sent_events_are_a_stream():
    events = [
        {"type": "message_start", "message": reply(1) | {"stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": said("")},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "so"}},
        {"type": "message_delta", "delta": {"stop_reason": "refusal"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    sent = b"".join(b"event: %s\r\ndata: %s\r\n\r\n" % (one["type"].encode(), lines(one).strip()) for one in events)
    source = as_source(sent)
    assert READER.sniff(source.head(), source) > 0.9
    (run,) = runs_in(READER, sent)
    assert (run.told, run.end.reason, run.damages) == ([("completion", "so")], EndReason.ERROR, [])
    assert run.completions[0].usage.completion_tokens == 5
    (run,) = runs_in(READER, sent[: sent.index(b"event: message_delta")])
    assert (run.told, [one.code for one in run.damages]) == ([("completion", "so")], ["cut-tail"])
    assert run.end.reason is EndReason.LOG_TRUNCATED


def test_yaml_with_an_id_and_data_is_no_stream():
    source = as_source(b'id: 5\nname: x\ndata: {"role":"assistant","type":"message","content":[]}\n')
    assert READER.sniff(source.head(), source) == 0


def test_a_request_that_was_answered_with_an_error_ends_in_one():
    refused = {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}
    later = [*ASKED, {"role": "assistant", "content": "a"}, {"role": "user", "content": "on"}]
    (run,) = runs_in(
        READER, lines(call(1, ASKED, said("a")), {"request": {"model": "m", "messages": later}, "response": refused})
    )
    assert [kind for kind, _ in run.told] == ["user", "completion", "user"]
    assert run.end.reason is EndReason.ERROR


def test_a_long_request_before_its_reply_is_recognised():
    source = as_source(lines(call(1, [{"content": "x" * 70_000, "role": "user"}], said("a"))))
    assert READER.sniff(source.head(), source) > 0.9


def test_a_body_of_a_request_alone_is_a_conversation():
    given = {
        "model": "m",
        "messages": [*ASKED, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [RESULT]}],
    }
    (run,) = runs_in(READER, given)
    assert run.told == [("user", "go"), ("completion", ""), ("observation", "ok")]


def streamed(number, *texts):
    """Events of a reply up to its last delta."""
    return [
        {"type": "message_start", "message": reply(number) | {"stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": said("")},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}} for text in texts),
    ]


STOP = {"type": "message_stop"}


@pytest.mark.parametrize("after", [[*streamed(2, "b"), STOP], [reply(2, said("b"))]])
def test_a_stream_that_was_cut_is_kept_though_another_reply_follows(after):
    (run,) = runs_in(READER, lines(*streamed(1, "a", "a"), *after))
    assert run.told == [("completion", "aa"), ("completion", "b")]
    assert [one.code for one in run.damages] == ["cut-tail"]
    assert run.damages[0].offset == run.events[0].offset > 0


def test_an_error_ends_a_stream_and_keeps_what_had_come():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    (run,) = runs_in(READER, lines(*streamed(1, "a"), error))
    assert (run.told, run.end.reason) == ([("completion", "a")], EndReason.ERROR)
    assert [one.code for one in run.damages] == ["cut-tail"]
    (run,) = runs_in(READER, lines(*streamed(1, "a"), error, STOP, *streamed(2, "b"), STOP))
    assert run.told == [("completion", "a"), ("completion", "b")]
    (run,) = runs_in(READER, lines(reply(0, said("z")), *streamed(1)[:1], error))
    assert (run.told, run.end.reason) == ([("completion", "z")], EndReason.ERROR)


def test_a_stream_that_breaks_off_before_its_first_block_is_no_end_of_the_reply_before():
    (run,) = runs_in(READER, lines(reply(0, said("z")), *streamed(1)[:1]))
    assert (run.end.reason, [one.code for one in run.damages]) == (EndReason.LOG_TRUNCATED, ["cut-tail"])


def test_events_of_a_stream_without_its_beginning_are_kept():
    _, begin, one, two = streamed(1, "a", "b")
    del two["index"]
    (run,) = runs_in(READER, lines(reply(0, said("z")), begin, one, two, STOP))
    assert run.told == [("completion", "z"), ("completion", "ab")]
    assert len(run.damages) == 1
    (run,) = runs_in(READER, lines(reply(0, said("z")), one, two, STOP))
    assert run.told == [("completion", "z"), ("completion", "ab")]


def test_a_block_whose_type_is_no_text_is_kept_and_stops_nothing():
    events = [
        {"type": "message_start", "message": reply(1)},
        {"type": "content_block_start", "index": 0, "content_block": {"type": []}},
        {"type": "content_block_start", "index": 1, "content_block": said("a")},
        {"type": "message_stop"},
    ]
    (run,) = runs_in(READER, lines(*events))
    assert run.completions[0].text.endswith("\na")
    (run,) = runs_in(READER, reply(1, {"type": {}}, said("a")))
    assert run.completions[0].text.endswith("\na")


def test_very_many_results_of_the_providers_tools_are_each_told():
    n_results = 30_000  # to look each part up among them would take half a minute
    parts = [{"type": "web_search_tool_result", "tool_use_id": str(n), "content": n} for n in range(n_results)]
    (run,) = runs_in(READER, lines(reply(1, said("a")), reply(2, *parts, said("done"))))
    assert run.told[1] == ("completion", "done")
    assert [event.call_id for event in run.events[2:]] == [str(n) for n in range(n_results)]


def test_a_file_without_messages_is_refused():
    with pytest.raises(DamagedRecord):
        list(READER.read(as_source({"a": 1})))
