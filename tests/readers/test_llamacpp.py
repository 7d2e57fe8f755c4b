"""The reader of llama.cpp's completions: ids, margins, reuse, chains of prompts, streams."""

from __future__ import annotations

import math

import pytest

from samework.errors import DamagedRecord
from samework.model.events import Usage
from samework.model.words import EndReason
from samework.readers.llamacpp import READER
from tests.tracelab import as_source, lines, runs_in


def token(number, gap=1.0):
    tops = [{"id": number, "token": "x", "logprob": -0.5}, {"id": number + 100, "token": "y", "logprob": -0.5 - gap}]
    return {"id": number, "token": "x", "logprob": -0.5, "top_logprobs": tops}


def reply(prompt, content, *ids, **more):
    return {
        "content": content,
        "tokens": list(ids),
        "prompt": prompt,
        "stop": True,
        "stop_type": "eos",
        "model": "/m/g.gguf",
        "tokens_evaluated": 5,
        "tokens_predicted": len(ids),
        "tokens_cached": 9,
        "timings": {"cache_n": 2, "prompt_n": 3, "predicted_n": len(ids)},
        "generation_settings": {"temperature": 0.0, "seed": 7},
        **more,
    }


def test_a_reply_has_ids_and_raw_text():
    (run,) = runs_in(READER, reply("p", "ab", 1, 2))
    assert run.told == [("user", "p"), ("completion", "ab")]
    (event,) = run.completions
    assert (event.token_ids, event.is_raw_text, run.start.model) == ((1, 2), True, "g.gguf")
    assert (run.facts["sampling.temperature"], run.facts["sampling.seed"]) == (0.0, 7)
    assert run.end.reason is EndReason.FINISHED


def test_a_call_that_failed_is_the_end_where_it_is_the_last_and_else_a_finding():
    failed = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
    (run,) = runs_in(READER, lines(reply("p", "ab", 1, 2), failed))
    assert (run.end.reason, run.end.detail, run.damages) == (EndReason.ERROR, "Loading model", [])
    (run,) = runs_in(READER, lines(reply("p", "ab", 1, 2), failed, reply("pab?", "c", 3)))
    assert (run.end.reason, [damage.code for damage in run.damages]) == (EndReason.FINISHED, ["failed-call"])


def test_reuse_is_what_was_reused_and_not_how_full_the_slot_was():
    (run,) = runs_in(READER, reply("p", "ab", 1, 2))
    assert run.completions[0].usage == Usage(5, 2, None, 2)
    bare = {key: value for key, value in reply("p", "ab", 1).items() if key != "timings"}
    assert runs_in(READER, bare)[0].completions[0].usage.cached_tokens is None


def test_margins_and_the_two_likeliest_come_from_the_probabilities():
    given = reply("p", "ab", 1, 2, completion_probabilities=[token(1, 0.25), token(2, 2.0)])
    (event,) = runs_in(READER, given)[0].completions
    assert event.margins is not None
    assert all(math.isclose(*pair) for pair in zip(event.margins, (0.25, 2.0), strict=True))
    assert (event.margin_unit, event.top2) == ("nats", ((1, 101), (2, 102)))


def test_a_prompt_that_goes_on_adds_its_end_and_another_begins_a_run():
    replies = [reply("p", "ab", 1), reply("pab and", "c", 2), reply("q", "d", 3)]
    first, second = runs_in(READER, lines(*replies))
    assert first.told == [("user", "p"), ("completion", "ab"), ("user", " and"), ("completion", "c")]
    assert second.told == [("user", "q"), ("completion", "d")]


def test_a_prompt_of_ids_is_kept_as_ids():
    given = {"request": {"prompt": [4, 5], "cache_prompt": False}, "response": {**reply("", "a", 1), "prompt": None}}
    (run,) = runs_in(READER, given)
    assert run.completions[0].prompt_token_ids == (4, 5)
    assert run.facts["cache.attention_reuse.enabled_requested"] is False


