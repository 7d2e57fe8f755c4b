"""How two runs were made, field by field: equal, differs, or not comparable and on which side.

Absent is never zero and never equal to absent; "not applicable" is a recorded value. Refuses to weigh anything: what a
difference means for a claim is said in `claims`.
"""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeGuard

import msgspec

from samework.model.results import FieldDifference
from samework.model.words import Absence, FieldSource
from samework.store.sql import load

if TYPE_CHECKING:
    from samework.store.connection import StoreHandle

REUSED_NAMES = ("reuse.cached_tokens", "reuse_cached_tokens")
EQUAL, DIFFERS, NOT_COMPARABLE = "equal", "differs", "not_comparable"
REQUESTED = "_requested"

GROUP_TITLES = {
    "M": "model",
    "Q": "request",
    "E": "engine",
    "C": "serving state",
    "L": "load",
    "H": "hardware",
    "W": "workspace",
    "V": "verification",
}

# The longest prefix of a dotted name decides; a name that has none is in no group and supports no claim.
_PREFIXES = {
    "model": "M",
    "weights": "M",
    "adapter": "M",
    "tokenizer": "M",
    "template": "M",
    "sampling": "Q",
    "tools": "Q",
    "prompt": "Q",
    "request": "Q",
    "engine": "E",
    "kv": "E",
    "attention": "E",
    "compute": "E",
    "batch": "E",
    "parallel": "E",
    "spec": "E",
    "deterministic": "E",
    "cache": "C",
    "prefix": "C",
    "reset": "C",
    "reuse": "C",
    "state": "C",
    "server": "C",
    "traffic": "C",
    "concurrency": "L",
    "hw": "H",
    "base": "W",
    "repo": "W",
    "env": "W",
    "network": "W",
    "clock": "W",
    "harness": "W",
    "agent": "W",
    "suite": "V",
    "tests": "V",
}


class Side(msgspec.Struct, frozen=True):
    """One field of one run: a decoded value with its source, or why it is missing."""

    value: object | None = None
    source: str | None = None
    absence: str | None = None

    @property
    def is_recorded(self) -> bool:
        """True for a value, and for "not applicable"."""
        return self.value is not None or self.absence == Absence.NOT_APPLICABLE


_UNRECORDED = Side(absence=Absence.UNRECORDED.value)


def group_of(field: str) -> str | None:
    """Letter of the group that a dotted name belongs to (see GROUP_TITLES), None where it belongs to none.

    A name with underscores only (`kv_dtype`, `prefix_cache_policy`) belongs where its first word does.

    >>> group_of("kv.dtype"), group_of("kv_dtype"), group_of("cost.usd")
    ('E', 'E', None)
    """
    return _PREFIXES.get(field.replace("_", ".").split(".", 1)[0])


def first_words(groups: str) -> list[str]:
    """First words of the names that belong to groups, for queries that sort fields as `group_of` does.

    >>> first_words("L")
    ['concurrency']
    """
    return [word for word, group in _PREFIXES.items() if group in groups]


def manifest_difference(handle: StoreHandle, a_key: int, b_key: int) -> tuple[FieldDifference, ...]:
    """Every field that is recorded, or said to be missing, of either run, in order of name.

    `a_source` / `b_source` hold the source of a value, or the word for why it is missing.
    """
    sides: dict[str, dict[int, Side]] = {}
    rows = handle.db.execute(load("samework.equivalence", "sql/manifest_pair"), {"a": a_key, "b": b_key}).fetchall()
    for field, run_key, value, source, absence in rows:
        decoded = None if value is None else json.loads(value)
        sides.setdefault(field, {}).setdefault(run_key, Side(decoded, source, absence))
    counted = handle.db.execute(load("samework.equivalence", "sql/calls_reuse"), {"a": a_key, "b": b_key}).fetchall()
    for run_key, calls in counted:
        _count_reuse(sides, run_key, calls)
    return tuple(
        difference(field, of.get(a_key, _UNRECORDED), of.get(b_key, _UNRECORDED)) for field, of in sorted(sides.items())
    )


def _count_reuse(sides: dict[str, dict[int, Side]], run_key: int, calls: list[int | None]) -> None:
    """Hold what the manifest says of reused tokens against the calls; where it says nothing, the calls stand for it."""
    is_told = False
    for name in REUSED_NAMES:
        side = sides.get(name, {}).get(run_key)
        if side is not None and side.is_recorded:
            is_told = True
            sides[name][run_key] = msgspec.structs.replace(side, value=reuse_of_calls(side.value, calls))
    if not is_told and (None not in calls or any(calls)):
        sides.setdefault(REUSED_NAMES[0], {})[run_key] = Side(calls, FieldSource.MEASURED)


def reuse_of_calls(value: object, calls: list[int | None]) -> object:
    """Reused tokens as the manifest gives them, where its calls bear it out; else a list, None for each untold call.

    >>> reuse_of_calls(0, [None, 75]), reuse_of_calls([0], [None, None]), reuse_of_calls([0, 0], [None, 0])
    ([None, 75], [0, None], [0, 0])
    """
    if isinstance(value, list):
        entries = zip_longest(value, calls)
        return [max(known) if (known := [n for n in pair if _is_count(n)]) else None for pair in entries] + (
            [None] if len(value) > len(calls) else []
        )
    return calls if _is_count(value) and sum(n or 0 for n in calls) > value else value


def _is_count(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def difference(field: str, a: Side, b: Side) -> FieldDifference:
    """Set one field of two runs side by side.

    >>> difference("kv.dtype", Side("f16", "measured"), Side()).missing
    'b'
    """
    missing = {(True, True): None, (False, True): "a", (True, False): "b", (False, False): "both"}[
        a.is_recorded, b.is_recorded
    ]
    if missing is not None:
        state = NOT_COMPARABLE
    else:
        state = EQUAL if (a.absence, _canonical(a.value)) == (b.absence, _canonical(b.value)) else DIFFERS
    return FieldDifference(field, state, a.value, b.value, _source(a), _source(b), missing)


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _source(side: Side) -> str:
    if side.value is not None:
        return side.source or "declared"
    return side.absence or Absence.UNRECORDED.value
