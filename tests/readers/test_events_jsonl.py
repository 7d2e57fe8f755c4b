"""The reader of native events: exact fields, odd lines, cut files."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samework.decode.source import BytesSource, FileSource
from samework.model.events import Event, ToolCall, Usage
from samework.model.records import Damage, RunEnd, RunStart
from samework.model.words import EndReason, EventKind
from samework.readers.events_jsonl import READER


def read(data: bytes) -> tuple[list[Event], list[Damage], RunStart, RunEnd]:
    records = list(READER.read(BytesSource("events.jsonl", data)))
    start, end = records[0], records[-1]
    assert isinstance(start, RunStart)
    assert isinstance(end, RunEnd)
    events = [record for record in records if isinstance(record, Event)]
    damages = [record for record in records if isinstance(record, Damage)]
    assert len(events) + len(damages) == len(records) - 2
    return events, damages, start, end


def lines(*objects: object) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in objects)


def test_the_two_likeliest_tokens_are_pairs_or_the_rival_of_the_token_itself():
    completion = {"kind": "completion", "text": "a", "token_ids": [5, 6, 7], "top2": [9, [8, 6], None]}
    events, damages, _, _ = read(lines(completion))
    assert events[0].top2 == ((5, 9), (8, 6), None)
    assert damages == []
    events, damages, _, _ = read(lines({**completion, "top2": [[1, 2, 3]]}))
    assert (events[0].top2, events[0].text, [damage.code for damage in damages]) == (None, "a", ["unusable-field"])


def test_all_fields_of_a_completion_are_kept():
    data = lines(
        {
            "kind": "completion",
            "text": "a\u2028b",
            "reasoning": "r",
            "token_ids": [1, 2],
            "prompt_token_ids": [3],
            "margins": [0.5, 1],
            "margin_unit": "logits",
            "tool_calls": [{"id": "c1", "name": "bash", "arguments": '{"command": "ls"}'}],
            "usage": {"prompt_tokens": 7, "cached_tokens": 0, "completion_tokens": 2, "unknown": 1},
            "time": "2026-01-01T00:00:00Z",
            "n_prompt_tokens": 1,
            "is_raw_text": True,
            "workspace_tree_oid": "ab",
        }
    )
    (event,), damages, _, _ = read(data)
    assert not damages
    assert event == Event(
        kind=EventKind.COMPLETION,
        text="a\u2028b",
        reasoning="r",
        calls=(ToolCall("bash", '{"command": "ls"}', "c1"),),
        token_ids=(1, 2),
        prompt_token_ids=(3,),
        n_prompt_tokens=1,
        margins=(0.5, 1.0),
        margin_unit="logits",
        usage=Usage(prompt_tokens=7, cached_tokens=0, completion_tokens=2),
        time="2026-01-01T00:00:00Z",
        is_raw_text=True,
        offset=0,
        workspace_tree_oid="ab",
    )


def test_arguments_given_as_an_object_keep_their_bytes_and_are_not_the_models():
    (event,), _, _, _ = read(b'{"kind":"completion","tool_calls":[{"name":"t","arguments":{"b":1.0, "a":1}}]}\n')
    assert event.calls == (ToolCall("t", '{"b":1.0, "a":1}', exact=False),)


def test_margins_may_carry_their_unit():
    (event,), _, _, _ = read(lines({"kind": "completion", "margins": {"unit": "nats", "values": [1.5]}}))
    assert (event.margins, event.margin_unit) == ((1.5,), "nats")


def test_a_first_line_of_kind_meta_says_whose_run_it_is():
    meta = {
        "kind": "meta",
        "task": "t",
        "arm": "a",
        "repeat": 2,
        "model": "m",
        "tokenizer": "ab",
        "run_kind": "text",
        "x": 1,
    }
    events, damages, start, _ = read(lines(meta, {"kind": "user", "text": "hi"}))
    assert (start.task, start.arm, start.repeat, start.model, start.tokenizer) == ("t", "a", "2", "m", "ab")
    assert (start.kind.value, start.extra) == ("text", {"x": 1})
    assert ([event.text for event in events], damages) == (["hi"], [])


def test_the_end_event_gives_the_reason():
    *_, end = read(lines({"kind": "end", "text": "timeout", "time": "T"}))
    assert end == RunEnd(EndReason.TIMEOUT, "timeout", "T")
    *_, end = read(lines({"kind": "end", "text": "out of luck"}))
    assert end == RunEnd(EndReason.UNRECORDED, "out of luck", None)


@pytest.mark.parametrize(
    ("text", "kept"),
    [(rb'"a\ud83d"', "a\ud83d"), (rb'"\ud83d\ude00"', "\U0001f600"), (rb'"a\u0000b"', "a\0b"), ("'😀'".encode(), None)],
)
def test_text_that_a_fast_decoder_refuses_is_kept(text, kept):
    events, damages, _, _ = read(b'{"kind":"user","text":' + text + b"}\n")
    assert [event.text for event in events] == ([kept] if kept else [])
    assert bool(damages) == (kept is None)


def test_a_lone_surrogate_in_arguments_is_kept_in_both_spellings():
    data = rb'{"kind":"completion","tool_calls":[{"name":"t","arguments":{"k\udc00":1}}]}' + b"\n"
    data += rb'{"kind":"completion","tool_calls":[{"name":"t","arguments":"{\"k\udc00\":1}"}]}' + b"\n"
    (first, second), damages, _, _ = read(data)
    assert not damages
    assert json.loads(first.calls[0].arguments) == {"k\udc00": 1}
    assert second.calls[0] == ToolCall("t", '{"k\udc00":1}')


def test_a_bad_field_is_dropped_and_reported_and_the_event_stays():
    events, damages, _, _ = read(lines({"kind": "completion", "text": "x", "margins": [None], "token_ids": [1 << 40]}))
    assert [(event.text, event.margins, event.token_ids) for event in events] == [("x", None, None)]
    assert [(damage.code, damage.taints_run) for damage in damages] == [("unusable-field", False)] * 2


def test_calls_that_cannot_be_read_taint_the_run():
    events, damages, _, _ = read(lines({"kind": "completion", "tool_calls": [{"arguments": "x"}]}))
    assert events[0].calls == ()
    assert [(damage.code, damage.taints_run) for damage in damages] == [("unusable-field", True)]


def test_an_unknown_kind_is_reported_and_the_others_are_read():
    events, damages, _, _ = read(lines({"kind": "dance"}, {"kind": "user", "text": "u"}, [1], {"text": "no kind"}))
    assert [event.text for event in events] == ["u"]
    assert [damage.code for damage in damages] == ["unknown-record", "damaged-record", "damaged-record"]


def test_glued_records_and_nul_runs_are_read_around():
    glued = lines({"kind": "user", "text": "a"}).rstrip() + lines({"kind": "user", "text": "b"})
    events, damages, _, _ = read(glued + b"\0\0\0" + lines({"kind": "user", "text": "c"}))
    assert [event.text for event in events] == ["a", "b", "c"]
    assert [damage.code for damage in damages] == ["glued-records", "nul-run"]


def test_a_file_cut_at_any_byte_gives_a_prefix_and_says_so():
    whole = lines(
        {"kind": "user", "text": "é"},
        {"kind": "completion", "text": "c", "token_ids": [1]},
        {"kind": "end", "text": "finished"},
    )
    expected, _, _, _ = read(whole)
    for cut in range(1, len(whole) - 1):
        events, damages, _, end = read(whole[:cut])
        assert events == expected[: len(events)]
        ends_at_a_record = whole[:cut].endswith(b"}") or whole[:cut].endswith(b"\n")
        assert bool(damages) != ends_at_a_record
        assert end.reason is (EndReason.UNRECORDED if ends_at_a_record else EndReason.LOG_TRUNCATED)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_give_a_run_and_no_traceback(data):
    read(data)


def test_offsets_are_those_of_the_lines():
    data = b"\xef\xbb\xbf" + lines({"kind": "user", "text": "a"}, {"kind": "user", "text": "b"})
    events, _, _, _ = read(data)
    assert [event.offset for event in events] == [3, 3 + data[3:].index(b"\n") + 1]


def test_the_projects_own_transcripts_give_one_event_a_line(root):
    n_read = 0
    for path in sorted((root / "fixtures" / "kv-path").glob("*/*/events.jsonl"))[:40]:
        source = FileSource(path)
        assert READER.sniff(source.head(), source) == 0.9
        records = list(READER.read(source))
        plain = [json.loads(line) for line in path.read_bytes().splitlines()]
        events = [record for record in records if isinstance(record, Event)]
        assert [(event.kind.value, event.text) for event in events] == [(item["kind"], item["text"]) for item in plain]
        assert [list(event.token_ids or ()) for event in events] == [item.get("token_ids", []) for item in plain]
        assert [list(event.margins or ()) for event in events] == [item.get("margins", []) for item in plain]
        assert len(records) == len(events) + 2
        n_read += 1
    assert n_read


def test_other_json_lines_are_not_claimed(shared_path):
    for parts in (
        ("codex", "union_shapes_small.jsonl"),
        ("openhands-v1", "conversation", "goal", "fixtures", "events.jsonl"),
    ):
        source = FileSource(shared_path("data", "formats", *parts))
        assert READER.sniff(source.head(), source) == 0


def test_the_kind_need_not_be_the_first_key():
    for line in (b'{"text":"a","kind":"user"}\n', b'{"call_id": "c", "text": "b", "kind": "observation"}\n'):
        assert READER.sniff(line, BytesSource("x", line)) > 0.5
        assert len(read(line)[0]) == 1
    other = b'{"text":"a","type":"user"}\n'
    assert READER.sniff(other, BytesSource("x", other)) == 0


def test_deeply_nested_arguments_are_no_traceback():
    data = b'{"kind":"completion","tool_calls":[{"name":"t","arguments":' + b"[" * 100_000 + b"]" * 100_000 + b"}]}\n"
    events, damages, _, _ = read(data + b'{"kind":"user","text":"after"}\n')
    assert events[-1].text == "after"
    assert len(events) + len(damages) == 2
