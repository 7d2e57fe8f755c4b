"""The reader of Responses: items, chains, branches, whole inputs, streams."""

from __future__ import annotations

import pytest

from samework.errors import DamagedRecord
from samework.model.events import Usage
from samework.model.words import EndReason
from samework.readers.openai_responses import READER
from tests.tracelab import as_source, lines, runs_in


def said(text):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def called(call_id="c", arguments='{"a":  1}'):
    return {"type": "function_call", "id": "fc", "call_id": call_id, "name": "f", "arguments": arguments}


def answered(call_id="c", output="ok"):
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def reply(number, *items, previous=None, **more):
    return {
        "id": f"r{number}", "object": "response", "model": "m-1", "status": "completed", "output": list(items),
        "previous_response_id": previous, "created_at": number,
        "usage": {
            "input_tokens": 3, "input_tokens_details": {"cached_tokens": 1}, "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 1},
        },
        **more,
    }  # fmt: skip


def call(number, given, *items, previous=None, **more):
    return {"request": {"input": given, "model": "m", **more}, "response": reply(number, *items, previous=previous)}


def test_a_reply_is_one_completion_with_its_items():
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    (run,) = runs_in(READER, reply(1, reasoning, said("a"), called(), instructions="s", temperature=0.5))
    assert run.told == [("system", "s"), ("completion", "a")]
    (event,) = run.completions
    assert [(each.arguments, each.call_id, each.exact) for each in event.calls] == [('{"a":  1}', "c", True)]
    assert (event.reasoning, event.usage) == ("hm", Usage(3, 1, None, 2, 1))
    assert (run.facts["sampling.temperature"], run.end.reason) == (0.5, EndReason.UNRECORDED)


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}], EndReason.UNRECORDED),
        ([{"type": "mcp_approval_request", "id": "a", "name": "f"}], EndReason.UNRECORDED),
        ([{"type": "web_search_call", "id": "w", "status": "completed"}], EndReason.FINISHED),
        ([{"type": "shell_call", "call_id": "c"}, {"type": "shell_call_output", "call_id": "c"}], EndReason.FINISHED),
    ],
)
def test_a_reply_that_waits_for_its_client_is_not_the_end(items, reason):
    assert runs_in(READER, reply(1, *items, said("a")))[0].end.reason is reason


def test_a_reply_that_stands_twice_counts_once():
    first, last = call(1, "go", called()), call(2, [answered()], said("done"), previous="r1")
    (run,) = runs_in(READER, lines(first, first, last))
    assert run.told == [("user", "go"), ("completion", ""), ("observation", "ok"), ("completion", "done")]
    assert [damage.code for damage in run.damages] == ["copied-record"]


def test_hidden_reasoning_is_told_as_hidden():
    hidden = {"type": "reasoning", "summary": [], "encrypted_content": "x"}
    (run,) = runs_in(READER, reply(1, hidden, said("a")))
    assert (run.completions[0].reasoning, run.completions[0].reasoning_hidden) == (None, True)


def test_a_chain_by_id_adds_what_each_request_adds():
    (run,) = runs_in(READER, lines(call(1, "go", called()), call(2, [answered()], said("done"), previous="r1")))
    assert run.told == [("user", "go"), ("completion", ""), ("observation", "ok"), ("completion", "done")]


def test_a_request_that_repeats_its_input_goes_on():
    asked = [{"role": "user", "content": "go"}]
    (run,) = runs_in(READER, [call(1, asked, called()), call(2, [*asked, called(), answered()], said("done"))])
    assert run.told == [("user", "go"), ("completion", ""), ("observation", "ok"), ("completion", "done")]


def test_two_replies_to_one_are_branches():
    first, second = runs_in(
        READER,
        lines(
            call(1, "go", said("a")),
            call(2, "left", said("b"), previous="r1"),
            call(3, "right", said("c"), previous="r1"),
        ),
    )
    assert [text for _, text in first.told] == ["go", "a", "left", "b"]
    assert [text for _, text in second.told] == ["right", "c"]
    assert second.start.parent_native_id == "r1"


