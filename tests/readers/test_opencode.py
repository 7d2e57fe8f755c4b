"""The reader of OpenCode: a step is a completion, snapshots are trees, in an export and in the database alike."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import Any

import pytest

from samework.decode.source import BytesSource, FileSource
from samework.errors import DamagedRecord
from samework.model.records import TreeRecord
from samework.model.words import EndReason, EventKind
from samework.readers.opencode import READER
from tests.agentlab import Run, read_bytes, read_file

TREES = ["a" * 40, "b" * 40, "c" * 40]
INFO = {
    "id": "ses_1", "slug": "s", "projectID": "p", "directory": "/w", "title": "t", "version": "1.2.3",
    "parentID": "ses_0", "time": {"created": 5},
}  # fmt: skip


def tokens(output: int, **more: int) -> dict[str, Any]:
    return {"input": 10, "output": output, "reasoning": 2, "cache": {"read": 90, "write": 1}, **more}


def asked(name: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "info": {"id": name, "role": "user", "time": {"created": 6}, **more},
        "parts": [{"type": "text", "text": text}],
    }


def tool(call_id: str, status: str = "completed", **state: Any) -> dict[str, Any]:
    return {"type": "tool", "callID": call_id, "tool": "bash", "state": {"status": status, "input": {"c": 1}, **state}}


def replied(name: str, *parts: dict[str, Any], finish: str | None = "stop", **more: Any) -> dict[str, Any]:
    info = {
        "id": name, "role": "assistant", "modelID": "m-1", "providerID": "p-1", "finish": finish,
        "path": {"cwd": "/w/x", "root": "/w"}, "time": {"created": 7, "completed": 8}, **more,
    }  # fmt: skip
    return {"info": info, "parts": list(parts)}


def step(*parts: dict[str, Any], trees: tuple[int, int] = (0, 1), output: int = 5, **more: Any) -> list[dict[str, Any]]:
    return [
        {"type": "step-start", "snapshot": TREES[trees[0]]},
        *parts,
        {"type": "step-finish", "reason": "stop", "snapshot": TREES[trees[1]], "tokens": tokens(output, **more)},
    ]


MESSAGES = [
    asked("msg_1", "do", system="be good"),
    replied(
        "msg_2",
        *step(
            {"type": "reasoning", "text": "hm"},
            {"type": "text", "text": "look"},
            tool("c1", output="a", metadata={"exit": 3}, time={"end": 9}),
            tool("c2", "error", error="no"),
            trees=(0, 1),
        ),
        *step({"type": "text", "text": "done"}, {"type": "patch", "hash": "x", "files": []}, trees=(1, 2), total=108),
        tokens=tokens(99),
    ),
]


def export(messages: list[Any], **info: Any) -> bytes:
    return json.dumps({"info": {**INFO, **info}, "messages": messages}, indent=2).encode()


def database(path: Any, sessions: list[tuple[dict[str, Any], list[Any]]]) -> Any:
    db = sqlite3.connect(path)
    db.executescript(
        "CREATE TABLE `session` (id text PRIMARY KEY, project_id text, parent_id text, slug text, directory text,"
        " title text, version text, revert text, time_created integer, time_updated integer);"
        "CREATE TABLE `message` (id text PRIMARY KEY, session_id text, time_created integer, data text);"
        "CREATE TABLE `part` (id text PRIMARY KEY, message_id text, session_id text, data text);"
    )
    for info, messages in sessions:
        revert = json.dumps(info["revert"]) if "revert" in info else None
        row = (info["id"], "p", info.get("parentID"), "s", "/w", "t", "1.2.3", revert, 5, 5)
        db.execute("INSERT INTO session VALUES (?,?,?,?,?,?,?,?,?,?)", row)
        for place, message in enumerate(messages):
            name = message["info"]["id"]
            told = json.dumps({key: value for key, value in message["info"].items() if key != "id"})
            db.execute("INSERT INTO message VALUES (?,?,?,?)", (name, info["id"], place, told))
            for number, part in enumerate(message["parts"]):
                made = (f"prt_{name}_{number:03d}", name, info["id"], json.dumps(part))
                db.execute("INSERT INTO part VALUES (?,?,?,?)", made)
    db.commit()
    db.close()
    return path


def check(run: Run) -> None:
    assert run.kinds == ["system", "user", "completion", "observation", "observation", "completion"]
    assert run.texts == ["be good", "do", "look", "a", "no", "done"]
    assert run.steps[0].reasoning == "hm"
    assert [event.exit_status for event in run.of(EventKind.OBSERVATION)] == [3, None]
    assert [event.workspace_tree_oid for event in run.steps] == [TREES[0], TREES[1]]
    assert [event.usage.completion_tokens for event in run.steps if event.usage] == [5, 7]
    assert run.tokens("prompt_tokens") == 202
    assert run.tokens("cached_tokens") == 180
    assert (run.start.native_id, run.start.parent_native_id, run.start.model) == ("ses_1", "ses_0", "m-1")
    assert run.facts["workspace.root"] == "/w"
    assert run.end.reason is EndReason.FINISHED


def test_an_export_gives_a_completion_a_step_and_the_trees():
    data = export(MESSAGES)
    (run,) = read_bytes(READER, data, sure=0.8)
    check(run)
    trees = [one for one in READER.read(BytesSource("x", data)) if isinstance(one, TreeRecord)]
    assert trees == [TreeRecord(oid=TREES[2])]


def test_the_database_gives_the_same_runs_and_they_are_the_same_when_it_has_grown(tmp_path):
    other = ({**INFO, "id": "ses_2", "parentID": None}, [asked("msg_9", "else")])
    (first,) = read_file(READER, database(tmp_path / "one.db", [(INFO, MESSAGES)]))
    check(first)
    again, second = read_file(READER, database(tmp_path / "two.db", [(INFO, MESSAGES), other]))
    check(again)
    assert again.start.content_sha256 == first.start.content_sha256 != second.start.content_sha256
    assert second.texts == ["else"]


@pytest.mark.parametrize("is_table", [False, True])
def test_what_was_taken_back_is_a_run_of_its_own(tmp_path, is_table):
    messages = [
        asked("m1", "one"),
        replied("m2", *step({"type": "text", "text": "first"})),
        asked("m3", "two"),
        replied("m4", *step({"type": "text", "text": "old"})),
    ]
    info = {**INFO, "revert": {"messageID": "m3"}}
    if is_table:
        live, left = read_file(READER, database(tmp_path / "one.db", [(info, messages)]))
    else:
        live, left = read_bytes(READER, export(messages, **info))
    assert (live.texts, left.texts) == (["one", "first"], ["one", "first", "two", "old"])
    assert live.tokens("completion_tokens") == left.tokens("completion_tokens") == 5
    assert left.start.parent_native_id == "ses_1"


def test_tokens_of_the_message_stand_in_where_no_step_has_any():
    (run,) = read_bytes(READER, export([replied("m1", {"type": "text", "text": "a"}, tokens=tokens(9))]))
    assert run.tokens("completion_tokens") == 9


def test_reasoning_that_is_more_than_the_output_is_counted_beside_it():
    done = {"type": "step-finish", "reason": "stop", "tokens": {**tokens(12), "reasoning": 266}}
    (run,) = read_bytes(READER, export([asked("msg_1", "do"), replied("msg_2", {"type": "text", "text": "so"}, done)]))
    usage = run.steps[0].usage
    assert (usage.completion_tokens, usage.reasoning_tokens) == (278, 266)


def test_a_picture_that_a_tool_gave_is_marked_in_its_result():
    file = {"id": "prt_9", "type": "file", "mime": "image/png", "url": "data:image/png;base64,AA=="}
    found = []
    for one in (file, {**file, "id": "prt_10"}):
        (run,) = read_bytes(READER, export([replied("m1", *step(tool("c1", output="seen", attachments=[one])))]))
        found += [event.text for event in run.of(EventKind.OBSERVATION)]
    assert found[0].startswith("seen\n<file sha256")
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (replied("m1", finish="length"), EndReason.LIMIT),
        (replied("m1", finish=None, error={"name": "MessageAbortedError"}), EndReason.CANCELLED),
        (replied("m1", finish=None, error={"name": "APIError", "data": {"message": "no"}}), EndReason.ERROR),
        (replied("m1", finish="tool-calls"), EndReason.LOG_TRUNCATED),
        (replied("m1", finish=None), EndReason.UNRECORDED),
        (asked("m1", "and?"), EndReason.LOG_TRUNCATED),
    ],
)
def test_the_end_is_that_of_the_last_message(message, reason):
    (run,) = read_bytes(READER, export([asked("m0", "do"), message]))
    assert run.end.reason is reason


def test_parts_that_the_model_did_not_see_are_left_out_and_the_unknown_is_counted():
    message = asked("m1", "seen")
    message["parts"] += [
        {"type": "text", "text": "hidden", "ignored": True},
        {"type": "file", "mime": "image/png", "url": "data:"},
        {"type": "compaction", "auto": True},
        {"type": "marvel"},
    ]
    (run,) = read_bytes(READER, export([message]))
    assert run.kinds == ["context_edit", "user"]
    assert run.texts[1].startswith("seen\n<file sha256 ")
    assert "hidden" not in run.texts[1]
    assert run.codes == ["unknown-record"]


def test_rows_that_cannot_be_read_taint_their_session_only(tmp_path):
    path = database(tmp_path / "one.db", [(INFO, MESSAGES), ({**INFO, "id": "ses_2"}, [asked("m9", "fine")])])
    with sqlite3.connect(path) as db:
        db.execute("UPDATE part SET data = '{' WHERE message_id = 'msg_2'")
    db.close()
    first, second = read_file(READER, path)
    assert any(one.taints_run for one in first.damage)
    assert not second.damage


@pytest.mark.parametrize(
    ("later", "is_lacking"),
    [
        ([("msg_1", "ses_1"), ("msg_2", "ses_1")], False),
        ([("msg_2", "ses_1")], False),
        ([("msg_1", "ses_1"), ("msg_2", "ses_1"), ("msg_3", "ses_1")], True),
        ([("msg_3", "ses_1")], True),
        ([(None, "ses_1")], True),
        ([("msg_9", "ses_1")], True),
    ],
)
def test_messages_in_a_later_versions_table_are_told_and_taint_what_may_lack_them(tmp_path, later, is_lacking):
    fine, moved = {**INFO, "id": "ses_2", "parentID": None}, {**INFO, "id": "ses_3", "parentID": None}
    path = database(tmp_path / "one.db", [(INFO, MESSAGES), (fine, [asked("msg_9", "else")]), (moved, [])])
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE session_message (id text, session_id text, data text)")
        db.executemany("INSERT INTO session_message VALUES (?, ?, '{}')", [*later, ("b", "ses_3"), ("c", "ses_3")])
        db.commit()
    runs = read_file(READER, path)
    assert [[(one.code, one.taints_run) for one in run.damage] for run in runs] == [
        [("unknown-record", is_lacking)],
        [],
        [("unknown-record", True)],
    ]


def test_a_later_versions_table_that_cannot_be_read_leaves_every_session_incomplete(tmp_path):
    path = database(tmp_path / "one.db", [(INFO, MESSAGES), ({**INFO, "id": "ses_2"}, [asked("m9", "fine")])])
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE session_message (something text)")
    runs = read_file(READER, path)
    assert len(runs) == 2
    assert all(any(one.taints_run and "later version" in one.reason for one in run.damage) for run in runs)


@pytest.mark.parametrize("at", [100, 5000, 9000])
def test_a_damaged_database_is_refused_or_read(tmp_path, at):
    data = bytearray(database(tmp_path / "one.db", [(INFO, MESSAGES)]).read_bytes())
    data[at : at + 200] = b"\xff" * 200
    with contextlib.suppress(DamagedRecord):
        read_bytes(READER, bytes(data))


def test_a_view_in_the_place_of_a_table_is_not_run(tmp_path):
    path = tmp_path / "one.db"
    with sqlite3.connect(path) as db:
        db.executescript(
            "CREATE TABLE session (id text, title text); INSERT INTO session VALUES ('ses_1', 't');"
            "CREATE TABLE part (id text, message_id text, session_id text, data text);"
            "CREATE VIEW message AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
            " SELECT i AS id, 'ses_1' AS session_id, '{}' AS data FROM n;"
        )
    db.close()
    with pytest.raises(DamagedRecord, match="no plain table message"):
        list(READER.read(FileSource(path)))


def test_a_database_in_write_ahead_mode_says_that_rows_may_be_missing(tmp_path):
    path = database(tmp_path / "one.db", [(INFO, MESSAGES)])
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    (run,) = read_file(READER, path)
    check(run)
    assert run.codes == ["write-ahead-log"]
