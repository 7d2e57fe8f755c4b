"""The reader of Codex rollouts: content once, arguments byte for byte, counts that add up."""

from __future__ import annotations

import json

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from samework.decode.archive import expanded
from samework.decode.source import BytesSource, FileSource
from samework.model.events import Event
from samework.model.records import Damage, ManifestFact, RunEnd, RunStart
from samework.model.words import Absence, EndReason, EventKind
from samework.readers.codex_rollout import READER

RUNS = ("a1", "a2", "b1", "c1", "x1")
CHILD = "019b0002-0000-7000-8000-000000000001"
OLD_TURN = "019b0001-0000-7000-8000-000000000001"
NEW_TURN = "019b0003-0000-7000-8000-000000000001"


def record(kind: str, **payload: object) -> dict[str, object]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def item(kind: str, **payload: object) -> dict[str, object]:
    return record("response_item", type=kind, **payload)


def said(text: str, role: str = "assistant", **payload: object) -> dict[str, object]:
    return item("message", role=role, content=[{"type": "output_text", "text": text}], **payload)


def call(call_id: str, arguments: str = "{}", **payload: object) -> dict[str, object]:
    return item("function_call", name="sh", arguments=arguments, call_id=call_id, **payload)


def output(call_id: str, text: object = "ok") -> dict[str, object]:
    return item("function_call_output", call_id=call_id, output=text)


def counted(total: tuple[int, int], last: tuple[int, int] | None = None) -> dict[str, object]:
    info = {"total_token_usage": {"input_tokens": total[0], "output_tokens": total[1]}}
    if last:
        info["last_token_usage"] = {"input_tokens": last[0], "output_tokens": last[1]}
    return record("event_msg", type="token_count", info=info)


def read(*records: object) -> tuple[list[Event], list[Damage], RunStart, RunEnd]:
    return parts(b"".join(json.dumps(one).encode() + b"\n" for one in records))


def parts(data: bytes) -> tuple[list[Event], list[Damage], RunStart, RunEnd]:
    found = list(READER.read(BytesSource("rollout.jsonl", data)))
    start, end = found[0], found[-1]
    assert isinstance(start, RunStart)
    assert isinstance(end, RunEnd)
    return (
        [one for one in found if isinstance(one, Event)],
        [one for one in found if isinstance(one, Damage)],
        start,
        end,
    )


def shapes(events: list[Event]) -> list[tuple[str, str, int]]:
    return [(event.kind.value, event.text, len(event.calls)) for event in events]


def counts(events: list[Event]) -> tuple[int, int]:
    usages = [event.usage for event in events if event.usage]
    return sum(usage.prompt_tokens or 0 for usage in usages), sum(usage.completion_tokens or 0 for usage in usages)


@pytest.mark.parametrize("run", RUNS)
def test_runs_of_the_tool_give_each_response_item_once(shared_path, run):
    (path,) = shared_path("data", "formats", "codex", "generated-fix-add", run).glob("rollout-*.jsonl")
    source = FileSource(path)
    assert READER.sniff(source.head(), source) > 0.9
    events, damages, start, end = parts(path.read_bytes())
    plain = [json.loads(line) for line in path.read_bytes().splitlines()]
    items = [one["payload"] for one in plain if one["type"] == "response_item"]
    given = [one["arguments"] for one in items if one["type"] == "function_call"]
    assert [made.arguments for event in events for made in event.calls] == given
    assert all(made.exact for event in events for made in event.calls)
    outputs = [(one["call_id"], one["output"]) for one in items if one["type"] == "function_call_output"]
    assert [(event.call_id, event.text) for event in events if event.kind is EventKind.OBSERVATION] == outputs
    records = [one["payload"]["usage"] for one in plain if one["type"] == "token_usage_record"]
    assert counts(events) == (sum(one["input_tokens"] for one in records), sum(one["output_tokens"] for one in records))
    assert len([event for event in events if event.kind is EventKind.COMPLETION]) == len(records)
    assert start.base_commit == "cdcfe6cbeaad2353640e43577584ea647c0a53e3"
    assert (end.reason, damages) == (EndReason.FINISHED, [])


