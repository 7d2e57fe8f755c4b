"""The reader of LangSmith runs: batches of post and patch, messages of LangChain, threads."""

from __future__ import annotations

import json

import pytest

from samework.errors import DamagedRecord
from samework.model.events import Usage
from samework.readers.langsmith import READER
from tests.tracelab import as_source, lines, runs_in


def step(number, kind="llm", parent=None, trace="1", **more):
    return {
        "id": str(number), "trace_id": trace, "parent_run_id": parent, "run_type": kind, "name": f"n{number}",
        "dotted_order": f"2026010{number}", "start_time": f"2026-01-0{number}T00:00:00", "inputs": {}, **more,
    }  # fmt: skip


def chain_message(kind, content, **more):
    return {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", f"{kind}Message"],
            "kwargs": {"content": content, **more}}  # fmt: skip


def generation(message):
    return {"generations": [[{"text": "", "message": message, "generation_info": {"finish_reason": "stop"}}]]}


def test_a_run_of_a_batch_is_what_was_posted_with_what_was_patched():
    posted = step(1, inputs={"messages": [{"role": "user", "content": "u"}], "model": "m"})
    reply = {"model": "m-1", "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "a"}}]}
    patched = {"id": "1", "outputs": {**reply, "usage_metadata": {"input_tokens": 3, "output_tokens": 2}}}
    (run,) = runs_in(READER, {"post": [posted], "patch": [patched]})
    assert run.told == [("user", "u"), ("completion", "a")]
    assert run.tokens == 5
    assert (run.facts["model.id"], run.end.detail) == ("m-1", "stop")


def test_a_patch_without_an_id_belongs_to_the_run_at_its_place():
    own = "dc34609e-3eeb-459d-bc2a-6fedb01d2e6e"
    posted = {**step(1, inputs={"messages": [{"role": "user", "content": "u"}]}), "id": own, "trace_id": own}
    patched = {
        "dotted_order": f"20241013T070537170001Z{own}",
        "outputs": {"choices": [{"message": {"role": "assistant", "content": "a"}}]},
    }
    (run,) = runs_in(READER, {"post": [posted], "patch": [patched]})
    assert run.told == [("user", "u"), ("completion", "a")]


def test_messages_of_langchain_are_read_with_their_calls():
    call = {"id": "c", "name": "f", "args": {"a": 1}, "type": "tool_call"}
    asked = [chain_message("System", "s"), chain_message("Human", "u")]
    called = chain_message(
        "AI",
        "",
        tool_calls=[call],
        usage_metadata={"input_tokens": 3, "output_tokens": 2, "input_token_details": {"cache_read": 1}},
    )
    later = [*asked, called, chain_message("Tool", "ok", tool_call_id="c")]
    used = {"inputs": {"input": "{'a': 1}"}, "outputs": {"output": chain_message("Tool", "ok", tool_call_id="c")}}
    steps = [
        step(1, "chain"),
        step(2, parent="1", inputs={"messages": [asked]}, outputs=generation(called)),
        step(3, "tool", parent="1", **used),
        step(4, parent="1", inputs={"messages": [later]}, outputs=generation(chain_message("AI", "done"))),
    ]  # fmt: skip
    (run,) = runs_in(READER, lines(*steps))
    assert run.told == [
        ("system", "s"),
        ("user", "u"),
        ("completion", ""),
        ("observation", "ok"),
        ("completion", "done"),
    ]
    assert [(each.name, each.arguments, each.exact) for each in run.completions[0].calls] == [("f", '{"a":1}', False)]
    assert run.completions[0].usage == Usage(3, 1, None, 2)


def test_arguments_in_a_providers_reply_are_the_models_own():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":  1}'}}
    choice = {"finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": [call]}}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
    asked = {"messages": [{"role": "user", "content": "u"}]}
    (run,) = runs_in(READER, [step(1, inputs=asked, outputs={"choices": [choice], "usage": usage})])
    assert [(each.arguments, each.exact) for each in run.completions[0].calls] == [('{"a":  1}', True)]
    assert run.completions[0].usage.cached_tokens == 1


def test_traces_of_one_thread_are_one_run():
    extra = {"metadata": {"thread_id": "x", "ls_model_name": "m", "ls_temperature": 0}}
    reply = {"choices": [{"message": {"role": "assistant", "content": "a"}}]}
    (run,) = runs_in(READER, lines(step(1, extra=extra, outputs=reply), step(2, trace="2", extra=extra, outputs=reply)))
    assert (run.start.native_id, len(run.completions)) == ("x", 2)
    assert run.facts["sampling.temperature"] == 0


def test_a_patch_whose_beginning_was_not_recorded_is_damage():
    (run,) = runs_in(READER, {"post": [step(1, outputs={"output": "a"})], "patch": [{"id": "9", "outputs": {}}]})
    assert [one.taints_run for one in run.damages] == [True]


def test_a_run_that_failed_made_no_reply():
    (run,) = runs_in(READER, [step(1, error="boom", inputs={"messages": [{"role": "user", "content": "u"}]})])
    assert (run.told, run.end.reason, run.damages) == ([("user", "u")], "error", [])


def test_runs_without_a_model_are_refused():
    with pytest.raises(DamagedRecord):
        list(READER.read(as_source([step(1, "chain")])))


@pytest.mark.shared
@pytest.mark.parametrize("name", ["default", "reasoning", "stream"])
def test_real_batches_have_the_tokens_and_messages_that_they_state(shared_path, name):
    path = shared_path("data", "formats", "langsmith", f"langsmith_js_wrap_openai_{name}.json")
    given = json.loads(path.read_text())
    (run,) = runs_in(READER, path)
    usage = given["patch"][0]["outputs"]["usage_metadata"]
    assert run.tokens == usage["total_tokens"]
    assert run.completions[-1].usage.reasoning_tokens == usage["output_token_details"]["reasoning"]
    assert len(run.events) == len(given["post"][0]["inputs"]["messages"]) + 1
    assert run.events[-1].text == given["patch"][0]["outputs"]["choices"][0]["message"]["content"]
