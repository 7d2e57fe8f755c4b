"""Token ids and reuse as vLLM, SGLang and llama.cpp add them to chat completions."""

from __future__ import annotations

import pytest

from samework.model.events import Usage
from samework.readers.openai_chat import READER
from tests.tracelab import runs_in


def completion(choice=None, usage=None, **more):
    message = {"role": "assistant", "content": "ab"}
    return {
        "object": "chat.completion",
        "model": "m",
        "choices": [{"message": message, "finish_reason": "stop", **(choice or {})}],
        **({"usage": usage} if usage else {}),
        **more,
    }


def named(*ids):
    return {
        "content": [
            {
                "token": f"token_id:{number}",
                "top_logprobs": [
                    {"token": f"token_id:{number}", "logprob": -0.1},
                    {"token": f"token_id:{number + 9}", "logprob": -1.1},
                ],
            }
            for number in ids
        ]
    }


@pytest.mark.parametrize(
    "given",
    [
        completion({"token_ids": [1, 2]}),
        completion({"logprobs": named(1, 2)}),
        completion({"meta_info": {"output_token_logprobs": [[-0.1, 1, "a"], [-0.2, 2, "b"]]}}),
        completion({"meta_info": {"output_ids": [1, 2]}}),
        completion(__verbose={"content": "ab", "tokens": [1, 2]}),
    ],
)
def test_ids_of_the_reply_are_found_where_each_engine_puts_them(given):
    assert runs_in(READER, given)[0].completions[0].token_ids == (1, 2)


@pytest.mark.parametrize("given", [completion(prompt_token_ids=[7, 8]), completion({"prompt_token_ids": [7, 8]})])
def test_ids_of_the_prompt_are_found(given):
    assert runs_in(READER, given)[0].completions[0].prompt_token_ids == (7, 8)


def test_tokens_named_by_id_give_the_two_likeliest():
    (event,) = runs_in(READER, completion({"logprobs": named(1, 2)}))[0].completions
    assert event.top2 == ((1, 10), (2, 11))


def test_tokens_named_by_text_make_no_ids():
    logprobs = {"content": [{"token": "a", "top_logprobs": []}, {"token": "token_id:2", "top_logprobs": []}]}
    assert runs_in(READER, completion({"logprobs": logprobs}))[0].completions[0].token_ids is None


def test_reuse_comes_from_timings_or_meta_where_the_usage_is_silent():
    plain = {"prompt_tokens": 5, "completion_tokens": 2}
    timings = {"cache_n": 3, "prompt_n": 2, "predicted_n": 2}
    for given in (completion(usage=plain, timings=timings), completion(timings=timings)):
        assert runs_in(READER, given)[0].completions[0].usage == Usage(5, 3, None, 2)
    meta = {"meta_info": {"cached_tokens": 4, "prompt_tokens": 5, "completion_tokens": 2}}
    assert runs_in(READER, completion(meta))[0].completions[0].usage == Usage(5, 4, None, 2)


def test_reuse_that_nobody_recorded_is_unknown_and_not_zero():
    plain = {"prompt_tokens": 5, "completion_tokens": 2}
    assert runs_in(READER, completion(usage=plain))[0].completions[0].usage.cached_tokens is None
    told = {**plain, "prompt_tokens_details": {"cached_tokens": 1}}
    assert runs_in(READER, completion(usage=told, timings={"cache_n": 3}))[0].completions[0].usage.cached_tokens == 1


def test_how_full_a_slot_was_is_no_reuse():
    assert (
        runs_in(READER, completion(usage={"prompt_tokens": 5}, tokens_cached=9))[0].completions[0].usage.cached_tokens
        is None
    )


def test_a_request_for_the_prompt_cache_is_a_fact():
    given = {
        "request": {"messages": [{"role": "user", "content": "u"}], "cache_prompt": False},
        "response": completion(),
    }
    assert runs_in(READER, given)[0].facts["cache.attention_reuse.enabled_requested"] is False