def test_conversations_that_share_nothing_are_runs_of_their_own():
    assert len(runs_in(READER, lines(call(1, "p", said("a")), call(2, "q", said("b"))))) == 2


def test_the_last_event_of_a_stream_holds_the_reply():
    created = {"type": "response.created", "response": {**reply(1), "status": "in_progress"}}
    delta = {"type": "response.output_text.delta", "delta": "a"}
    done = {"type": "response.completed", "response": reply(1, said("a"))}
    (run,) = runs_in(READER, lines(created, delta, done))
    assert run.told == [("completion", "a")]
    run = runs_in(READER, lines(created, delta, done, created))[0]
    assert [one.code for one in run.damages] == ["cut-tail"]


def test_a_reply_that_was_cut_or_failed_says_so():
    (run,) = runs_in(
        READER, reply(1, said("a"), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    )
    assert (run.end.reason, run.end.detail) == (EndReason.LIMIT, "max_output_tokens")
    (run,) = runs_in(READER, reply(1, status="failed"))
    assert (run.end.reason, run.completions) == (EndReason.ERROR, [])


def test_what_the_providers_own_tools_answered_is_an_observation():
    image = {"type": "image_generation_call", "id": "i", "result": "AA==", "quality": "high"}
    items = [
        {"type": "code_interpreter_call", "id": "k", "code": "1", "outputs": [{"type": "logs", "logs": "1"}]},
        {"type": "web_search_call", "id": "w", "action": {"query": "q", "sources": [{"url": "u"}]}},
        {"type": "mcp_call", "id": "m", "name": "ask", "arguments": '{"a":  1}', "output": "so"},
        image,
        {"type": "tool_search_call", "id": "t", "call_id": None, "arguments": {"p": 1}},
        {"type": "tool_search_output", "id": "o", "call_id": None, "tools": [{"name": "x"}]},
        {"type": "mcp_list_tools", "id": "l", "tools": []},
        {"type": "file_search_call", "id": "f", "queries": ["q"], "results": None},
    ]
    again = [{"role": "user", "content": "go"}, *items[1:], {"role": "user", "content": "on"}]
    (run,) = runs_in(READER, lines(call(1, [{"role": "user", "content": "go"}], *items), call(2, again, said("so"))))
    assert [(each.name, each.arguments) for each in run.completions[0].calls] == [
        ("code_interpreter_call", '{"code":"1"}'),
        ("web_search_call", '{"action":{"query":"q"}}'),
        ("ask", '{"a":  1}'),
        ("image_generation_call", '{"quality":"high"}'),
        ("tool_search_call", '{"arguments":{"p":1}}'),
        ("file_search_call", '{"queries":["q"]}'),
    ]
    results = [event for event in run.events if event.kind.value == "observation"]
    assert [each.call_id for each in results] == ["k", "w", "m", "i", "t"]
    assert results[3].text.startswith("<image sha256")
    assert [(each.code, each.taints_run) for each in run.damages] == [("unknown-record", False)]


def test_a_reply_that_was_queued_counts_when_it_has_come():
    queued = reply(1, status="queued")
    asked = {"request": {"input": "go"}, "response": {**queued, "usage": None}}
    (run,) = runs_in(READER, lines(asked, {"response": reply(1, said("a"))}))
    assert run.told == [("user", "go"), ("completion", "a")]
    (run,) = runs_in(READER, lines(asked))
    assert (run.told, run.end.reason) == ([("user", "go")], EndReason.UNRECORDED)


def test_a_request_that_was_refused_is_a_call_without_a_reply():
    refused = {"request": {"input": "go", "model": "m"}, "response": {"error": {"message": "no", "code": "x"}}}
    (run,) = runs_in(READER, lines(call(1, "ask", said("a")), refused))[1:]
    assert (run.told, run.end.reason, run.end.detail) == ([("user", "go")], EndReason.ERROR, "no")


def test_a_conversation_that_the_provider_keeps_is_one_run():
    (run,) = runs_in(
        READER,
        lines(
            call(1, "go", called(), conversation="conv"),
            call(2, [answered()], said("done"), conversation={"id": "conv"}),
        ),
    )
    assert run.told == [("user", "go"), ("completion", ""), ("observation", "ok"), ("completion", "done")]


def test_tools_that_a_developer_adds_are_told_and_a_long_request_is_recognised():
    added = {"type": "additional_tools", "role": "developer", "tools": [{"name": "x"}]}
    source = as_source(lines(call(1, [{"role": "user", "content": "x" * 70_000}, added], said("a"))))
    assert READER.sniff(source.head(), source) > 0.9
    (run,) = runs_in(READER, lines(call(1, [{"role": "user", "content": "go"}, added], said("a"))))
    assert run.told[1][0] == "system"
    assert run.told[1][1].startswith("<additional_tools sha256")


def test_server_sent_events_are_a_stream():
    begun = {"type": "response.created", "response": reply(1, status="in_progress")}
    done = {"type": "response.completed", "response": reply(1, said("a"))}
    sent = b": hello\n\n" + b"".join(b"data: %s\n\n" % lines(one).strip() for one in (begun, done)) + b"data: [DONE]\n"
    source = as_source(sent)
    assert READER.sniff(source.head(), source) > 0.9
    (run,) = runs_in(READER, sent + b"nonsense\ndata: 5\ndata: {\n")
    assert run.told == [("completion", "a")]
    assert [one.offset - len(sent) for one in run.damages] == [0, 9, 17]


def begun(number, *pieces, **more):
    """Events of a reply up to its last piece of text."""
    return [
        {"type": "response.created", "response": {**reply(number), "status": "in_progress", "usage": None, **more}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**said(""), "content": []}},
        *({"type": "response.output_text.delta", "output_index": 0, "delta": piece} for piece in pieces),
    ]


