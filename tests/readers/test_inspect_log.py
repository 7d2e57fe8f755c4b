"""Inspect logs: a run a sample and epoch, from pooled messages and spans; a cut log still gives the rest."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from samework.decode.archive import expanded
from samework.decode.source import BytesSource, FileSource
from samework.errors import DamagedRecord, UnknownFormat
from samework.model.events import Event
from samework.model.records import Damage, ManifestFact, OutcomeRecord, PatchRecord, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, RunKind
from samework.readers.inspect_log import READER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HASH = "0123456789abcdef0123456789abcdef"
EVAL = {"run_id": "r", "task": "sums", "task_id": "t", "model": "lab/m", "packages": {"inspect_ai": "0.3.300"}}
PLAN = {"steps": [], "config": {"temperature": 0.0, "seed": 7}}


def user(text: str, name: str = "u1") -> dict[str, Any]:
    return {"id": name, "role": "user", "content": text}


def said(text: Any, name: str, calls: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    made = {"id": name, "role": "assistant", "content": text}
    return made | ({"tool_calls": calls} if calls else {})


def call(name: str, arguments: Any, function: str = "add") -> dict[str, Any]:
    return {"id": name, "function": function, "arguments": arguments, "type": "function"}


def result(text: str, call_id: str, name: str = "t1", **more: Any) -> dict[str, Any]:
    return {"id": name, "role": "tool", "content": text, "tool_call_id": call_id, **more}


def model(messages: Any, reply: dict[str, Any], usage: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    output = {
        "model": "m-1",
        "choices": [{"message": reply, "stop_reason": "stop"}],
        "usage": usage or {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6},
    }
    return {"event": "model", "timestamp": "2026-01-01T00:00:00Z", "input": messages, "output": output, **more}


def sample(
    number: int = 1, epoch: int = 1, events: list[Any] | None = None, messages: list[Any] | None = None, **more: Any
) -> dict[str, Any]:
    asked, replied = user("2+3?"), said("5", "a1")
    made = {
        "id": number,
        "epoch": epoch,
        "uuid": f"uu{number}{epoch}",
        "messages": [asked, replied] if messages is None else messages,
    }
    made["events"] = [model([asked], replied)] if events is None else events
    return made | {"scores": {"match": {"value": "C"}}} | more


def document(samples: list[Any], **more: Any) -> bytes:
    header = {"version": 2, "status": "success", "eval": EVAL, "plan": PLAN}
    return json.dumps(header | more | {"samples": samples}).encode()


def archive(samples: list[dict[str, Any]], *, header: bool = True, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    members = {"_journal/start.json": {"version": 2, "eval": EVAL, "plan": PLAN}}
    members |= {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in samples}
    members |= {"header.json": {"version": 2, "status": "success", "eval": EVAL, "plan": PLAN}} if header else {}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as packed:
        for name, value in members.items():
            packed.writestr(name, json.dumps(value))
    return made.getvalue()


def zstd_archive(members: dict[str, bytes]) -> bytes:
    """A zip with Zstandard members (method 93), which zipfile of Python 3.11 cannot write."""
    body, listed = b"", b""
    for name, data in members.items():
        packed = zstandard.ZstdCompressor().compress(data)
        sizes = (zlib.crc32(data), len(packed), len(data), len(name))
        listed += (
            struct.pack("<4s6H3L5H2L", b"PK\1\2", 63, 63, 0, 93, 0, 33, *sizes, 0, 0, 0, 0, 0, len(body))
            + name.encode()
        )
        body += struct.pack("<4s5H3L2H", b"PK\3\4", 63, 0, 93, 0, 33, *sizes, 0) + name.encode() + packed
    return (
        body + listed + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, len(members), len(members), len(listed), len(body), 0)
    )


def read(data: bytes) -> list[Any]:
    source = expanded(BytesSource("x.eval", data))
    assert READER.sniff(source.head(), source) > 0.9
    return list(READER.read(source))


def only(records: list[Any], kind: type) -> list[Any]:
    return [record for record in records if isinstance(record, kind)]


def told(records: list[Any]) -> list[tuple[str, str]]:
    return [(event.kind.value, event.text) for event in only(records, Event)]


def test_samples_and_epochs_are_runs_and_scores_their_outcomes():
    runs = [sample(2, 1), sample(1, 2, scores={"a": {"value": 0.5}, "b": {"value": {"x": 1, "y": "I"}}}), sample(1, 1)]
    for data in (document(runs), archive(runs)):
        records = read(data)
        starts = only(records, RunStart)
        assert {(start.task, start.repeat, start.kind, start.layout) for start in starts} == {
            ("sums/1", None, RunKind.TEXT, "inspect"),
            ("sums/2", None, RunKind.TEXT, "inspect"),
        }
        assert Counter((each.name, each.value) for each in only(records, OutcomeRecord)) == Counter(
            {("match", "C"): 2, ("a", 0.5): 1, ("b.x", 1): 1, ("b.y", "I"): 1}
        )
        assert not only(records, Damage)


def test_members_come_by_number_and_epoch():
    records = read(archive([sample(10), sample(9, 2), sample(9, 1)]))
    assert [(start.task, start.extra["epoch"]) for start in only(records, RunStart)] == [
        ("sums/9", 1),
        ("sums/9", 2),
        ("sums/10", 1),
    ]


def test_a_log_in_another_container_or_scored_again_is_the_same_run():
    again = sample(scores={"other": {"value": 1}}, completed_at="2027")
    digests = {
        start.content_sha256
        for data in (document([sample()]), archive([sample()]), document([again]))
        for start in only(read(data), RunStart)
    }
    assert len(digests) == 1
    other = sample(messages=[user("2+3?"), said("6", "a1")])
    assert only(read(document([other])), RunStart)[0].content_sha256 not in digests


def test_zstandard_members_are_read():
    members = {"header.json": {"version": 2, "eval": EVAL}, "samples/1_epoch_1.json": sample()}
    records = read(zstd_archive({name: json.dumps(value).encode() for name, value in members.items()}))
    assert told(records) == [("user", "2+3?"), ("completion", "5")]


def test_a_log_without_header_is_read_from_its_journal():
    records = read(archive([sample()], header=False))
    assert [start.task for start in only(records, RunStart)] == ["sums/1"]
    assert [damage.code for damage in only(records, Damage)] == ["crashed-log"]
    assert [damage.code for damage in only(read(archive([], header=False)), Damage)] == ["crashed-log", "no-samples"]


def test_a_sample_that_is_summed_up_but_missing_is_named():
    data = io.BytesIO(archive([sample()], header=False))
    with zipfile.ZipFile(data, "a") as packed:
        packed.writestr("_journal/summaries/1.json", json.dumps([{"id": 1, "epoch": 1}, {"id": "s2", "epoch": 3}]))
    missing = [damage.reason for damage in only(read(data.getvalue()), Damage) if damage.code == "missing-sample"]
    assert missing == ["sample s2, epoch 3: summed up, but its record is missing"]


def test_messages_of_a_pool_and_attachments_are_put_back():
    steps = [
        model([], said("", "a1", [call("c1", {"y": 3, "x": 2})]), input_refs=[[0, 1]]),
        model([], said(f"attachment://{HASH}", "a2"), input_refs=[[0, 1], [1, 3]]),
    ]
    pool = [user(f"attachment://{HASH}"), said("", "a1", [call("c1", {"y": 3, "x": 2})]), result("5", "c1")]
    for pooled in ({"events_data": {"messages": pool}}, {"message_pool": pool}):
        made = sample(
            events=steps, messages=[*pool, said(f"attachment://{HASH}", "a2")], attachments={HASH: "long"}, **pooled
        )
        records = read(document([made]))
        assert told(records) == [("user", "long"), ("completion", ""), ("observation", "5"), ("completion", "long")]
        (only_call,) = [each for event in only(records, Event) for each in event.calls]
        assert (only_call.arguments, only_call.exact, only_call.call_id) == ('{"y":3,"x":2}', False, "c1")
        assert not only(records, Damage)


def test_a_reference_that_leads_nowhere_taints_the_run():
    made = sample(events=[model([user(f"attachment://{HASH}")], said("5", "a1"), input_refs=[[0, 9]])], messages=[])
    reasons = [damage.reason for damage in only(read(document([made])), Damage) if damage.taints_run]
    assert reasons == ["messages [0,9] of the pool is not in the log", f"the attachment {HASH} is not in the log"]


def test_arguments_are_exact_where_the_providers_reply_was_logged():
    written = '{"x": 2}'
    replies = [
        {"choices": [{"message": {"tool_calls": [{"id": "c1", "function": {"name": "add", "arguments": written}}]}}]},
        {"output": [{"type": "function_call", "call_id": "c1", "arguments": written}]},
    ]
    for reply in replies:
        made = model([user("q")], said("", "a1", [call("c1", {"x": 2})]), call={"request": {}, "response": reply})
        (found,) = [
            each for event in only(read(document([sample(events=[made], messages=[])])), Event) for each in event.calls
        ]
        assert (found.arguments, found.exact) == (written, True)


def test_calls_of_a_scorer_are_no_part_of_the_run():
    graded = model([user("grade")], said("C", "g1"))
    spans = [
        {"event": "span_begin", "id": "s", "type": "scorers"},
        {"event": "span_begin", "id": "s1", "parent_id": "s", "type": "scorer"},
        graded | {"span_id": "s1"},
    ]
    steps = [{"event": "step", "action": "begin", "type": "scorer"}, graded, {"event": "step", "action": "end"}]
    for scoring in (spans, steps):
        made = sample(events=[model([user("2+3?")], said("5", "a1")), *scoring])
        records = read(document([made]))
        assert told(records) == [("user", "2+3?"), ("completion", "5")]
        assert only(records, RunStart)[0].extra["scoring_calls"] == 1


def test_a_sub_agent_is_a_run_of_its_own_and_its_messages_are_copied_context_above():
    asked, handed, inner = user("2+3?"), said("", "a1", [call("c1", {}, "helper")]), said("five", "b1")
    events = [
        model([asked], handed),
        {"event": "span_begin", "id": "tool", "type": "tool", "name": "helper"},
        {"event": "span_begin", "id": "agent", "parent_id": "tool", "type": "agent", "name": "helper"},
        model([user("do", "u2")], inner, span_id="agent"),
        model([asked, handed, result("ok", "c1"), inner], said("5", "a2")),
    ]
    records = read(document([sample(events=events, messages=[])]))
    main, helper = only(records, RunStart)
    assert (main.native_id, helper.parent_native_id, helper.task) == ("uu11", "uu11", "sums/1/helper")
    cut = next(n for n, record in enumerate(records) if record is helper)
    assert told(records[:cut]) == [
        ("user", "2+3?"),
        ("completion", ""),
        ("observation", "ok"),
        ("context_edit", "assistant: five"),
        ("completion", "5"),
    ]
    assert told(records[cut:]) == [("user", "do"), ("completion", "five")]


def test_events_of_a_tool_in_an_older_log_are_a_sub_agents():
    nested = {
        "event": "tool",
        "id": "c1",
        "function": "ask",
        "result": "five",
        "events": [model([user("do", "u2")], said("five", "b1"))],
    }
    records = read(
        document([sample(events=[model([user("q")], said("", "a1", [call("c1", {}, "ask")])), nested], messages=[])])
    )
    assert [start.task for start in only(records, RunStart)] == ["sums/1", "sums/1/ask"]
    assert told(records) == [
        ("user", "q"),
        ("completion", ""),
        ("observation", "five"),
        ("user", "do"),
        ("completion", "five"),
    ]


def test_an_edited_context_is_no_second_completion():
    first, second = said("one", "a1"), said("two", "a2")
    events = [
        model([user("q")], first),
        model([user("q"), first, user("more", "u2")], second),
        model([user("summary", "u3"), second, user("go on", "u4")], said("three", "a3")),
    ]
    records = read(document([sample(events=events, messages=[])]))
    assert told(records) == [
        ("user", "q"),
        ("completion", "one"),
        ("user", "more"),
        ("completion", "two"),
        ("context_edit", "the conversation goes on from its first 0 messages\nuser: summary\nassistant: two"),
        ("user", "go on"),
        ("completion", "three"),
    ]


def test_without_events_the_messages_are_the_run_and_the_output_has_the_last_usage():
    output = {
        "model": "m-1",
        "choices": [{"message": said("5", "a1"), "stop_reason": "max_tokens"}],
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    records = read(document([sample(events=[], output=output)]))
    assert told(records) == [("user", "2+3?"), ("completion", "5")]
    assert [event.usage.prompt_tokens for event in only(records, Event) if event.usage] == [3]
    assert [end.reason for end in only(records, RunEnd)] == [EndReason.LIMIT]


def test_the_total_tells_whether_input_tokens_hold_the_cached_ones():
    def prompt(total: int | None) -> int | None:
        usage = {"input_tokens": 10, "output_tokens": 1, "total_tokens": total, "input_tokens_cache_read": 4}
        (found,) = [
            event.usage
            for event in only(read(document([sample(events=[model([], said("5", "a1"), usage)])])), Event)
            if event.usage
        ]
        assert (found.cached_tokens, found.cache_write_tokens) == (4, None)
        return found.prompt_tokens

    assert [prompt(15), prompt(11), prompt(99), prompt(None)] == [14, 10, None, None]


def test_reasoning_and_calls_that_the_provider_ran_stand_apart_from_the_text():
    parts = [
        {"type": "reasoning", "reasoning": "hm", "redacted": False},
        {"type": "reasoning", "reasoning": "gAAA", "redacted": True, "summary": "s"},
        {
            "type": "tool_use",
            "tool_type": "web_search",
            "id": "w1",
            "name": "search",
            "arguments": '{"q":"x"}',
            "result": "found",
        },
        {"type": "text", "text": "done"},
        {"type": "image", "image": "data:"},
    ]
    records = read(document([sample(events=[model([], said(parts, "a1"))], messages=[])]))
    event, seen = only(records, Event)
    assert (event.reasoning, event.reasoning_hidden, event.text.splitlines()[0]) == ("hm\ns", True, "done")
    assert event.text.splitlines()[1].startswith("<image sha256 ")
    assert [(each.name, each.call_id) for each in event.calls] == [("search", "w1")]
    assert (seen.kind, seen.text, seen.call_id) == (EventKind.OBSERVATION, "found", "w1")


def test_margins_are_kept_where_every_token_has_two_ranked_rivals():
    tops = [{"token": "b", "logprob": -1.5}, {"token": "a", "logprob": -0.5}, {"token": "c", "logprob": -3.0}]
    for content, margins, texts in (
        ([{"token": "a", "logprob": -0.5, "top_logprobs": tops}], (1.0,), (("a", "a", "b"),)),
        ([{"token": "a", "top_logprobs": tops}, {"token": "b", "top_logprobs": tops[:1]}], None, None),
        ([], None, None),
    ):
        step = model([user("q")], said("a", "a1"))
        step["output"]["choices"][0]["logprobs"] = {"content": content}
        event = only(read(document([sample(events=[step], messages=[])])), Event)[-1]
        assert (event.margins, event.top2_texts) == (margins, texts)


def test_an_error_of_a_tool_is_what_the_model_was_told():
    error = {"type": "timeout", "message": "timed out"}
    made = sample(
        events=[],
        messages=[
            result("", "c1", error=error),
            result("part", "c2", "t2", error=error),
            result("timed out!", "c3", "t3", error=error),
        ],
    )
    assert [text for _, text in told(read(document([made])))] == ["timed out", "part\ntimed out", "timed out!"]


@pytest.mark.parametrize(
    ("more", "reason", "detail"),
    [
        ({"error": {"message": "boom\x1b[2J"}}, EndReason.ERROR, "boom\\x1b[2J"),
        ({"limit": {"type": "token", "limit": 9}}, EndReason.LIMIT, "token limit"),
        ({"limit": {"type": "time", "limit": 9}}, EndReason.TIMEOUT, "time limit"),
        ({"limit": {"type": "operator"}}, EndReason.CANCELLED, "operator limit"),
        ({}, EndReason.FINISHED, "stop"),
    ],
)
def test_how_a_sample_ended(more, reason, detail):
    (end,) = only(read(document([sample(**more)])), RunEnd)
    assert (end.reason, end.detail) == (reason, detail)


@pytest.mark.parametrize(
    ("status", "more", "reason"),
    [
        ("cancelled", {"started_at": "2026-01-01"}, EndReason.CANCELLED),
        ("error", {"started_at": "2026-01-01"}, EndReason.CANCELLED),
        ("started", {"started_at": "2026-01-01"}, EndReason.LOG_TRUNCATED),
        ("started", {}, EndReason.LOG_TRUNCATED),
        ("success", {"started_at": "2026-01-01"}, EndReason.FINISHED),
        ("cancelled", {"started_at": "2026-01-01", "completed_at": "2026-01-02"}, EndReason.FINISHED),
        ("cancelled", {"scores": {"match": {"value": "C"}}}, EndReason.FINISHED),
    ],
)
def test_a_sample_that_was_logged_before_it_was_done_ends_with_its_log(status, more, reason):
    asked, wanted = user("2+3?"), said("", "a1", [call("c1", {"a": 2})])
    run = sample(1, 1, [model([asked], wanted)], [asked, wanted], **({"scores": {}} | more))
    assert only(read(document([run], status=status)), RunEnd)[0].reason is reason


def test_an_older_log_that_crashed_keeps_the_end_of_a_sample_whose_calls_are_answered():
    asked, wanted, given = user("2+3?"), said("", "a1", [call("c1", {"a": 2})]), result("5", "c1")
    run = sample(1, 1, [model([asked], wanted)], [asked, wanted, given], scores={})
    assert only(read(document([run], status="started")), RunEnd)[0].reason is EndReason.FINISHED


def test_scores_of_an_invalidated_sample_are_left_out_and_it_is_said():
    found = read(document([sample(invalidation={"author": "x", "reason": "saw the answer"})]))
    assert not only(found, OutcomeRecord)
    (damage,) = only(found, Damage)
    assert (damage.code, damage.taints_run) == ("invalidated-sample", False)
    assert damage.reason.endswith(": saw the answer")


def test_a_reply_out_of_the_logs_own_cache_spends_no_tokens():
    asked, first, more, last = user("2+3?"), said("5", "a1"), user("sure?", "u2"), said("yes", "a2")
    events = [model([asked], first, cache="read"), model([asked, first, more], last, cache="write")]
    found = read(document([sample(1, 1, events, [asked, first, more, last])]))
    replies = [each for each in only(found, Event) if each.kind is EventKind.COMPLETION]
    assert [each.text for each in replies] == ["5", "yes"]
    assert [each.usage.prompt_tokens if each.usage else None for each in replies] == [None, 5]
    assert [each.reason.split(" out")[0] for each in only(found, Damage)] == ["1 reply"]


def test_the_patch_that_a_scorer_took_is_the_runs():
    made = sample(
        scores={"swe": {"value": 1.0, "metadata": {"model_patch": "diff"}}}, metadata={"base_commit": "ab" * 20}
    )
    (patch,) = only(read(document([made])), PatchRecord)
    assert (patch.patch, patch.base_commit) == (b"diff", "ab" * 20)


def test_a_score_that_is_no_number_is_a_finding():
    data = document([sample(scores={"x": {"value": 0.5}})]).replace(b"0.5", b"NaN")
    records = read(data)
    assert not only(records, OutcomeRecord)
    assert [damage.code for damage in only(records, Damage)] == ["odd-number"]


def test_conditions_are_facts():
    facts = {fact.field: fact.value for fact in only(read(document([sample()])), ManifestFact)}
    assert facts["sampling.seed"] == 7
    assert (facts["model.id"], facts["model.id_requested"], facts["harness.version"]) == ("m-1", "lab/m", "0.3.300")


def test_a_cut_document_gives_the_samples_before_the_cut():
    data = document([sample(1), sample(2), sample(3)])
    at = data.index(b'"uu31"')
    records = read(data[:at])
    assert [start.task for start in only(records, RunStart)] == ["sums/1", "sums/2"]
    assert [damage.code for damage in only(records, Damage)] == ["cut-tail"]
    with pytest.raises(DamagedRecord):
        read(data[: data.index(b'"uu11"')])


def test_a_damaged_member_costs_only_its_sample():
    data = bytearray(archive([sample(1), sample(2)], method=zipfile.ZIP_STORED))
    data[data.index(b'"uu11"') + 2] ^= 1
    records = read(bytes(data))
    assert [start.task for start in only(records, RunStart)] == ["sums/2"]
    assert ["checksum" in damage.reason for damage in only(records, Damage)] == [True]


def test_a_log_of_no_samples_holds_no_run_and_says_so():
    for data in (document([]), archive([])):
        assert [damage.code for damage in read(data)] == ["no-samples"]


def test_a_listing_of_logs_is_no_log():
    source = BytesSource(
        "logs.json", json.dumps({"a_b.eval": {"version": 2, "eval": EVAL, "status": "success"}}).encode()
    )
    assert READER.sniff(source.head(), source) > 0.8
    with pytest.raises(UnknownFormat, match="a listing of Inspect logs"):
        list(READER.read(source))


def walked(path: Path) -> tuple[int, Counter[str]]:
    """Samples and counts of a log by a plain walk: messages of the samples, model calls outside of scorers."""
    data = path.read_bytes()
    if data.startswith(b"PK"):
        source = expanded(FileSource(path))
        members = [source.child(name) for name in source.names() if name.startswith("samples/")]
        samples = [json.load(member.open()) for member in members if member is not None]
    else:
        samples = json.loads(data)["samples"]
    counts: Counter[str] = Counter()
    for each in samples:
        counts.update(message["role"] for message in each["messages"])
        counts["calls"] += sum(len(message.get("tool_calls") or []) for message in each["messages"])
        counts["scores"] += len(each.get("scores") or {})
        events = each.get("events") or each.get("transcript", {}).get("events", [])
        scoring = {
            event["id"]
            for event in events
            if event["event"] == "span_begin" and event.get("type") in {"scorer", "scorers"}
        }
        is_open = False
        for event in events:
            if event["event"] == "step" and event["type"] == "scorer":
                is_open = event["action"] == "begin"
            if (
                event["event"] == "model"
                and not is_open
                and event.get("span_id") not in scoring
                and event["output"].get("usage")
            ):
                counts["input"] += event["output"]["usage"]["input_tokens"]
                counts["output"] += event["output"]["usage"]["output_tokens"]
    return len(samples), counts


@pytest.mark.shared
def test_counts_of_the_samples_are_those_of_a_plain_walk(shared_path: Callable[..., Path]):
    folder = shared_path("data", "formats", "inspect")
    paths = sorted([*folder.rglob("*.eval"), *folder.rglob("*.json")])
    assert len(paths) == 18
    for path in paths:
        source = expanded(FileSource(path))
        assert READER.sniff(source.head(), source) > 0.9
        records = list(READER.read(source))
        n_samples, counts = walked(path)
        events = only(records, Event)
        kinds = Counter(event.kind.value for event in events)
        assert len(only(records, RunStart)) == n_samples, path
        assert not [damage for damage in only(records, Damage) if damage.taints_run], path
        assert (kinds["user"], kinds["system"], kinds["completion"], kinds["observation"]) == (
            counts["user"],
            counts["system"],
            counts["assistant"],
            counts["tool"],
        ), path
        assert sum(len(event.calls) for event in events) == counts["calls"], path
        assert len(only(records, OutcomeRecord)) == counts["scores"], path
        usages = [event.usage for event in events if event.usage]
        assert sum(usage.prompt_tokens or 0 for usage in usages) == counts["input"], path
        assert sum(usage.completion_tokens or 0 for usage in usages) == counts["output"], path


@pytest.mark.shared
def test_an_archive_cut_at_any_member_is_refused(shared_path: Callable[..., Path]):
    data = shared_path("cases", "eval-truncated-zip", "bad.eval").read_bytes()
    with pytest.raises(Exception, match="incomplete archive"):
        expanded(BytesSource("bad.eval", data))
