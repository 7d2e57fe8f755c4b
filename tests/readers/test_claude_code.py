"""The reader of Claude Code: one reply once, branches and sub-agents as runs of their own, breaks reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

from samework.errors import DamagedRecord
from samework.model.words import EndReason, EventKind
from samework.readers.claude_code import READER
from tests.agentlab import read_bytes, read_file, read_lines

SESSION = "5e5e5e5e-0000-4000-8000-000000000001"
SAMPLES = (
    "03_6ec8b29cf4_0", "2b_976627f63c_0", "37_995ebed6e4_2", "42_527c9c20c8_0", "42_527c9c20c8_1", "55_04c1f4266f_0",
    "5a_c45bc32212_0", "68_e0ff0d6706_0", "8c_fa910f8ef9_5", "a6_e4c2a0fbd1_0", "dc_49cb8a2a42_0",
)  # fmt: skip


def line(kind: str, uuid: str | None, parent: str | None, **more: Any) -> dict[str, Any]:
    return {
        "parentUuid": parent, "isSidechain": False, "cwd": "/w", "sessionId": SESSION, "version": "2.1.7",
        "gitBranch": "main", "type": kind, "timestamp": "2026-01-01T00:00:00Z",
        **({} if uuid is None else {"uuid": uuid}), **more,
    }  # fmt: skip


def asked(uuid: str, parent: str | None, text: object, **more: Any) -> dict[str, Any]:
    return line("user", uuid, parent, message={"role": "user", "content": text}, **more)


def replied(uuid: str, parent: str | None, message_id: str, *blocks: object, n_out: int = 5, **more: Any) -> Any:
    usage = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 10,
        "cache_read_input_tokens": 100,
        "output_tokens": n_out,
    }
    message = {"role": "assistant", "id": message_id, "model": "m-1", "content": list(blocks), "usage": usage}
    return line("assistant", uuid, parent, message={**message, **more.pop("message", {})}, **more)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def use(call_id: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": given}


def gave(uuid: str, parent: str | None, call_id: str, content: object = "ok", *, is_error: bool = False) -> Any:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error}
    return asked(uuid, parent, [block])


def test_lines_of_one_reply_are_one_completion_though_results_stand_between_them():
    (run,) = read_lines(
        READER,
        asked("u1", None, "do"),
        replied("a1", "u1", "msg_1", {"type": "thinking", "thinking": "hm", "signature": "s"}, n_out=1),
        replied("a2", "a1", "msg_1", text("both"), n_out=1),
        replied("a3", "a2", "msg_1", use("t1", command="ls"), n_out=1),
        gave("r1", "a3", "t1", "one"),
        replied("a4", "a3", "msg_1", use("t2", command="pwd"), n_out=80),
        gave("r2", "a4", "t2", "two"),
        replied("a5", "r2", "msg_2", text("done"), n_out=7),
    )
    assert run.kinds == ["user", "completion", "observation", "observation", "completion"]
    first = run.steps[0]
    assert (first.text, first.reasoning, [call.call_id for call in first.calls]) == ("both", "hm", ["t1", "t2"])
    assert first.calls[0].arguments == '{"command":"ls"}'
    assert first.calls[0].exact is False
    assert [event.call_id for event in run.of(EventKind.OBSERVATION)] == ["t1", "t2"]
    assert first.usage is not None
    assert (first.usage.prompt_tokens, first.usage.cached_tokens, first.usage.cache_write_tokens) == (113, 100, 10)
    assert run.tokens("completion_tokens") == 87
    assert run.start.native_id == SESSION
    assert run.facts["workspace.root"] == "/w"


def test_counts_of_a_reply_without_a_stop_are_said_to_be_those_of_a_log():
    (run,) = read_lines(
        READER,
        replied("a1", None, "msg_1", text("a")),
        replied("a2", "a1", "msg_2", text("b"), message={"stop_reason": "end_turn"}),
    )
    assert [event.usage.source for event in run.steps if event.usage] == ["log", "response"]


def test_zero_counts_are_no_counts():
    (run,) = read_lines(
        READER, replied("a1", None, "m", text("a"), message={"usage": {"input_tokens": 0, "output_tokens": 0}})
    )
    assert run.steps[0].usage is None


def test_a_prompt_that_goes_back_leaves_a_branch_whose_shared_tokens_are_counted_once():
    (live, left) = read_lines(
        READER,
        asked("u1", None, "one"),
        replied("a1", "u1", "msg_1", text("first"), n_out=10),
        asked("u2", "a1", "two"),
        replied("a2", "u2", "msg_2", text("old"), n_out=20),
        asked("u3", "a1", "two again"),
        replied("a3", "u3", "msg_3", text("new"), n_out=40),
    )
    assert live.texts == ["one", "first", "two again", "new"]
    assert left.texts == ["one", "first", "two", "old"]
    assert live.tokens("completion_tokens") == 40
    assert left.tokens("completion_tokens") == 30
    assert (left.start.native_id, left.start.parent_native_id) == (SESSION, None)
    assert (live.start.native_id, live.start.parent_native_id) == (f"{SESSION}/u3", SESSION)
    assert (live.start.extra, left.start.extra) == (None, {"branch": "left"})


def test_going_back_to_a_left_branch_goes_on_with_it():
    first, second = read_lines(
        READER,
        asked("u1", None, "one"),
        replied("a1", "u1", "msg_1", text("first")),
        asked("u2", "a1", "two"),
        replied("a2", "u2", "msg_2", text("old")),
        asked("u3", "a1", "two again"),
        replied("a3", "u3", "msg_3", text("new")),
        asked("u4", "a2", "three"),
        replied("a4", "u4", "msg_4", text("old goes on")),
    )
    assert first.texts == ["one", "first", "two", "old", "three", "old goes on"]
    assert second.texts == ["one", "first", "two again", "new"]
    assert second.tokens("completion_tokens") == 5
    assert (first.start.native_id, second.start.native_id) == (SESSION, f"{SESSION}/u3")


def back_at(parent: str | None, *between: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A session of two turns, then records that hang on `parent` one after another, and a reply."""
    records = [
        asked("u1", None, "one"),
        replied("a1", "u1", "msg_1", text("first")),
        asked("u2", "a1", "two"),
        replied("a2", "u2", "msg_2", text("old")),
    ]
    for number, (kind, given) in enumerate(between):
        message = {"message": {"role": "user", "content": given.pop("says")}} if "says" in given else {}
        records.append(line(kind, f"b{number}", parent, **message, **given))
        parent = f"b{number}"
    return [*records, replied("a3", parent, "msg_3", text("new"))]