def test_a_setting_is_that_of_the_server_and_else_that_of_the_request():
    settings = {"temperature": 0.5, "seed": math.inf, "top_k": None}
    request = {"temperature": 1.0, "seed": 7, "top_k": 40, "min_p": math.nan}
    replies = [
        {"request": request, "response": reply(prompt, "a", generation_settings=settings)} for prompt in ("p", "pa")
    ]
    _, run = runs_in(READER, lines(*replies))  # what is odd about the first line comes before its run
    assert {name: value for name, value in run.facts.items() if name.startswith("sampling.")} == {
        "sampling.temperature": 0.5,
        "sampling.seed": 7,
        "sampling.top_k": 40,
    }


def test_chunks_with_timings_of_each_token_are_chunks_all_the_same():
    """As `timings_per_token` has them; older servers wrote no ids, and several prompts are answered in turns."""
    timed = [
        {"index": 0, "content": text, "tokens": [number], "stop": False, "timings": {"predicted_n": number}}
        for number, text in ((1, "a"), (2, "b"))
    ]
    (run,) = runs_in(READER, lines(*timed, reply("p", "")))
    assert run.told == [("user", "p"), ("completion", "ab")]
    assert run.completions[0].token_ids == (1, 2)
    old = [{"content": text, "slot_id": 0, "multimodal": False, "stop": False} for text in "ab"]
    (run,) = runs_in(READER, lines(*old, reply("p", "")))
    assert (run.told[1], run.damages) == (("completion", "ab"), [])
    turns = [{"index": number, "content": text, "tokens": [], "stop": False} for number, text in ((0, "a"), (1, "b"))]
    runs = runs_in(READER, lines(*turns, *turns, reply("p", "", index=0), reply("q", "", index=1)))
    assert [one.told for one in runs] == [
        [("user", "p"), ("completion", "aa")],
        [("user", "q"), ("completion", "bb")],
    ]


def test_a_prompt_that_was_sent_as_ids_keeps_them():
    (run,) = runs_in(READER, {"request": {"prompt": [3, 4]}, "response": reply("p", "a", 1)})
    assert (run.told[0], run.completions[0].prompt_token_ids) == (("user", "p"), (3, 4))


def test_chunks_of_a_stream_are_one_reply():
    chunks = [
        {"content": "a", "tokens": [1], "stop": False, "completion_probabilities": [token(1)]},
        {"content": "b", "tokens": [2], "stop": False, "completion_probabilities": [token(2)]},
        reply("p", ""),
    ]
    (run,) = runs_in(READER, lines(*chunks))
    assert (run.told[-1], run.completions[0].token_ids) == (("completion", "ab"), (1, 2))
    (run,) = runs_in(READER, lines(reply("p", "a", 1), *chunks[:2]))
    assert [one.code for one in run.damages] == ["cut-tail"]


def chunk(text, n_made=None, **more):
    counted = {} if n_made is None else {"tokens_predicted": n_made, "tokens_evaluated": 4}
    return {"content": text, "tokens": [7], "stop": False, **counted, **more}


def test_a_record_with_a_prompt_is_no_chunk():
    whole = [
        {"content": "x", "stop": False, "prompt": "p", "timings": {}},
        {"content": "y", "stop": True, "prompt": "q", "tokens_predicted": 1},
    ]
    first, second = runs_in(READER, lines(*whole))
    assert first.told == [("user", "p"), ("completion", "x")]
    assert second.told == [("user", "q"), ("completion", "y")]
    assert (first.damages, second.damages) == ([], [])
    cut, *rest = runs_in(READER, lines(chunk("a", 1), *whole))
    assert (cut.told, [one.code for one in cut.damages]) == ([("completion", "a")], ["cut-tail"])
    assert [one.told for one in rest] == [first.told, second.told]


