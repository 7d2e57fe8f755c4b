"""Where the store holds what looks like a secret: run, event, byte, kind and digest, never the secret itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from samework.canon.arguments import canonical_value
from samework.secrets.finding import digest_of, secrets
from samework.secrets.names import is_secret_name
from samework.store import sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.store.connection import StoreHandle

_SQL = "samework.api"
_TEXTS_AT_ONCE = 64


class SecretPlace(msgspec.Struct, frozen=True):
    """One place. kind and digest are those of the mark that a report leaves there.

    part: an event's kind, reasoning, arguments, patch, manifest, outcome, review or other. seq: the event in its run.
    name: of the tool or field, and of the other run that a review is about. record_offset: byte of the source where
    the event's record begins. offset, n_bytes: of the secret in the part's text, in bytes of UTF-8.
    """

    run: str
    part: str
    seq: int | None
    name: str | None
    record_offset: int | None
    offset: int
    n_bytes: int
    kind: str
    digest: str


class _Found(msgspec.Struct, frozen=True):
    offset: int
    n_bytes: int
    kind: str
    digest: str


def scan(handle: StoreHandle) -> list[SecretPlace]:
    """All places, events in the order of their runs, then fields. Linear in the bytes of the store."""
    by_text = _texts(handle)
    rows = handle.db.execute(sql.load(_SQL, "sql/scan_places"), {"texts": list(by_text)}).fetchall() if by_text else []
    places = [
        SecretPlace(run, part, seq, name, record_offset, found.offset, found.n_bytes, found.kind, found.digest)
        for sha256, run, part, seq, name, record_offset in rows
        for found in by_text[sha256]
    ]
    return places + [
        SecretPlace(run, part, None, name, None, found.offset, found.n_bytes, found.kind, found.digest)
        for run, part, name, text in handle.db.execute(sql.load(_SQL, "sql/scan_fields")).fetchall()
        for found in _of_part(part, name, text)
    ]


def _texts(handle: StoreHandle) -> dict[bytes, list[_Found]]:
    rows = handle.db.execute(sql.load(_SQL, "sql/scan_texts"))
    by_text: dict[bytes, list[_Found]] = {}
    while some := rows.fetchmany(_TEXTS_AT_ONCE):
        by_text |= {sha256: found for sha256, text in some if (found := _of_text(text))}
    return by_text


def _of_text(text: str) -> list[_Found]:
    found = []
    at, offset = 0, 0
    for secret in secrets(text):
        offset += len(text[at : secret.start].encode())
        value = text[secret.start : secret.end]
        n_bytes = len(value.encode())
        found.append(_Found(offset, n_bytes, secret.kind, digest_of(value)))
        at, offset = secret.end, offset + n_bytes
    return found


def _of_part(part: str, name: str | None, text: str) -> list[_Found]:
    """Secrets of one short text: that of a field or an outcome is JSON, and its marks are those of the values in it."""
    if name is None or part == "review":
        return _of_text(text)
    found: list[_Found] = []
    at, offset = 0, 0
    for own, value, written in _values(name, json.loads(text)):
        inside = [_Found(0, len(written.encode()), own, digest_of(value))] if is_secret_name(own) else _of_text(value)
        if value and inside:
            start = max(at, text.find(written, at))
            offset += len(text[at:start].encode())
            at = start
            found += [msgspec.structs.replace(each, offset=offset + each.offset) for each in inside]
    return found


def _values(name: str, value: object) -> Iterator[tuple[str, str, str]]:
    """Texts of a JSON value: name, text, and how it is written there; below the name of a secret the JSON of all."""
    if isinstance(value, str):
        yield name, value, json.dumps(value, ensure_ascii=False)[1:-1]
    elif value is None or isinstance(value, bool):
        return
    elif is_secret_name(name):
        written = canonical_value(value)
        yield name, written, written
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _values("", key)
            yield from _values(key, item)
    elif isinstance(value, list):
        for item in value:
            yield from _values(name, item)