@pytest.mark.parametrize(
    ("parent", "between", "own"),
    [
        (None, [("user", {"says": "anew"})], ["anew"]),
        (
            "a1",
            [
                ("user", {"says": "<local-command-caveat>Caveat", "isMeta": True}),
                ("user", {"says": "<command-name>/model</command-name>"}),
                ("user", {"says": "<local-command-stdout>Set</local-command-stdout>"}),
                ("user", {"says": "three"}),
            ],
            [
                "<local-command-caveat>Caveat", "<command-name>/model</command-name>",
                "<local-command-stdout>Set</local-command-stdout>", "three",
            ],
        ),
        ("a1", [("attachment", {"attachment": {"type": "hook_success"}}), ("user", {"says": "three"})], ["three"]),
        ("a1", [("progress", {"data": {}}), ("user", {"says": [text("three")]})], ["three"]),
        (
            "a1",
            [
                ("user", {"says": "<command-message>review</command-message>\n<command-name>/review</command-name>"}),
                ("user", {"says": [text("Review it")], "isMeta": True}),
            ],
            ["<command-message>review</command-message>\n<command-name>/review</command-name>", "Review it"],
        ),
        ("a1", [("user", {"says": "Continue from where you left off.", "isMeta": True})], None),
    ],
    ids=["to-the-start", "after-a-command", "after-an-attachment", "after-a-hook", "by-a-command", "by-the-program"],
)  # fmt: skip
def test_going_back_is_seen_whatever_stands_before_the_prompt(parent, between, own):
    live, left = read_lines(READER, *back_at(parent, *between))
    shared = [] if parent is None else ["one", "first"]
    assert live.texts == [*shared, *(own or ["Continue from where you left off."]), "new"]
    assert left.texts == ["one", "first", "two", "old"]
    assert (left.tokens("completion_tokens"), live.tokens("completion_tokens")) == (10, 5)
    assert live.start.native_id == f"{SESSION}/b0"