def ended(number, text, **more):
    return {"type": "response.completed", "response": reply(number, said(text), **more)}


def test_a_stream_that_was_cut_is_kept_though_another_follows():
    for after in ([*begun(2, "b"), ended(2, "b")], [ended(2, "b")], [reply(2, said("b"))]):
        first, second = runs_in(READER, lines(*begun(1, "a", "a"), *after))
        assert (first.told, first.start.native_id) == ([("completion", "aa")], "r1")
        assert ([one.code for one in first.damages], first.end.reason) == (["cut-tail"], EndReason.LOG_TRUNCATED)
        assert (second.told, second.damages) == ([("completion", "b")], [])
    (run,) = runs_in(READER, lines(*begun(1, "a"), *begun(2, "b"), ended(2, "b", previous="r1")))
    assert run.told == [("completion", "a"), ("completion", "b")]
    assert [one.code for one in run.damages] == ["cut-tail"]


def test_streams_side_by_side_come_whole():
    runs = runs_in(READER, lines(*begun(1, "a"), *begun(2, "b"), ended(1, "aa"), ended(2, "bb")))
    assert [run.told for run in runs] == [[("completion", "aa")], [("completion", "bb")]]
    assert [run.damages for run in runs] == [[], []]


def test_a_stream_that_begins_again_and_is_cut_again_takes_nothing_away():
    (run,) = runs_in(READER, lines(*begun(1, "a"), ended(1, "abc"), *begun(1, "ab"), *begun(1, "a")))
    assert (run.told, [one.code for one in run.damages]) == ([("completion", "abc")], ["cut-tail"])


def test_an_error_ends_a_stream_and_keeps_what_had_come():
    error = {"type": "error", "code": "server_error", "message": "busy"}
    (run,) = runs_in(READER, lines(*begun(1, "a"), error))
    assert (run.told, run.end.reason, run.end.detail) == ([("completion", "a")], EndReason.ERROR, "busy")
    assert [one.code for one in run.damages] == ["cut-tail"]
    (run,) = runs_in(READER, lines(*begun(1), error))
    assert (run.end.reason, run.end.detail) == (EndReason.ERROR, "busy")