@pytest.mark.parametrize("n_before", [1, 2])
@pytest.mark.parametrize("is_timed", [False, True])
def test_a_cut_stream_is_not_glued_to_the_next(n_before, is_timed):
    def counted(text, number):
        return chunk(text, timings={"predicted_n": number}) if is_timed else chunk(text, number)

    before = [counted(text, number + 1) for number, text in enumerate("ab"[:n_before])]
    after = [counted("c", 1), counted("d", 2), reply("p", "", tokens_predicted=2)]
    cut, whole = runs_in(READER, lines(*before, *after))
    assert (cut.told, cut.end.reason) == ([("completion", "ab"[:n_before])], EndReason.LOG_TRUNCATED)
    assert [(one.code, one.offset) for one in cut.damages] == [("cut-tail", 0)]
    assert (whole.told, whole.damages) == ([("user", "p"), ("completion", "cd")], [])
    assert whole.completions[0].token_ids == (7, 7)


def test_a_cut_stream_is_not_the_beginning_of_a_reply_with_fewer_tokens():
    cut, whole = runs_in(READER, lines(chunk("a", 1), chunk("b", 2), reply("p", "c", 1)))
    assert (cut.told, whole.told) == ([("completion", "ab")], [("user", "p"), ("completion", "c")])


def test_chunks_of_several_tokens_and_of_none_are_of_one_stream():
    """A draft model brings several at once; while a prompt is read there are none."""
    given = [
        chunk("", 0),
        chunk("", 0),
        chunk("a", 1),
        chunk("b", 4),
        chunk("c", 4),
        reply("p", "", tokens_predicted=4),
    ]
    (run,) = runs_in(READER, lines(*given))
    assert (run.told, run.damages) == ([("user", "p"), ("completion", "abc")], [])
    (run,) = runs_in(READER, lines(chunk("a", 1), reply("p", "", tokens_predicted=1)))
    assert (run.told, run.damages) == ([("user", "p"), ("completion", "a")], [])


def test_chunks_beside_their_requests_are_sorted_by_them():
    given = [
        {"request": {"prompt": "p"}, "response": chunk("a")},
        {"request": {"prompt": "q"}, "response": chunk("b")},
        {"request": {"prompt": "q"}, "response": reply("q", "")},
    ]
    cut, whole = runs_in(READER, lines(*given))
    assert (cut.told, [one.code for one in cut.damages]) == ([("user", "p"), ("completion", "a")], ["cut-tail"])
    assert (whole.told, whole.damages) == ([("user", "q"), ("completion", "b")], [])


def test_a_prompt_that_is_answered_does_not_end_the_streams_of_the_others():
    turns = [chunk(text, 1, index=number) for number, text in enumerate("abc")]
    ends = [reply(text, "", index=number, tokens_predicted=1) for number, text in enumerate("pqr")]
    runs = runs_in(READER, lines(*turns, *ends))
    assert [one.told for one in runs] == [
        [("user", asked), ("completion", text)] for asked, text in zip("pqr", "abc", strict=True)
    ]
    assert not any(one.damages for one in runs)


def test_streams_that_differ_in_a_chunk_alone_are_two_runs():
    end = reply("p", "", tokens_predicted=1)
    _, one, other = runs_in(READER, lines(reply("q", "z", 1), chunk("a", 1), end, chunk("b", 1), end))
    assert one.start.content_sha256 != other.start.content_sha256


@pytest.mark.parametrize(
    ("word", "reason"), [("limit", EndReason.LIMIT), ("word", EndReason.FINISHED), (None, EndReason.UNRECORDED)]
)
def test_ends_have_their_reasons(word, reason):
    assert runs_in(READER, reply("p", "a", 1, stop_type=word))[0].end.reason is reason
    if word is not None:
        older = {**reply("p", "a", 1, stop_type=None), f"stopped_{word}": True}
        assert runs_in(READER, older)[0].end.reason is reason


def test_a_file_without_replies_is_refused():
    with pytest.raises(DamagedRecord):
        list(READER.read(as_source({"a": 1})))
