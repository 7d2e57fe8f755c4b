"""What was asked of the store, in order, one line an act, beside the database: enough to make it again from `sources/`.

A line is the sha256 of its JSON, a blank, the JSON. Lines are brought to disk before the batch that they belong to is
committed, so the journal may tell of more than the database holds, never of less; doing an act twice adds nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

JOURNAL_NAME: Final = "journal.jsonl"
_DIGITS: Final = 64

Act = dict[str, Any]


class Journal(msgspec.Struct, frozen=True):
    """The acts of a journal. damaged: numbers of the lines, from 1, that are not what was written."""

    acts: tuple[Act, ...]
    damaged: tuple[int, ...]


def append(root: Path, batch: int, acts: Sequence[Act]) -> None:
    """Add the acts of a batch and bring them to disk; of a batch without acts, a line that says so.

    Raises: OSError: the disk is full or not writable; what was written of the lines is cut off again where it can be.
    """
    data = b"".join(_line({**act, "batch": batch}) for act in acts or ({"do": "nothing"},))
    with (root / JOURNAL_NAME).open("ab") as stream:
        start = stream.tell()
        if start and not _ends_whole(root / JOURNAL_NAME):
            data = b"\n" + data  # a cut line of an earlier crash stays a line of its own
        try:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        except OSError:
            os.truncate(root / JOURNAL_NAME, start)
            raise


def read(root: Path) -> Journal:
    """All acts in order; an absent journal is an empty one."""
    acts: list[Act] = []
    damaged: list[int] = []
    try:
        lines = (root / JOURNAL_NAME).read_bytes().split(b"\n")
    except FileNotFoundError:
        lines = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        digits, text = line[:_DIGITS], line[_DIGITS + 1 :]
        is_whole = line[_DIGITS : _DIGITS + 1] == b" " and hashlib.sha256(text).hexdigest().encode() == digits
        if is_whole:
            acts.append(json.loads(text))
        elif number < len(lines):
            damaged.append(number)
        # The last line without its end was cut by a crash before its batch was committed: nothing was lost with it.
    return Journal(tuple(acts), tuple(damaged))


def missing_batches(journal: Journal, last_batch: int) -> list[int]:
    """Batches up to `last_batch`, the last that was acknowledged, of which no line tells.

    >>> missing_batches(Journal(({"do": "nothing", "batch": 2},), ()), 3)
    [1, 3]
    """
    told = {int(act["batch"]) for act in journal.acts}
    return sorted(set(range(1, last_batch + 1)) - told)


def _line(act: Act) -> bytes:
    text = json.dumps(act, separators=(",", ":"), sort_keys=True).encode("ascii")
    return hashlib.sha256(text).hexdigest().encode("ascii") + b" " + text + b"\n"


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"