def test_exit_status_is_that_of_the_header(shared_path):
    (path,) = shared_path("data", "formats", "codex", "generated-fix-add", "x1").glob("rollout-*.jsonl")
    events, *_ = parts(path.read_bytes())
    assert [event.exit_status for event in events if event.kind is EventKind.OBSERVATION] == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Wall time: 1\nProcess exited with code 3\nOutput:\nx", 3),
        ("Exit code: -1\nWall time: 1 seconds\nOutput:\n", -1),
        ('{"output":"x","metadata":{"exit_code":2}}', 2),
        ("Output:\nProcess exited with code 3", None),
        ("Process exited with code 3", None),
        ("", None),
    ],
)
def test_exit_status_is_read_only_where_it_is_clearly_there(text, status):
    events, *_ = read(call("c"), output("c", text))
    assert events[-1].exit_status == status


@pytest.mark.parametrize(
    ("case", "expected", "codes"),
    [
        ("cx-repeat-total", (100, 30), []),
        ("cx-reasoning-subset", (100, 50), []),
        ("cx-total-reset", (450, 60), ["usage-reset"]),
        ("cx-new-usage-event", (100, 30), []),
    ],
)
def test_token_counts_add_up_as_each_case_says(shared_path, case, expected, codes):
    events, damages, *_ = parts(shared_path("cases", case, "rollout.jsonl").read_bytes())
    assert counts(events) == expected
    assert [damage.code for damage in damages] == codes
    assert all(event.truncated_by_recorder for event in events if event.kind is EventKind.COMPLETION)


def test_a_total_without_the_last_call_is_used_by_its_difference():
    events, *_ = read(said("a"), counted((10, 1)), said("b"), counted((25, 3)))
    assert [(event.usage.prompt_tokens, event.usage.completion_tokens) for event in events] == [(10, 1), (15, 2)]


def test_adjacent_items_before_an_output_are_one_completion():
    events, *_ = read(
        item("reasoning", summary=[{"type": "summary_text", "text": "why"}], encrypted_content="x"),
        said("I look"),
        call("1"),
        call("2"),
        output("1"),
        output("2"),
        said("done"),
    )
    assert shapes(events) == [
        ("completion", "I look", 2),
        ("observation", "ok", 0),
        ("observation", "ok", 0),
        ("completion", "done", 0),
    ]
    assert (events[0].reasoning, events[0].reasoning_hidden) == ("why", True)


def test_a_count_of_tokens_ends_a_completion():
    events, *_ = read(said("a"), counted((1, 1), (1, 1)), said("b"), counted((3, 2), (2, 1)))
    assert shapes(events) == [("completion", "a", 0), ("completion", "b", 0)]


def test_calls_of_one_response_join_although_an_output_comes_between():
    def keyed(one: dict[str, object], through: int) -> dict[str, object]:
        return one | {"metadata": {"sampled_through_sequence": through}}

    events, *_ = read(keyed(call("1"), 5), output("1"), keyed(call("2"), 5), output("2"), keyed(call("3"), 8))
    assert shapes(events) == [
        ("completion", "", 2),
        ("observation", "ok", 0),
        ("observation", "ok", 0),
        ("completion", "", 1),
    ]


def test_the_kinds_of_call_keep_what_they_carry():
    events, *_ = read(
        item("custom_tool_call", name="apply_patch", input="*** Begin Patch\n", call_id="p"),
        item("local_shell_call", action={"command": ["ls"]}, id="l"),
        item("tool_search_call", arguments={"query": "q"}, call_id="t"),
        item("web_search_call", action={"query": "w"}, id="w"),
    )
    made = [(one.name, one.arguments, one.call_id, one.exact, one.is_json) for one in events[0].calls]
    assert made == [
        ("apply_patch", "*** Begin Patch\n", "p", True, False),
        ("local_shell", '{"command":["ls"]}', "l", False, True),
        ("tool_search", '{"query":"q"}', "t", False, True),
        ("web_search", '{"query":"w"}', "w", False, True),
    ]


def test_views_of_the_interface_are_not_read_twice():
    view = record("event_msg", type="agent_message", message="hello")
    events, damages, *_ = read(view, said("hello"), record("event_msg", type="exec_command_end", call_id="1"))
    assert (shapes(events), damages) == ([("completion", "hello", 0)], [])


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ({"type": "task_complete"}, EndReason.FINISHED),
        ({"type": "turn_aborted", "reason": "interrupted"}, EndReason.CANCELLED),
        ({"type": "error", "message": "m"}, EndReason.ERROR),
        ({"type": "task_complete", "error": {"message": "m"}}, EndReason.ERROR),
        ({"type": "task_started"}, EndReason.LOG_TRUNCATED),
        ({"type": "token_count", "info": None}, EndReason.UNRECORDED),
    ],
)
def test_the_last_word_on_the_turn_is_the_end(last, reason):
    *_, end = read(said("a"), record("event_msg", **last))
    assert end.reason is reason


