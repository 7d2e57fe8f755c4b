"""The reader of Langfuse exports: generations, tools, sessions, and cached tokens that are counted apart."""

from __future__ import annotations

import pytest

from samework.errors import DamagedRecord
from samework.model.events import Usage
from samework.readers.langfuse import READER
from tests.tracelab import as_source, lines, runs_in

ASKED = [{"role": "user", "content": "go"}]


def observation(number, kind="GENERATION", parent=None, trace="t", **more):
    return {
        "id": f"o{number}", "traceId": trace, "type": kind, "name": f"n{number}", "parentObservationId": parent,
        "startTime": f"2026-01-01T00:00:0{number}.000Z", "modelParameters": {"temperature": 0}, **more,
    }  # fmt: skip


def trace(*observations, **more):
    return {"id": "t", "projectId": "p", "observations": list(observations), **more}


def test_generations_and_tools_of_a_trace_are_one_run():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    called = {"role": "assistant", "content": None, "tool_calls": [call]}
    later = [*ASKED, called, {"role": "tool", "tool_call_id": "c", "content": "ok"}]
    (run,) = runs_in(
        READER,
        trace(
            observation(1, model="m", input={"messages": ASKED}, output=called),
            {**observation(2, "TOOL", input={"a": 1}, output="ok"), "name": "f"},
            observation(3, model="m", input=later, output={"role": "assistant", "content": "done"}),
            observation(4, "EVENT"),
        ),
    )
    assert run.told == [("user", "go"), ("completion", ""), ("observation", "ok"), ("completion", "done")]
    assert run.start.model == "m"
    assert run.facts["sampling.temperature"] == 0


def test_cached_tokens_are_put_back_into_the_prompt():
    details = {"input": 3, "input_cached_tokens": 10, "output": 2, "output_reasoning_tokens": 1, "total": 16}
    (run,) = runs_in(READER, trace(observation(1, input=ASKED, output="a", usageDetails=details)))
    assert run.completions[0].usage == Usage(13, 10, None, 2, 1)


def test_usage_of_older_exports_is_read():
    usage = {"input": 3, "output": 2, "total": 5, "unit": "TOKENS"}
    (run,) = runs_in(READER, trace(observation(1, input=ASKED, output="a", usage=usage)))
    assert run.tokens == 5


def test_observations_alone_are_sorted_by_their_traces():
    first, second = runs_in(
        READER, lines(observation(1, input="p", output="a"), observation(2, trace="u", input="q", output="b"))
    )
    assert (first.start.native_id, second.start.native_id) == ("t", "u")
    assert (first.told[0], second.told[0]) == (("user", "p"), ("user", "q"))


def test_traces_of_one_session_are_one_run():
    (run,) = runs_in(
        READER,
        [
            trace(observation(1, input="p", output="a"), sessionId="x"),
            {**trace(observation(2, trace="u", input="q", output="b"), sessionId="x"), "id": "u"},
        ],
    )
    assert run.start.native_id == "x"
    assert len(run.completions) == 2


def test_a_generation_without_an_output_is_not_an_empty_reply():
    (run,) = runs_in(READER, trace(observation(1, input=ASKED, output=None)))
    assert [one.code for one in run.damages] == ["content-unrecorded"]
    (run,) = runs_in(READER, trace(observation(1, input=ASKED, output=None, level="ERROR")))
    assert (run.damages, run.end.reason) == ([], "error")


def test_an_export_without_models_is_refused():
    with pytest.raises(DamagedRecord):
        list(READER.read(as_source(trace(observation(1, "SPAN")))))
