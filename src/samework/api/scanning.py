"""Where the store holds what looks like a secret: run, event, byte, kind and digest, never the secret itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from samework.secrets.finding import digest_of, secrets
from samework.secrets.names import is_secret_name
from samework.store import sql

if TYPE_CHECKING:
    from samework.store.connection import StoreHandle

_SQL = "samework.api"
_TEXTS_AT_ONCE = 64


class SecretPlace(msgspec.Struct, frozen=True):
    """One place. kind and digest are those of the mark that a report leaves there.

    part: an event's kind, reasoning, arguments, patch, manifest, outcome or other. seq: the event in its run. name: of
    the tool or field. record_offset: byte of the source where the event's record begins. offset, n_bytes: of the secret
    in the part's text, in bytes of UTF-8.
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
        for found in _of_field(name, text)
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


def _of_field(name: str | None, text: str) -> list[_Found]:
    """A field whose name says that it is secret is one whole; its digest is that of the decoded value."""
    if name is None or not is_secret_name(name):
        return _of_text(text)
    value = json.loads(text)
    return [_Found(0, len(text.encode()), name, digest_of(value))] if isinstance(value, str) and value else []
