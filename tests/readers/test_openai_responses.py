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
    assert (run.facts["sampling.temperature"], run.end.reason) == (0.5, EndReason.FINISHED)


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


def test_a_file_without_replies_is_refused():
    with pytest.raises(DamagedRecord):
        list(READER.read(as_source([{"type": "response.created"}])))
