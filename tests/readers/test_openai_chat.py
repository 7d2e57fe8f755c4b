"""The reader of chat completions: replies, wrappers, messages; ids and margins where a server gave them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samework.decode.source import BytesSource, FileSource
from samework.errors import InputError
from samework.model.events import Event, ToolCall, Usage
from samework.model.records import Damage, ManifestFact, RunEnd, RunStart
from samework.model.words import Absence, EndReason, EventKind, FieldSource
from samework.readers.openai_chat import READER


def read(data: bytes) -> list[object]:
    return list(READER.read(BytesSource("chat.json", data)))


def document(value: object) -> list[object]:
    return read(json.dumps(value, indent=1).encode())


def json_lines(*values: object) -> list[object]:
    return read(b"".join(json.dumps(value).encode() + b"\n" for value in values))


def events(records: list[object]) -> list[Event]:
    return [record for record in records if isinstance(record, Event)]


def shapes(records: list[object]) -> list[tuple[str, str]]:
    return [(event.kind.value, event.text) for event in events(records)]


def facts(records: list[object]) -> dict[str, object]:
    return {record.field: record.value for record in records if isinstance(record, ManifestFact)}


def message(role: str, content: object, **more: object) -> dict[str, object]:
    return {"role": role, "content": content, **more}


def reply(content: object = "hi", choice: dict[str, object] | None = None, **more: object) -> dict[str, object]:
    made = {"index": 0, "finish_reason": "stop", "message": message("assistant", content), **(choice or {})}
    return {"object": "chat.completion", "id": "x", "model": "m", "choices": [made], **more}


def called(call_id: str | None, arguments: object = "{}") -> dict[str, object]:
    call = {"type": "function", "function": {"name": "t", "arguments": arguments}}
    return message("assistant", None, tool_calls=[call | ({"id": call_id} if call_id else {})])


@pytest.mark.parametrize("name", ["litellm_haiku_completion.json", "openai_nano_completion.json"])
def test_wrapped_replies_of_a_gateway_are_one_run_each(shared_path, name):
    path = shared_path("data", "formats", "openai-chat", name)
    source = FileSource(path)
    plain = json.loads(path.read_bytes())
    assert READER.sniff(source.head(), source) == 0.9
    records = list(READER.read(source))
    texts = [one["content"] for one in plain["messages"]] + [plain["response"]["choices"][0]["message"]["content"]]
    assert shapes(records) == list(zip(["system", "user", "completion"], texts, strict=True))
    usage = plain["response"]["usage"]
    assert events(records)[-1].usage == Usage(usage["prompt_tokens"], completion_tokens=usage["completion_tokens"])
    assert facts(records)["model.backing"] == plain["backing_model"]
    assert records[-1] == RunEnd(EndReason.FINISHED, "stop")
    assert not [record for record in records if isinstance(record, ManifestFact) and record.absence]


def test_logs_of_single_calls_keep_every_message_and_call(shared_path):
    paths = sorted(shared_path("data", "formats", "openhands-v1-llmlog").iterdir())
    for path in paths:
        source = FileSource(path)
        assert READER.sniff(source.head(), source) == 0.9, path.name
        plain = json.loads(path.read_bytes())
        records = list(READER.read(source))
        assert not [record for record in records if isinstance(record, Damage)]
        spoken = [event for event in events(records) if event.kind is not EventKind.TOOLS]
        assert len(spoken) == len(plain["messages"]) + 1
        said = [*plain["messages"], plain["response"]["choices"][0]["message"]]
        given = [call["function"]["arguments"] for one in said for call in one.get("tool_calls") or []]
        assert [call.arguments for event in spoken for call in event.calls] == given
        usage = spoken[-1].usage
        assert usage.prompt_tokens == plain["response"]["usage"]["prompt_tokens"]


def test_successive_logs_of_one_session_are_one_run(shared_path):
    folder = shared_path("data", "formats", "openhands-v1-llmlog")
    logs = [json.loads(path.read_bytes()) for path in sorted(folder.glob("llm-logs*"))]
    records = json_lines(*logs)
    assert len([record for record in records if isinstance(record, RunStart)]) == 1
    completions = [event for event in events(records) if event.kind is EventKind.COMPLETION]
    assert len([event for event in completions if event.usage]) == len(logs)
    assert not [event for event in events(records) if event.kind is EventKind.CONTEXT_EDIT]
    assert len(completions) == len(logs)


GO = message("user", "go")
FAILED = {"request": {"messages": [GO]}, "response": {"error": {"message": "500", "type": "server_error"}}}


def replied(made: dict[str, object], *messages: object) -> dict[str, object]:
    return {"request": {"messages": [GO, *messages]}, "response": made}


def test_a_reply_that_calls_a_tool_is_not_the_end_of_a_run():
    asks = reply(choice={"message": called("c"), "finish_reason": "tool_calls"}, id="r1")
    assert json_lines(replied(asks))[-1] == RunEnd(EndReason.UNRECORDED, "tool_calls")
    answer = message("tool", "ok", tool_call_id="c")
    assert json_lines(replied(asks), replied(reply("done"), called("c"), answer))[-1].reason is EndReason.FINISHED
    asked_again = {"messages": [GO, message("assistant", "hi"), message("user", "and?")]}
    assert json_lines(replied(reply("hi")), asked_again)[-1].reason is EndReason.UNRECORDED


def test_a_call_that_failed_is_the_end_where_it_is_the_last_and_else_a_finding():
    records = json_lines(replied(reply("hi")), FAILED)
    assert shapes(records)[:2] == [("user", "go"), ("completion", "hi")]
    assert (records[-1], [one for one in records if isinstance(one, Damage)]) == (RunEnd(EndReason.ERROR, "500"), [])
    records = json_lines(FAILED, FAILED, replied(reply("hi")))
    assert shapes(records) == [("user", "go"), ("completion", "hi")]
    assert records[-1] == RunEnd(EndReason.FINISHED, "stop")
    (damage,) = [one for one in records if isinstance(one, Damage)]
    assert (damage.code, damage.reason.split(" and ")[0], damage.taints_run) == (
        "failed-call",
        "2 model calls failed",
        False,
    )


def test_a_reply_that_stands_twice_counts_once_and_two_of_one_id_do_not():
    asks = replied(reply(choice={"message": called("c")}, id="r1", usage={"prompt_tokens": 10}))
    done = replied(reply("done", id="r2"), called("c"), message("tool", "ok", tool_call_id="c"))
    records = json_lines(asks, asks, done)
    assert shapes(records) == [("user", "go"), ("completion", ""), ("observation", "ok"), ("completion", "done")]
    assert [one.code for one in records if isinstance(one, Damage)] == ["copied-record"]
    assert shapes(json_lines(reply("a", id="0"), reply("b", id="0"))) == [("completion", "a"), ("completion", "b")]


def test_a_bare_reply_and_lists_of_them_are_completions():
    for records in (document(reply("a")), document([reply("a")]), json_lines(reply("a"))):
        assert shapes(records) == [("completion", "a")]
    assert shapes(json_lines(reply("a"), reply("b"))) == [("completion", "a"), ("completion", "b")]


def test_messages_in_a_list_in_an_object_and_in_lines_are_the_same_events():
    said = [
        message("developer", "d"),
        message("user", [{"type": "text", "text": "u"}]),
        called("c"),
        message("tool", "r", tool_call_id="c"),
    ]
    expected = [("system", "d"), ("user", "u"), ("completion", ""), ("observation", "r")]
    for records in (document(said), document({"messages": said}), json_lines(*said)):
        assert shapes(records) == expected
        assert events(records)[-1].call_id == "c"
        assert records[-1] == RunEnd()


def test_each_line_of_messages_is_a_conversation_of_its_own():
    first = {"messages": [message("system", "s"), message("user", "1"), message("assistant", "a")]}
    second = {"messages": [message("system", "s"), message("user", "2"), message("assistant", "b")]}
    records = json_lines(first, second)
    starts = [record for record in records if isinstance(record, RunStart)]
    assert len(starts) == len([record for record in records if isinstance(record, RunEnd)]) == 2
    assert len({start.content_sha256 for start in starts}) == 2


def test_a_call_that_goes_on_adds_only_what_is_new():
    one = {"messages": [message("user", "u")], "response": reply("a")}
    two = {"messages": [message("user", "u"), message("assistant", "a"), message("user", "v")], "response": reply("b")}
    assert shapes(json_lines(one, two)) == [("user", "u"), ("completion", "a"), ("user", "v"), ("completion", "b")]


def test_a_call_that_goes_back_is_an_edit_of_the_context():
    said = [message("system", "s"), message("user", "u")]
    one = {"messages": said, "response": reply("a")}
    records = json_lines(one, {"messages": said, "response": reply("b")})
    assert [kind for kind, _ in shapes(records)] == ["system", "user", "completion", "context_edit", "completion"]


def test_a_call_of_another_conversation_is_another_run():
    one = {"messages": [message("user", "u")], "response": reply("a")}
    two = {"messages": [message("user", "w"), message("user", "x")], "response": reply("b")}
    assert len([record for record in json_lines(one, two) if isinstance(record, RunStart)]) == 2


def test_arguments_stay_as_the_model_wrote_them():
    for text in ("", "{", '{"a":1,"a":2}', '{"a": 1.0}'):
        (event,) = events(document([called("c", text)]))
        assert event.calls == (ToolCall("t", text, "c"),)
    (event,) = events(document([called("c", {"b": 1})]))
    assert event.calls == (ToolCall("t", '{"b":1}', "c", exact=False),)


def test_calls_without_ids_are_answered_in_order():
    records = document([called(None), message("tool", "r"), called(None), message("function", "q", name="t")])
    assert [event.call_id for event in events(records) if event.kind is EventKind.OBSERVATION] == ["s1.1", "s2.1"]


def test_the_older_function_call_is_a_call():
    (event,) = events(document([message("assistant", None, function_call={"name": "f", "arguments": "{}"})]))
    assert event.calls == (ToolCall("f", "{}", "s1.1"),)


def test_margins_are_the_gap_of_the_two_likeliest_in_nats():
    def token(*values: float) -> dict[str, object]:
        return {"token": "x", "logprob": -1, "top_logprobs": [{"logprob": value} for value in values]}

    whole = {"logprobs": {"content": [token(-0.5, -2.0), token(-3.0, -1.0, -9.0)]}}
    (event,) = events(document(reply(choice=whole)))
    assert (event.margins, event.margin_unit) == ((1.5, 2.0), "nats")
    lacking = {"logprobs": {"content": [token(-0.5, -2.0), token(-3.0)]}}
    (event,) = events(document(reply(choice=lacking)))
    assert (event.margins, event.margin_unit) == (None, None)


def test_the_two_likeliest_tokens_are_named_by_their_text_or_bytes():
    def top(text: str, logprob: float, **more: object) -> dict[str, object]:
        return {"token": text, "logprob": logprob, **more}

    tokens = [
        {**top("yes", -2.0), "top_logprobs": [top("yes", -2.0), top("no", -0.5)]},
        {
            **top("\ufffd", -1.0, bytes=[226, 130]),
            "top_logprobs": [top("\ufffd", -1.0, bytes=[226, 130]), top("a", -3.0)],
        },
        {**top("x", -1.0), "top_logprobs": [{"logprob": -1.0}, top("y", -2.0)]},
    ]
    (event,) = events(document(reply(choice={"logprobs": {"content": tokens}})))
    assert event.top2_texts == (("yes", "no", "yes"), ("\\xe2\\x82", "\\xe2\\x82", "a"), None)
    assert event.top2 is None


def test_token_ids_of_a_server_are_kept_and_odd_ones_are_not():
    (event,) = events(document(reply(choice={"token_ids": [5, 6]}, prompt_token_ids=[1, 2, 3])))
    assert (event.token_ids, event.prompt_token_ids) == ((5, 6), (1, 2, 3))
    (event,) = events(document(reply(choice={"token_ids": [5, True]}, prompt_token_ids=[-1])))
    assert (event.token_ids, event.prompt_token_ids) == (None, None)


def test_cached_tokens_are_zero_only_where_the_server_says_so():
    def usage(**given: object) -> Usage | None:
        (event,) = events(document(reply(usage={"prompt_tokens": 9, "completion_tokens": 2, **given})))
        return event.usage

    assert usage() == Usage(9, None, None, 2)
    assert usage(prompt_tokens_details={"cached_tokens": 0}) == Usage(9, 0, None, 2)
    assert usage(prompt_tokens_details=None, cache_read_input_tokens=4, cache_creation_input_tokens=1) == Usage(
        9, 4, 1, 2
    )


def test_only_a_hosted_service_makes_its_engine_unobservable():
    def absent(**given: object) -> set[str]:
        found = document(reply(**given))
        return {one.field for one in found if isinstance(one, ManifestFact) and one.absence is Absence.UNOBSERVABLE}

    assert "kv.dtype" in absent(system_fingerprint="fp_44709d6fcb")
    assert "engine.version" in absent(service_tier="default", system_fingerprint=None)
    assert absent(system_fingerprint=None, service_tier=None) == set()
    assert absent(service_tier="default", prompt_token_ids=[1]) == set()
    assert absent(system_fingerprint="b5092-d6d2c2ab") == set()
    assert facts(document(reply(system_fingerprint="b5092-d6d2c2ab")))["engine.version"] == "b5092-d6d2c2ab"


def test_sampling_is_what_the_request_declares():
    given = {"messages": [message("user", "u")], "model": "asked", "temperature": 0, "seed": 7, "response": reply()}
    records = document(given)
    found = {record.field: record for record in records if isinstance(record, ManifestFact)}
    assert (found["sampling.temperature"].value, found["sampling.temperature"].source) == (0, FieldSource.DECLARED)
    assert (found["model.id"].value, found["model.id"].source) == ("m", FieldSource.MEASURED)
    assert found["model.id_requested"].value == "asked"
    assert found["sampling.seed"].value == 7


def test_other_choices_and_unknown_roles_are_reported():
    double = reply()
    double["choices"] = [*double["choices"], *double["choices"]]
    assert [one.code for one in document(double) if isinstance(one, Damage)] == ["other-choices"]
    assert [one.code for one in document([message("oracle", "x")]) if isinstance(one, Damage)] == ["unknown-record"]


def test_a_reply_cut_by_length_ends_at_a_limit():
    assert document(reply(choice={"finish_reason": "length"}))[-1] == RunEnd(EndReason.LIMIT, "length")


def test_trajectories_of_other_tools_are_not_claimed_as_replies(shared_path):
    for parts in (("tau-bench",), ("swe-agent",), ("inspect",), ("codex",), ("claude-code",), ("atif",)):
        for path in shared_path("data", "formats", *parts).rglob("*"):
            if path.is_file():
                source = FileSource(path)
                assert READER.sniff(source.head(), source) < 0.5, path.name


def test_damaged_lines_are_reported_and_the_others_are_read():
    records = read(
        json.dumps(message("user", "u")).encode() + b'\n{"role": \n' + json.dumps(reply("a")).encode() + b"\n[1]\n{}"
    )
    assert shapes(records) == [("user", "u"), ("completion", "a")]
    assert len([record for record in records if isinstance(record, Damage)]) == 3


def test_a_document_cut_anywhere_is_an_input_error():
    whole = json.dumps(reply("a"), indent=1).encode()
    for end in range(len(whole)):
        with pytest.raises(InputError):
            read(whole[:end])


KEYS = st.sampled_from(
    ["role", "content", "messages", "choices", "message", "tool_calls", "function", "usage", "response"]
)
VALUES = st.recursive(
    st.none() | st.integers() | st.sampled_from(["assistant", "tool", "x\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(VALUES, VALUES)
def test_values_of_any_shape_give_no_traceback(first, second):
    records = json_lines(first, second) if isinstance(first, dict) else document(first)
    assert isinstance(records[-1], RunEnd)