def test_a_resumed_session_that_was_killed_is_not_finished():
    *_, end = read(said("a"), record("event_msg", type="task_complete"), record("event_msg", type="task_started"))
    assert end.reason is EndReason.LOG_TRUNCATED


def event(kind: str, **payload: object) -> dict[str, object]:
    return record("event_msg", type=kind, **payload)


def test_a_turn_that_failed_is_no_finished_one_though_it_is_told_to_be_complete():
    failed = (event("task_started"), said("go", "user"), event("error", message="stream disconnected"))
    silent, spoken = event("task_complete", last_agent_message=None), event("task_complete", last_agent_message="done")
    *_, end = read(*failed, silent)
    assert (end.reason, end.detail) == (EndReason.ERROR, "stream disconnected")
    assert read(*failed, spoken)[-1].reason is EndReason.FINISHED
    assert read(*failed, silent, event("task_started"), silent)[-1].reason is EndReason.FINISHED


def test_a_version_that_writes_no_turns_is_damaged_only_where_a_call_is_open():
    asked, aborted = said("go", "user"), event("turn_aborted", reason="interrupted")
    *_, end = read(asked, call("c"), output("c"), said("done"))
    assert (end.reason, end.detail) == (EndReason.UNRECORDED, "this version records no end")
    assert read(asked, call("c"))[-1].reason is EndReason.LOG_TRUNCATED
    assert read(asked, call("c"), output("c"), aborted)[-1].reason is EndReason.CANCELLED
    assert read(asked, call("c"), output("c"), aborted, said("again", "user"))[-1].reason is EndReason.UNRECORDED
    assert read(asked, aborted, record("turn_context", model="m"), said("done"))[-1].reason is EndReason.UNRECORDED


def test_an_end_that_a_fork_copies_from_its_parent_is_not_its_own():
    copied = (event("task_started", turn_id=OLD_TURN), said("old"), event("task_complete", turn_id=OLD_TURN))
    forked = record("session_meta", id=CHILD, forked_from_id="parent")
    assert read(forked, *copied)[-1].reason is EndReason.LOG_TRUNCATED
    own = (event("task_started", turn_id=NEW_TURN), said("new"), event("task_complete", turn_id=NEW_TURN))
    assert read(forked, *copied, *own)[-1].reason is EndReason.FINISHED


def test_history_of_a_parent_is_flagged_and_its_tokens_are_not_added():
    passed = {"internal_chat_message_metadata_passthrough": {"turn_id": OLD_TURN}}
    events, damages, start, _ = read(
        record("session_meta", id=CHILD, forked_from_id="parent", git={"commit_hash": "ab"}),
        record("session_meta", id="parent", git={"commit_hash": "cd"}),
        record("turn_context", turn_id=OLD_TURN, model="m"),
        said("old", **passed),
        counted((100, 10), (100, 10)),
        record("turn_context", turn_id=NEW_TURN, model="m"),
        said("go on", "user"),
        said("new"),
        counted((220, 15), (120, 5)),
    )
    assert (start.native_id, start.parent_native_id, start.base_commit) == (CHILD, "parent", "ab")
    assert counts(events) == (120, 5)
    assert [event.text for event in events] == ["old", "go on", "new"]
    assert [(damage.code, damage.taints_run) for damage in damages] == [("replayed-history", False)]


@pytest.mark.parametrize("turn", [{}, {"turn_id": "3"}])
def test_history_without_times_in_ids_of_turns_is_what_the_fork_wrote_at_one_go(turn):
    def at(time: str, one: dict[str, object]) -> dict[str, object]:
        return {**one, "timestamp": time}

    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "parent", "depth": 1}}}
    events, damages, start, _ = read(
        at("2026-01-01T00:00:05.900Z", record("session_meta", id=CHILD, source=spawned)),
        at("2026-01-01T00:00:05.950Z", record("turn_context", model="m", **turn)),
        at("2026-01-01T00:00:05.999Z", said("old")),
        at("2026-01-01T00:00:06.001Z", counted((100, 10), (100, 10))),
        at("2026-01-01T00:00:06.500Z", said("new")),
        at("2026-01-01T00:00:06.501Z", counted((220, 15))),
    )
    assert start.parent_native_id == "parent"
    assert counts(events) == (120, 5)
    assert [damage.code for damage in damages] == ["replayed-history"]