def test_notes_that_hang_further_back_are_no_branch_where_no_prompt_follows_them():
    records = back_at("a1", ("user", {"says": "<command-name>/cost</command-name>"}), ("progress", {"data": {}}))[:-1]
    (run,) = read_lines(READER, *records, asked("u3", "a2", "three"), replied("a3", "u3", "msg_3", text("third")))
    assert run.texts == ["one", "first", "two", "old", "<command-name>/cost</command-name>", "three", "third"]
    (hook,) = read_lines(READER, *back_at("a1", ("progress", {"data": {}})))
    assert hook.texts == ["one", "first", "two", "old", "new"]


def test_a_prompt_without_a_parent_goes_on_after_a_compaction_and_where_no_record_names_one():
    boundary = line("system", "c1", None, subtype="compact_boundary", content="compacted", logicalParentUuid="a1")
    (run,) = read_lines(
        READER,
        asked("u1", None, "one"),
        replied("a1", "u1", "msg_1", text("first")),
        boundary,
        asked("u2", None, "two"),
        replied("a2", "u2", "msg_2", text("second")),
    )
    assert run.texts == ["one", "first", "compacted", "two", "second"]
    (run,) = read_lines(
        READER,
        *(asked("u1", None, "one"), replied("a1", None, "msg_1", text("first"))),
        *(asked("u2", None, "two"), replied("a2", None, "msg_2", text("second"))),
    )
    assert run.texts == ["one", "first", "two", "second"]


def test_what_a_compaction_writes_again_under_new_ids_is_a_copy():
    two, old = asked("u2", "a1", "two"), replied("a2", "u2", "msg_2", text("old"))
    (run,) = read_lines(
        READER,
        asked("u1", None, "one"),
        replied("a1", "u1", "msg_1", text("first")),
        *(two, old),
        line("system", "c1", None, subtype="compact_boundary", content="compacted", logicalParentUuid="a2"),
        asked("c2", "c1", "the story so far", isCompactSummary=True),
        *({**two, "uuid": "n2"}, {**old, "uuid": "n3", "parentUuid": "n2"}),
        asked("u3", "n3", "three"),
        replied("a3", "u3", "msg_3", text("third")),
    )
    assert run.texts == ["one", "first", "two", "old", "the story so far", "three", "third"]
    assert run.kinds.count("context_edit") == 1
    assert run.tokens("completion_tokens") == 15
    assert run.codes == ["copied-record"]


def test_a_prompt_that_is_asked_again_later_is_no_copy():
    again = {**asked("u3", "a1", "two"), "timestamp": "2026-01-01T00:00:09Z"}
    live, left = read_lines(
        READER,
        asked("u1", None, "one"),
        replied("a1", "u1", "msg_1", text("first")),
        asked("u2", "a1", "two"),
        replied("a2", "u2", "msg_2", text("old")),
        again,
        replied("a3", "u3", "msg_3", text("new")),
    )
    assert (live.texts[-1], left.texts[-1]) == ("new", "old")


def test_a_reply_in_two_branches_is_counted_once():
    live, left = read_lines(
        READER,
        asked("u1", None, "one"),
        replied("a1", "u1", "msg_1", text("first")),
        asked("u2", "a1", "two"),
        replied("a2", "u2", "msg_2", text("old"), n_out=20),
        asked("u3", "a1", "two, edited"),
        {**replied("a3", "u3", "msg_2", text("old"), n_out=20), "timestamp": "2026-01-01T00:00:09Z"},
    )
    assert (live.texts[-1], left.texts[-1]) == ("old", "old")
    assert (live.tokens("completion_tokens"), left.tokens("completion_tokens")) == (0, 25)


