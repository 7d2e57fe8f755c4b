"""The reader of OpenInference: flat keys, nested attributes, sums of agents, usage of leaves."""

from __future__ import annotations

import json

import pytest

from samework.model.events import Usage
from samework.readers.openinference import READER
from tests.tracelab import runs_in


def span(number, kind, parent=None, **attributes):
    return {
        "name": f"n{number}", "context": {"trace_id": "t", "span_id": f"s{number}"},
        "parent_id": f"s{parent}" if parent else None, "start_time": f"2026-01-01T00:00:0{number}.000000+00:00",
        "attributes": {"openinference.span.kind": kind, **attributes},
    }  # fmt: skip


def message(side, place, role, content=None, **more):
    prefix = f"llm.{side}_messages.{place}.message"
    return {f"{prefix}.role": role, **({f"{prefix}.content": content} if content is not None else {}),
            **{f"{prefix}.{key}": value for key, value in more.items()}}  # fmt: skip


CALL = {
    "tool_calls.0.tool_call.id": "c", "tool_calls.0.tool_call.function.name": "f",
    "tool_calls.0.tool_call.function.arguments": '{"a":  1}',
}  # fmt: skip


def test_messages_calls_and_results_are_read_from_flat_keys():
    first = {**message("input", 0, "user", "u"), **message("output", 0, "assistant", **CALL), "llm.model_name": "m"}
    second = {
        **message("input", 0, "user", "u"), **message("input", 1, "assistant", **CALL),
        **message("input", 2, "tool", "o", tool_call_id="c"), **message("output", 0, "assistant", "done"),
    }  # fmt: skip
    (run,) = runs_in(READER, [span(1, "LLM", **first), span(2, "LLM", **second)])
    assert run.told == [("user", "u"), ("completion", ""), ("observation", "o"), ("completion", "done")]
    assert [(call.arguments, call.exact) for call in run.completions[0].calls] == [('{"a":  1}', True)]
    assert run.start.model == "m"


def test_attributes_may_be_nested_as_phoenix_exports_them():
    given = {
        "name": "n", "context": {"trace_id": "t", "span_id": "s"},
        "attributes": {
            "openinference": {"span": {"kind": "LLM"}},
            "llm": {
                "input_messages": [{"message": {"role": "user", "content": "u"}}],
                "output_messages": [{"message": {"role": "assistant", "content": "a"}}],
                "token_count": {"prompt": 3, "completion": 2, "prompt_details": {"cache_read": 1}},
            },
        },
    }  # fmt: skip
    (run,) = runs_in(READER, [given])
    assert run.told == [("user", "u"), ("completion", "a")]
    assert run.completions[0].usage == Usage(3, 1, None, 2)


def test_sums_of_agents_and_wrappers_are_not_counted():
    counts = {"llm.token_count.prompt": 10, "llm.token_count.completion": 1}
    reply = message("output", 0, "assistant", "a")
    spans = [span(1, "AGENT", **counts), span(2, "LLM", 1, **counts, **reply), span(3, "LLM", 2, **counts, **reply)]
    (run,) = runs_in(READER, spans)
    assert run.tokens == 11


def test_sampling_comes_from_the_parameters_and_tools_from_their_schemas():
    given = {
        "llm.invocation_parameters": '{"temperature": 0.5, "seed": 3, "max_completion_tokens": 9}', "llm.provider": "p",
        "llm.tools.0.tool.json_schema": '{"name": "f"}', **message("output", 0, "assistant", "a"),
    }  # fmt: skip
    (run,) = runs_in(READER, [span(1, "LLM", **given)])
    assert run.facts == {
        "routing.provider": "p", "sampling.temperature": 0.5, "sampling.seed": 3, "sampling.max_tokens": 9,
    }  # fmt: skip
    assert run.told[0] == ("tools", '[{"name":"f"}]')


def test_a_tool_gives_the_result_that_no_prompt_repeats():
    first = {**message("input", 0, "user", "u"), **message("output", 0, "assistant", **CALL)}
    tool = {"tool.name": "f", "tool_call.id": "c", "input.value": '{"a": 1}', "output.value": "o"}
    (run,) = runs_in(READER, [span(1, "LLM", **first), span(2, "TOOL", **tool)])
    assert run.told[-1] == ("observation", "o")


@pytest.mark.shared
def test_a_real_span_has_the_messages_and_tokens_that_it_lists(shared_path):
    path = shared_path("data", "formats", "openinference", "openinference_client_span_tool_calls.json")
    flat = json.loads(path.read_text())
    (run,) = runs_in(READER, path)
    n_messages = len({key.split(".message.")[0] for key in flat if ".message." in key})
    assert len(run.events) == n_messages
    assert run.tokens == flat["llm.token_count.prompt"] + flat["llm.token_count.completion"]
    arguments = [value for key, value in flat.items() if key.endswith("function.arguments")]
    assert [call.arguments for event in run.events for call in event.calls] == arguments