def test_every_kind_of_piece_that_had_come_is_kept():
    pieces = [
        ("reasoning_summary_text.delta", 0, {"delta": "h"}),
        ("reasoning_summary_text.done", 0, {"text": "hm"}),
        ("output_text.delta", 1, {"delta": "a", "content_index": 0}),
        ("refusal.delta", 1, {"delta": "no", "content_index": 1}),
        ("function_call_arguments.delta", 2, {"delta": '{"a":'}),
        ("function_call_arguments.delta", 2, {"delta": "  1"}),
        ("custom_tool_call_input.delta", 3, {"delta": "x"}),
    ]
    events = [{"type": f"response.{kind}", "output_index": place, **more} for kind, place, more in pieces]
    item = {"type": "response.output_item.added", "output_index": 2, "item": called(arguments="")}
    done = {"type": "response.output_item.done", "output_index": 4, "item": called("d", "{}")}
    (run,) = runs_in(READER, lines(begun(1)[0], item, *events, done))
    (event,) = run.completions
    assert (event.reasoning, event.text) == ("hm", "a\nno")
    assert [(each.arguments, each.call_id) for each in event.calls] == [('{"a":  1', "c"), ("x", None), ("{}", "d")]


def test_a_refused_request_that_is_asked_again_is_a_failed_call_of_the_same_run():
    asked = [{"role": "user", "content": "a"}]
    later = [*asked, said("A"), {"role": "user", "content": "b"}]
    refused = {"request": {"input": later}, "response": {"error": {"message": "429"}}}
    last = [*later, said("B"), {"role": "user", "content": "c"}]
    calls = (call(1, asked, said("A")), refused, refused, call(2, later, said("B")), call(3, last, said("C")))
    (run,) = runs_in(READER, lines(*calls))
    assert [text for _, text in run.told] == ["a", "A", "b", "B", "c", "C"]
    assert run.end.reason is EndReason.FINISHED
    assert [damage.reason.split(" and ")[0] for damage in run.damages] == ["2 model calls failed"]
    assert len(runs_in(READER, lines(call(1, asked, said("A")), call(2, asked, said("A"))))) == 2


def test_a_refused_request_of_a_chain_is_told_once():
    refused = {"request": {"input": "b", "previous_response_id": "r1"}, "response": {"error": {"message": "429"}}}
    calls = (call(1, "a", said("A")), refused, call(2, "b", said("B"), previous="r1"))
    (run,) = runs_in(READER, lines(*calls))
    assert [text for _, text in run.told] == ["a", "A", "b", "B"]


def test_very_many_types_of_items_are_each_told():
    n_types = 50_000  # to count each by itself would take a minute
    items = [{"type": f"t{number}"} for number in range(n_types)]
    (run,) = runs_in(READER, lines(reply(1, said("a")), reply(2, *items, previous="r1")))
    assert len(run.damages) == n_types
    assert run.damages[0].reason.startswith("1 items of the type t0,")


def test_very_many_records_of_one_reply_are_read():
    n_records = 10_000
    (run, *_) = runs_in(READER, lines(*[{**reply(1, said("a")), "usage": None}] * n_records))
    assert run.told[0] == ("completion", "a")


def test_very_many_damages_are_not_repeated_in_full_by_each_of_very_many_runs():
    n_each = 3_000
    first, *others = runs_in(READER, lines(*[reply(n, said("a")) for n in range(n_each)], *[{"odd": 1}] * n_each))
    assert len(first.damages) == n_each
    assert {len(run.damages) for run in others} == {21}
    assert others[0].damages[-1].reason.startswith("2980 more places")
    assert all(each.taints_run for each in others[0].damages)


def test_a_file_without_replies_is_refused():
    with pytest.raises(DamagedRecord):
        list(READER.read(as_source([{"type": "response.created"}])))