def test_a_reply_whose_lines_stand_on_both_sides_of_another_is_one():
    (run,) = read_lines(
        READER,
        asked("u1", None, "do"),
        replied("a1", "u1", "msg_1", use("t1"), n_out=1),
        gave("r1", "a1", "t1", "one"),
        replied("a2", "r1", "msg_2", text("done"), n_out=3),
        replied("a3", "a1", "msg_1", use("t2"), n_out=50),
        gave("r2", "a3", "t2", "two"),
        replied("a4", "r2", "msg_3", text("all done"), n_out=7),
    )
    assert run.kinds == ["user", "completion", "observation", "completion", "observation", "completion"]
    assert [[call.call_id for call in step.calls] for step in run.steps] == [["t1", "t2"], [], []]
    assert run.tokens("completion_tokens") == 60


def test_a_reply_does_not_wait_for_ever_and_is_counted_once():
    others = [replied(f"o{at}", f"o{at - 1}" if at else "a1", f"other_{at}", text("x"), n_out=1) for at in range(200)]
    late = replied("a2", "o199", "msg_1", text("late"), n_out=5)
    (run,) = read_lines(READER, asked("u1", None, "do"), replied("a1", "u1", "msg_1", text("first")), *others, late)
    assert (run.texts[1], run.texts[-1], len(run.steps)) == ("first", "late", 202)
    assert run.tokens("completion_tokens") == 205


@pytest.mark.parametrize("named", [True, False])
def test_sub_agents_in_the_file_are_runs_with_the_session_as_parent(named):
    side = {"isSidechain": True, **({"agentId": "aa"} if named else {})}
    main, sub = read_lines(
        READER,
        asked("u1", None, "do"),
        replied("a1", "u1", "msg_1", use("t1", prompt="x")),
        {**asked("s1", None, "x"), **side},
        {**replied("s2", "s1", "msg_s", text("sub"), n_out=7), **side},
        gave("r1", "a1", "t1"),
        replied("a2", "r1", "msg_2", text("done")),
    )
    assert main.texts == ["do", "", "ok", "done"]
    assert sub.texts == ["x", "sub"]
    assert sub.start.parent_native_id == SESSION
    assert sub.tokens("completion_tokens") == 7
    assert main.tokens("completion_tokens") == 10


def test_a_file_of_a_sub_agent_is_one_run_linked_to_its_session():
    (run,) = read_lines(
        READER,
        {**asked("s1", None, "x"), "isSidechain": True, "agentId": "aa"},
        {**replied("s2", "s1", "msg_s", text("sub")), "isSidechain": True, "agentId": "aa"},
    )
    assert (run.start.native_id, run.start.parent_native_id) == (f"{SESSION}/aa", SESSION)


def test_history_of_another_session_is_kept_but_its_tokens_are_not_added():
    (run,) = read_lines(
        READER,
        {**asked("u1", None, "one"), "sessionId": "old"},
        {**replied("a1", "u1", "msg_1", text("first"), n_out=10), "sessionId": "old"},
        asked("u2", "a1", "two"),
        replied("a2", "u2", "msg_2", text("second"), n_out=20),
    )
    assert run.texts == ["one", "first", "two", "second"]
    assert run.tokens("completion_tokens") == 20
    assert run.start.parent_native_id == "old"
    assert "replayed-history" in run.codes


def test_a_fork_names_the_session_that_it_was_forked_from():
    fork = {"forkedFrom": {"sessionId": "old", "messageUuid": "x"}}
    (run,) = read_lines(
        READER,
        {**asked("u1", None, "one"), **fork},
        {**replied("a1", "u1", "msg_1", text("first"), n_out=10), **fork},
        asked("u2", "a1", "two"),
        replied("a2", "u2", "msg_2", text("second"), n_out=20),
    )
    assert run.start.parent_native_id == "old"
    assert run.tokens("completion_tokens") == 20