def test_a_compressed_rollout_is_the_same_rollout(tmp_path, shared_path):
    (plain,) = shared_path("data", "formats", "codex", "generated-fix-add", "a1").glob("rollout-*.jsonl")
    packed = tmp_path / "rollout.jsonl.zst"
    packed.write_bytes(zstandard.compress(plain.read_bytes()))
    source = expanded(FileSource(packed))
    assert READER.sniff(source.head(), source) > 0.9
    assert list(READER.read(source)) == list(READER.read(FileSource(plain)))


def test_compaction_and_rollback_are_edits_of_the_context():
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "task"}]}]
    events, *_ = read(
        record("compacted", message="so far", replacement_history=history),
        record("event_msg", type="thread_rolled_back", num_turns=2),
    )
    assert shapes(events) == [
        ("context_edit", "so far\nuser: task", 0),
        ("context_edit", "the last 2 turns were taken back", 0),
    ]


def test_unknown_records_are_counted_and_taint_nothing():
    _, damages, *_ = read(record("dream"), record("dream"), item("riddle"), record("event_msg", type="hum"))
    assert [damage.reason.split(",")[0] for damage in damages] == [
        "2 records of the unknown type dream",
        "1 records of the unknown type event_msg/hum",
        "1 records of the unknown type response_item/riddle",
    ]
    assert not any(damage.taints_run for damage in damages)


def test_the_older_layout_of_bare_items_is_read():
    meta = {"id": "s", "timestamp": "T", "instructions": "be good", "git": {"commit_hash": "ab"}}
    user = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    made = {"type": "function_call", "name": "sh", "arguments": "{}", "call_id": "c"}
    answer = {"type": "function_call_output", "call_id": "c", "output": "ok"}
    events, damages, start, end = read(meta, {"record_type": "state"}, user, made, answer)
    assert (start.native_id, start.base_commit, damages) == ("s", "ab", [])
    assert [event.kind.value for event in events] == ["system", "user", "completion", "observation"]
    assert end.reason is EndReason.UNRECORDED
    data = json.dumps(meta).encode()
    assert READER.sniff(data, BytesSource("x", data)) == 0.7


def test_a_hosted_provider_makes_the_engine_unobservable_and_another_says_nothing():
    def absent(provider: str) -> set[str]:
        data = json.dumps(record("session_meta", id="s", model_provider=provider)).encode()
        found = READER.read(BytesSource("x", data))
        return {one.field for one in found if isinstance(one, ManifestFact) and one.absence is Absence.UNOBSERVABLE}

    assert {"engine.version", "kv.dtype"} <= absent("openai")
    assert absent("vllm-local") == set()


def test_every_shape_of_the_union_sample_is_read_without_taint(shared_path):
    events, damages, start, _ = parts(shared_path("data", "formats", "codex", "union_shapes_small.jsonl").read_bytes())
    assert start.native_id == "019fc8be-3658-7ca3-9e29-000000000000"
    assert {damage.code for damage in damages} == {"usage-reset", "model-changed"}
    assert sum(len(event.calls) for event in events) == 8
    assert len([event for event in events if event.kind is EventKind.OBSERVATION]) == 6


def test_a_file_cut_anywhere_gives_a_prefix_that_is_not_finished(shared_path):
    (path,) = shared_path("data", "formats", "codex", "generated-fix-add", "b1").glob("rollout-*.jsonl")
    whole = path.read_bytes()
    expected, *_ = parts(whole)
    for cut in range(0, len(whole) - 300, 997):
        events, damages, _, end = parts(whole[:cut])
        assert end.reason is EndReason.LOG_TRUNCATED
        assert shapes(events)[:-1] == shapes(expected)[: len(events) - 1] if events else True
        is_whole = whole[:cut].endswith((b"\n", b"}")) or not cut
        assert is_whole or [damage.code for damage in damages] == ["cut-tail"]


KEYS = st.sampled_from(["type", "role", "content", "output", "info", "usage", "text", "arguments", "id"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["message", "input_image", "x\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
TYPES = st.sampled_from(
    ["response_item", "event_msg", "session_meta", "turn_context", "compacted", "token_usage_record"]
)
ITEMS = st.sampled_from(["message", "function_call", "reasoning", "x_output", "token_count", "web_search_call"])


@settings(deadline=None)
@given(VALUES, TYPES, ITEMS)
def test_payloads_of_any_shape_give_no_traceback(payload, kind, inner):
    payload = payload | {"type": inner} if isinstance(payload, dict) else payload
    read({"type": kind, "payload": payload}, payload)
