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

from samework.store import files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

JOURNAL_NAME: Final = "journal.jsonl"
_DIGITS: Final = 64
_STEP_BYTES: Final = 1 << 16

Act = dict[str, Any]


class Journal(msgspec.Struct, frozen=True):
    """The acts of a journal. damaged: numbers of the lines, from 1, that are not what was written."""

    acts: tuple[Act, ...]
    damaged: tuple[int, ...]


def append(root: Path, batch: int, acts: Sequence[Act]) -> None:
    """Add the acts of a batch and bring them to disk; of a batch without acts, a line that says so.

    Raises: OSError: the disk is full or not writable; what was written of the lines is cut off again where it can be.
    """
    path = root / JOURNAL_NAME
    told = list(acts) or [{"do": "nothing"}]
    if batch > 1 and not path.exists():  # a store that is older than journals
        told.insert(0, {"do": "begin"})
    data = b"".join(_line({**act, "batch": batch}) for act in told)
    with path.open("ab") as stream:
        start = cut_to_whole_lines(path)
        try:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        except OSError:
            os.truncate(path, start)
            raise


def read(root: Path) -> Journal:
    """All acts in order; an absent journal is an empty one. Raises: OSError: it cannot be read."""
    acts: list[Act] = []
    damaged: list[int] = []
    for number, whole in enumerate(files.lines(root / JOURNAL_NAME), start=1):
        line = whole.removesuffix(b"\n")
        if not line:
            continue
        digits, text = line[:_DIGITS], line[_DIGITS + 1 :]
        is_whole = line[_DIGITS : _DIGITS + 1] == b" " and hashlib.sha256(text).hexdigest().encode() == digits
        act = _act(text) if is_whole else None
        if act is not None:
            acts.append(act)
        elif is_whole or whole.endswith(b"\n"):
            damaged.append(number)
        # The last line without its end was cut by a crash before its batch was committed: nothing was lost with it.
    return Journal(tuple(acts), tuple(damaged))


def _act(text: bytes) -> Act | None:
    """An act as `append` writes one, None for anything else."""
    try:
        act = files.decoded(text)
    except ValueError:
        return None
    is_ours = isinstance(act, dict) and isinstance(act.get("do"), str) and isinstance(act.get("batch"), int)
    return act if is_ours else None


def first_batch(journal: Journal) -> int:
    """The first batch that the journal can tell of: later than 1 where the store is older than journals."""
    return next((int(act["batch"]) for act in journal.acts[:1] if act["do"] == "begin"), 1)


def missing_batches(journal: Journal, last_batch: int) -> list[int]:
    """Batches up to `last_batch`, the last that was acknowledged, of which a line should tell and none does.

    >>> missing_batches(Journal(({"do": "nothing", "batch": 2},), ()), 3)
    [1, 3]
    """
    told = {int(act["batch"]) for act in journal.acts}
    return sorted(set(range(first_batch(journal), last_batch + 1)) - told)


def _line(act: Act) -> bytes:
    text = json.dumps(act, separators=(",", ":"), sort_keys=True).encode("ascii")
    return hashlib.sha256(text).hexdigest().encode("ascii") + b" " + text + b"\n"


def cut_to_whole_lines(path: Path) -> int:
    """Take off the part of a line that a crash left: its batch was never committed. Returns the length then, bytes."""
    with path.open("rb") as stream:
        end = stream.seek(0, os.SEEK_END)
        whole = end
        while whole:
            start = max(whole - _STEP_BYTES, 0)
            stream.seek(start)
            found = stream.read(whole - start).rfind(b"\n")
            if found >= 0:
                whole = start + found + 1
                break
            whole = start
    if whole != end:
        os.truncate(path, whole)
    return whole