def test_a_record_that_is_written_again_is_one_record():
    (run,) = read_lines(
        READER,
        asked("u1", None, "one"),
        replied("a1", "u1", "msg_1", text("first")),
        {**replied("a1", "u1", "msg_1", text("first")), "version": "2.1.8"},
    )
    assert run.texts == ["one", "first"]
    assert "copied-record" in run.codes


def test_the_programs_own_words_are_no_completion_and_an_error_where_they_are_the_last():
    synthetic = {"model": "<synthetic>"}
    (run,) = read_lines(
        READER, asked("u1", None, "one"), replied("a1", "u1", "x", text("API Error: 500"), message=synthetic)
    )
    assert run.kinds == ["user"]
    assert run.end.reason is EndReason.ERROR
    assert run.start.model is None
    assert run.codes == ["synthetic-message"]


@pytest.mark.parametrize(
    ("marks", "words", "reason"),
    [
        ({"isApiErrorMessage": True}, "Credit balance is too low", EndReason.ERROR),
        ({"error": "server_error"}, "no", EndReason.ERROR),
        ({}, "Prompt is too long", EndReason.ERROR),
        ({}, "No response requested.", EndReason.CANCELLED),
        ({"isApiErrorMessage": False}, "No response requested.", EndReason.CANCELLED),
    ],
)
def test_the_programs_own_words_are_a_failure_only_where_they_say_so(marks, words, reason):
    said = replied("a2", "u5", "x", text(words), message={"model": "<synthetic>"})
    (run,) = read_lines(
        READER,
        asked("u1", None, "one"),
        replied("a1", "u1", "m1", text("a")),
        asked("u2", "a1", [text("[Request interrupted by user]")]),
        asked("u3", "u2", "<local-command-caveat>Caveat", isMeta=True),
        asked("u4", "u3", "<command-name>/exit</command-name>"),
        asked("u5", "u4", "<local-command-stdout>Bye!</local-command-stdout>"),
        {**said, **marks},
    )
    assert run.end.reason is reason


def test_a_compaction_is_one_edit_of_the_context_with_or_without_its_summary():
    boundary = line("system", "b1", None, subtype="compact_boundary", content="Conversation compacted")
    (run,) = read_lines(
        READER,
        asked("u1", None, "one"),
        boundary,
        asked("u2", "b1", "the story so far", isCompactSummary=True),
        replied("a1", "u2", "msg_1", text("on")),
        {**boundary, "uuid": "b2"},
        asked("u3", "b2", "more"),
    )
    assert run.kinds == ["user", "context_edit", "completion", "context_edit", "user"]
    assert run.texts[1] == "the story so far"


def test_only_a_status_that_the_text_names_is_one():
    (run,) = read_lines(
        READER,
        replied("a1", None, "m", use("t1"), use("t2"), use("t3")),
        gave("r1", "a1", "t1", "Exit code 2\nno", is_error=True),
        gave("r2", "a1", "t2", "Exit code 2\nprinted by the program"),
        gave("r3", "a1", "t3", [text("fine"), {"type": "image", "source": {"data": "x"}}]),
    )
    assert [event.exit_status for event in run.of(EventKind.OBSERVATION)] == [2, None, None]
    assert run.texts[-1].startswith("fine\n<image sha256 ")


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (asked("u2", "a1", "[Request interrupted by user]"), EndReason.CANCELLED),
        (replied("a2", "a1", "m2", use("t1")), EndReason.LOG_TRUNCATED),
        (replied("a2", "a1", "m2", text("done")), EndReason.UNRECORDED),
    ],
)
def test_how_a_session_ended_is_said_only_where_the_record_shows_it(last, reason):
    (run,) = read_lines(READER, asked("u1", None, "one"), replied("a1", "u1", "m1", text("a")), last)
    assert run.end.reason is reason


def test_unknown_records_are_counted_and_taint_nothing():
    (run,) = read_lines(
        READER,
        asked("u1", None, "one"),
        line("marvel", "x1", "u1"),
        line("marvel", "x2", "x1"),
        line("attachment", "x3", "x2", attachment={"type": "todo_reminder"}),
        line("attachment", "x4", "x3", attachment={"type": "queued_command", "prompt": "wait"}),
        line("progress", "x5", "x4", data={"message": {"role": "assistant", "content": "a copy"}}),
    )
    assert run.codes == ["unknown-record", "unrendered-context"]
    assert not any(one.taints_run for one in run.damage)
    assert run.damage[0].reason.startswith("2 records")


