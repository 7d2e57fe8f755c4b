"""Replies that stand in a log more than once, as after a retry of whoever wrote it: each counts once."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from samework.decode.shapes import as_name, content_bytes
from samework.model.records import Damage
from samework.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator


class KnownReplies:
    """The replies of a run by id. One is known again by id and content, for some servers give all replies one id."""

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}
        self._repeated: list[int] = []

    def is_again(self, reply: dict[str, object], offset: int) -> bool:
        """Whether a reply was read before; its place is told at the end then. One without an id never was."""
        own = as_name(reply.get("id"))
        if own is None or self._held.get(own) != _digest(reply):
            return False
        self._repeated.append(offset)
        return True

    def add(self, reply: dict[str, object]) -> None:
        """A reply that was taken in."""
        own = as_name(reply.get("id"))
        if own is not None:
            self._held[own] = _digest(reply)

    def findings(self) -> Iterator[Damage]:
        """What the run says of them."""
        yield from repeated_replies(self._repeated)


def _digest(reply: dict[str, object]) -> bytes:
    return hashlib.sha256(content_bytes(reply)).digest()


def repeated_replies(offsets: list[int]) -> Iterator[Damage]:
    """What a run says of replies that its source holds again, by their places."""
    if offsets:
        reason = f"{counted(len(offsets), 'record')} of a reply that stands in the source already: it counts once"
        yield Damage(offsets[0], 0, reason, code="copied-record", taints_run=False)
