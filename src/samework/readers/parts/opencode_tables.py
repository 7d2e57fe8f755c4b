"""Sessions of OpenCode's SQLite database, one run each. The rules are those of `opencode`."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import msgspec

from samework.decode import strict_json
from samework.decode.shapes import as_dict, as_text
from samework.decode.strict_json import NotJson
from samework.errors import DamagedRecord
from samework.model.records import Damage, RunStart
from samework.readers.parts.agent_parts import note
from samework.readers.parts.opencode_talk import Talk, start
from samework.readers.parts.sqlite_rows import Rows, text_of
from samework.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_SESSION = ("id", "project_id", "parent_id", "slug", "directory", "title", "version", "revert", "time_created")
_LATER = "session_message"
_NAMES = {"project_id": "projectID", "parent_id": "parentID"}


class _Message(msgspec.Struct):
    """One message: its id, what it says of itself, its parts."""

    name: str
    info: dict[str, object]
    parts: list[dict[str, object]] = []


def sessions(source: Source) -> Iterator[Record]:
    """Each session of a database, then what was taken back of it.

    Raises: DamagedRecord: no sessions. LimitExceeded: too large, or too much work.
    """
    rows = Rows(source)
    try:
        infos = [_info(row) for row in rows.select("session", _SESSION, ("time_created", "id"))]
        messages, damage = _messages(rows)
        unread, unsure = _unread(rows)
    finally:
        rows.close()
    if not infos:
        raise DamagedRecord("no session", place=visible(source.path))
    for info in infos:
        name = as_text(info.get("id")) or ""
        held = messages.get(name, [])
        back = as_text(as_dict(info.get("revert")).get("messageID"))
        cut = next((place for place, message in enumerate(held) if message.name == back), None)
        found = [*damage.get(name, []), *unsure, *_log(has_log=rows.has_log)]
        if name in unread:
            # What the later version added to the session is in its table alone, and lacks here.
            is_lacking = not {message.name for message in held}.issuperset(unread[name])
            reason = f"{len(unread[name])} messages in the table of a later version, which is not read"
            found.append(Damage(0, 0, reason, code="unknown-record", taints_run=is_lacking))
        yield from _run(info, held[:cut], found, is_left=False)
        if cut is not None:
            yield from _run(info, held, found, is_left=True, n_shared=cut)


def _unread(rows: Rows) -> tuple[dict[str, list[str | None]], list[Damage]]:
    """Ids of messages in a table that this reader does not know, by session; none where there is no such table.

    An id is None where the row has none. Where the table cannot be read, any session may have messages in it.
    """
    unread: dict[str, list[str | None]] = {}
    if not rows.has_table(_LATER):
        return {}, []
    try:
        for row in rows.select(_LATER, ("id", "session_id"), ("session_id",)):
            unread.setdefault(text_of(row.get("session_id")) or "", []).append(text_of(row.get("id")))
    except DamagedRecord as error:
        return unread, [Damage(0, 0, f"the table of a later version cannot be read: {error.message}")]
    return unread, []


def _log(*, has_log: bool) -> Iterator[Damage]:
    if has_log:
        yield note(0, "later rows may lie in a write-ahead log beside the file, which is not read", "write-ahead-log")


def _info(row: dict[str, object]) -> dict[str, object]:
    """A session as an export spells it."""
    info: dict[str, object] = {_NAMES.get(name, name): text_of(value) for name, value in row.items()}
    info["revert"] = _decoded(row.get("revert"))
    info["time"] = {"created": row.get("time_created")}
    return {name: value for name, value in info.items() if value is not None}


def _messages(rows: Rows) -> tuple[dict[str, list[_Message]], dict[str, list[Damage]]]:
    """Messages with their parts, and what could not be read, by session."""
    by_session: dict[str, list[_Message]] = {}
    by_name: dict[str, _Message] = {}
    damage: dict[str, list[Damage]] = {}
    for row in rows.select("message", ("id", "session_id", "time_created", "data"), ("time_created", "id")):
        name, session, info = (
            text_of(row.get("id")) or "",
            text_of(row.get("session_id")) or "",
            _decoded(row.get("data")),
        )
        if info is None or as_text(info.get("role")) is None:
            damage.setdefault(session, []).append(Damage(0, 0, f"the message {visible(name[:60])} cannot be read"))
            continue
        by_name[name] = _Message(name, info)
        by_session.setdefault(session, []).append(by_name[name])
    for row in rows.select("part", ("id", "message_id", "session_id", "data"), ("message_id", "id")):
        name, session, part = (
            text_of(row.get("id")) or "",
            text_of(row.get("session_id")) or "",
            _decoded(row.get("data")),
        )
        message = by_name.get(text_of(row.get("message_id")) or "")
        if part is None or message is None:
            damage.setdefault(session, []).append(Damage(0, 0, f"the part {visible(name[:60])} cannot be read"))
        else:
            message.parts.append(part)
    return by_session, damage


def _decoded(value: object) -> dict[str, object] | None:
    """The object of a JSON column, None where it holds none."""
    if not isinstance(value, bytes):
        return None
    try:
        found = strict_json.loads(value)
    except NotJson:
        return None
    return found if isinstance(found, dict) else None


def _run(
    info: dict[str, object], messages: list[_Message], found: list[Damage], *, is_left: bool, n_shared: int = 0
) -> Iterator[Record]:
    model = next((message.info for message in messages if message.info.get("role") == "assistant"), {})
    for record in start(info, model, is_left=is_left):
        is_start = isinstance(record, RunStart)
        yield msgspec.structs.replace(record, content_sha256=_digest(info, messages)) if is_start else record
    yield from found
    talk = Talk(counts=not is_left)
    for place, message in enumerate(messages):
        talk.counts = talk.counts or place >= n_shared
        yield from talk.message(message.info, message.parts, 0)
    yield from talk.finish()


def _digest(info: dict[str, object], messages: list[_Message]) -> str:
    """Digest of a session, so that it is the same run in a database that has grown."""
    made = hashlib.sha256((as_text(info.get("id")) or "").encode("utf-8", "surrogatepass"))
    for message in messages:
        made.update(json.dumps([message.name, message.info, message.parts], sort_keys=True).encode())
    return made.hexdigest()