def test_a_message_without_content_is_damage_and_nothing_is_invented():
    (run,) = read_lines(
        READER, asked("u1", None, "hi"), line("assistant", "a1", "u1", message={"0": "{", "content": []})
    )
    assert run.kinds == ["user"]
    assert run.damage[0].taints_run


def stream(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "session_id": "s-1", "parent_tool_use_id": None, **more}


def test_the_printed_stream_is_the_same_conversation_with_an_end():
    reply = {"role": "assistant", "id": "msg_1", "model": "m-1", "content": [use("t1", command="ls")]}
    inner = {"role": "assistant", "id": "msg_s", "model": "m-2", "content": [text("sub")]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a"}]}
    main, sub = read_lines(
        READER,
        {"type": "system", "subtype": "init", "session_id": "s-1", "cwd": "/w", "claude_code_version": "2.1.9"},
        stream("assistant", message=reply),
        {**stream("assistant", message=inner), "parent_tool_use_id": "t1"},
        stream("user", message=result),
        stream("result", subtype="error_max_turns", is_error=True, num_turns=1, usage={"output_tokens": 9}),
    )
    assert main.kinds == ["completion", "observation"]
    assert main.end.reason is EndReason.LIMIT
    assert main.start.agent_version == "2.1.9"
    assert main.start.extra == {"num_turns": 1, "result_usage": {"output_tokens": 9}}
    assert (sub.texts, sub.start.model, sub.start.parent_native_id) == (["sub"], "m-2", "s-1")


@pytest.mark.parametrize(
    ("later", "reason"),
    [
        ([], EndReason.FINISHED),
        ([stream("user", message={"role": "user", "content": "again"})], EndReason.LOG_TRUNCATED),
        ([stream("assistant", message={"role": "assistant", "id": "m2", "content": []})], EndReason.LOG_TRUNCATED),
    ],
)
def test_a_printed_stream_is_whole_only_where_its_result_is_last(later, reason):
    reply = stream("assistant", message={"role": "assistant", "id": "m1", "content": [text("hi")]})
    (run,) = read_lines(READER, reply, stream("result", subtype="success", num_turns=1), *later)
    assert run.end.reason is reason
    (run,) = read_lines(READER, reply)
    assert run.end.reason is EndReason.LOG_TRUNCATED


def test_a_call_and_the_sub_agent_that_it_started_name_each_other():
    side = {"isSidechain": True, "agentId": "aa"}
    main, sub = read_lines(
        READER,
        asked("u1", None, "do"),
        replied("a1", "u1", "msg_1", use("t1", prompt="x"), use("t2", prompt="y")),
        {**asked("s1", None, "x"), **side},
        {**replied("s2", "s1", "msg_s", text("sub")), **side},
        {**gave("r1", "a1", "t1"), "toolUseResult": {"status": "completed", "agentId": "aa"}},
        {**gave("r2", "a1", "t2"), "toolUseResult": {"status": "completed", "agentId": "bb"}},
    )
    assert main.start.extra == {"agents": {"t1": "aa", "t2": "bb"}}
    assert sub.start.extra == {"agent_id": "aa", "call_id": "t1"}


def test_glued_records_are_kept_and_a_cut_tail_taints_every_run_of_the_file():
    whole = [asked("u1", None, "do"), {**asked("s1", None, "x"), "isSidechain": True, "agentId": "aa"}]
    data = b"".join(json.dumps(one).encode() for one in whole) + b'\n{"parentUuid": "u1'
    main, sub = read_bytes(READER, data)
    assert (main.texts, sub.texts) == (["do"], ["x"])
    assert main.codes == ["glued-records", "cut-tail"]
    assert [one.taints_run for one in sub.damage] == [True]


def test_lines_end_at_line_feeds_only_and_what_follows_nul_bytes_is_read():
    first = json.dumps(asked("u1", None, "a\u2028b\u2029c\u0085d"), ensure_ascii=False).encode()
    data = first + b"\n" + b"\0" * 64 + json.dumps(replied("a1", "u1", "m1", text("x"))).encode() + b"\n"
    (run,) = read_bytes(READER, data)
    assert run.texts == ["a\u2028b\u2029c\u0085d", "x"]
    assert [(one.code, one.n_bytes, one.taints_run) for one in run.damage] == [("nul-run", 64, True)]


def test_a_reply_without_the_id_of_its_request_is_the_same_reply():
    (run,) = read_lines(
        READER,
        replied("a1", None, "m1", text("a"), n_out=50),
        replied("a2", "a1", "m1", text("b"), n_out=50, requestId="r1"),
    )
    assert [step.text for step in run.steps] == ["a\nb"]
    assert run.tokens("completion_tokens") == 50


def test_words_without_blocks_are_the_assistants_and_a_break_loses_nothing():
    plain = line("assistant", None, "u1", message={"role": "assistant", "id": "m1", "content": "plain"})
    (run,) = read_lines(READER, asked("u1", None, "one"), plain, asked("u2", "never-written", "two"))
    assert run.kinds == ["user", "completion", "user"]
    assert run.texts == ["one", "plain", "two"]
    assert run.codes == ["orphan-parent"]


def test_a_thousand_branches_are_bounded():
    records = [asked("u0", None, "root"), replied("a0", "u0", "m0", text("r"))]
    for at in range(1, 400):
        records += [asked(f"u{at}", "a0", f"try {at}"), replied(f"a{at}", f"u{at}", f"m{at}", text("r"))]
    found = read_lines(READER, *records)
    assert len(found) == 256
    assert "limit-exceeded" in found[0].codes
    assert {tuple(run.texts[:2]) for run in found} == {("root", "r")}
    assert {len(run.texts) for run in found} == {4}


def test_a_file_without_a_record_of_a_session_is_refused():
    with pytest.raises(DamagedRecord):
        read_bytes(READER, b"[1]\n")


@pytest.mark.parametrize("name", SAMPLES)
def test_real_sessions_have_the_counts_of_a_plain_walk(shared_path, name):
    path = shared_path("data", "formats", "claude-code", f"{name}.jsonl")
    records, seen = [], set()
    decoder = json.JSONDecoder()
    for raw in path.read_bytes().split(b"\n"):
        rest = raw.decode().strip()
        while rest:
            value, end = decoder.raw_decode(rest)
            rest = rest[end:].lstrip()
            if value["type"] in {"user", "assistant"} and value["uuid"] not in seen:
                seen.add(value["uuid"])
                records.append(value)
    replies = [one["message"] for one in records if one["type"] == "assistant"]
    replies = [one for one in replies if one["model"] != "<synthetic>"]
    blocks = [
        block for one in records if isinstance(one["message"]["content"], list) for block in one["message"]["content"]
    ]
    results = [block for block in blocks if block["type"] == "tool_result"]
    used: dict[str, list[int]] = {}
    for one in replies:
        given = one["usage"]
        n_in = given["input_tokens"] + given["cache_creation_input_tokens"] + given["cache_read_input_tokens"]
        held = used.setdefault(one["id"], [0, 0])
        used[one["id"]] = [max(held[0], n_in), max(held[1], given["output_tokens"])]
    (run,) = read_file(READER, path)
    assert len(run.steps) == len(used)
    assert {call.call_id for call in run.calls} == {block["id"] for block in blocks if block["type"] == "tool_use"}
    assert len(run.calls) == len({block["id"] for block in blocks if block["type"] == "tool_use"})
    assert len(run.of(EventKind.OBSERVATION)) == len(results)
    assert run.tokens("prompt_tokens") == sum(n_in for n_in, _ in used.values())
    assert run.tokens("completion_tokens") == sum(n_out for _, n_out in used.values())
    assert not any(one.taints_run for one in run.damage)
