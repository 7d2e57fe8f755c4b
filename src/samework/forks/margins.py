"""The first differing token of a completion, and how close the call was there. Pure, over little-endian arrays."""

from __future__ import annotations

import json
from itertools import permutations, takewhile
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NEAR_TIE_NATS = 0.5
"""Margin (nats, or logits at temperature 1) up to which a fork is called a near tie: declared, not measured."""
_PAIR = 2
_LOOK = "no near tie, look for a difference of input or state"

Token = int | str | None
Texts = list[tuple[str, str, str] | None]


class TokenRow(msgspec.Struct, frozen=True):
    """Ids (int32), margins (float64), the two likeliest ids (int32, -1: unrecorded) and texts (JSON) of a completion.

    As stored; None where unrecorded.
    """

    token_ids: bytes | None = None
    margins: bytes | None = None
    margin_unit: str | None = None
    top2: bytes | None = None
    texts: str | None = None


class TokenParting(msgspec.Struct, frozen=True):
    """First differing token. offset: from 0. margins: one per completion, None where unrecorded.

    finding: near_tie_flip (all margins at most the limit, and each choice among the two likeliest of every other
    completion), near_tie (the same, but the likeliest are unrecorded), large_margin, or None where margins or their
    common unit are missing. chosen: the differing ids, or texts where ids are unrecorded; None past an end.
    """

    offset: int
    chosen: tuple[Token, ...]
    margins: tuple[float | None, ...]
    unit: str | None
    finding: str | None
    words: str


def token_parting(rows: Sequence[TokenRow | None], *, limit: float = NEAR_TIE_NATS) -> TokenParting | None:
    """Where completions first differ in tokens; None where neither ids nor texts of all are recorded, or all are equal.

    Args:
        rows: one per completion.
        limit: margin up to which a fork is a near tie.
    """
    given = [row for row in rows if row is not None]
    if len(given) < len(rows) or len(rows) <= 1:
        return None
    by_text = any(row.token_ids is None for row in given)
    ways = [_own_texts(row) if by_text else _ids(row.token_ids) for row in given]
    offset = _first_difference(ways) if all(len(way) for way in ways) else None
    if offset is None or (
        by_text and offset == min(len(way) for way in ways) and any(None in _texts(r) for r in given)
    ):
        return None
    margins = tuple(_margin(row, offset) for row in given)
    units = {row.margin_unit for row in given}
    unit = units.pop() if len(units) == 1 else None
    chosen = tuple(way[offset : offset + 1].tolist()[0] if offset < len(way) else None for way in ways)
    finding, words = _finding(margins, unit, limit, _took_seconds(given, chosen, offset, by_text=by_text))
    if by_text:
        words += "; the place is told by the tokens' text, for ids are unrecorded"
    return TokenParting(offset, chosen, margins, unit, finding, words)


def _ids(raw: bytes | None) -> NDArray[Any]:
    return np.frombuffer(raw or b"", dtype="<i4")


def _texts(row: TokenRow) -> Texts:
    return [] if row.texts is None else [None if one is None else tuple(one) for one in json.loads(row.texts)]


def _own_texts(row: TokenRow) -> NDArray[Any]:
    """Texts of the tokens, up to the first that is unrecorded."""
    known = takewhile(lambda one: one is not None, _texts(row))
    return np.array([one[0] for one in known if one is not None], dtype=object)


def _first_difference(ways: Sequence[NDArray[Any]]) -> int | None:
    """First place at which not all are equal; where they are equal to the end of the shortest, its end."""
    shortest = min(len(way) for way in ways)
    differs = np.zeros(shortest, dtype=bool)
    for other in ways[1:]:
        differs |= ways[0][:shortest] != other[:shortest]
    places = np.flatnonzero(differs)
    if len(places):
        return int(places[0])
    return shortest if any(len(way) != shortest for way in ways) else None


def _margin(row: TokenRow, offset: int) -> float | None:
    if row.margins is None:
        return None
    values = np.frombuffer(row.margins, dtype="<f8")
    if offset >= len(values) or not np.isfinite(values[offset]):
        return None
    return float(values[offset])


def _took_seconds(rows: Sequence[TokenRow], chosen: Sequence[Token], offset: int, *, by_text: bool) -> bool | None:
    """True where each choice is among the two likeliest of each other row; False where one is not; None: unrecorded."""
    pairs = [_pair(row, offset, by_text=by_text) for row in rows]
    found: set[bool | None] = set()
    for one, other in permutations(range(len(rows)), _PAIR):
        if chosen[one] == chosen[other]:
            continue
        pair = pairs[other]
        found.add(None if pair is None or chosen[one] is None else chosen[one] in pair)
    return False if False in found else None if None in found else True


def _pair(row: TokenRow, offset: int, *, by_text: bool) -> tuple[Token, Token] | None:
    """The two likeliest at a place; None where unrecorded."""
    if by_text:
        texts = _texts(row)
        one = texts[offset] if offset < len(texts) else None
        return None if one is None else one[1:]
    ids = _ids(row.top2)[_PAIR * offset : _PAIR * offset + _PAIR].tolist()
    return (ids[0], ids[1]) if len(ids) == _PAIR and min(ids) >= 0 else None


def _finding(
    margins: tuple[float | None, ...], unit: str | None, limit: float, took_seconds: bool | None
) -> tuple[str | None, str]:
    known = [margin for margin in margins if margin is not None]
    if len(known) < len(margins):
        return None, "unrecorded at the forking token"
    shown = f"{', '.join(f'{margin:.3g}' for margin in known)} {unit or ''}".rstrip()
    if unit is None:
        return None, f"{shown} at the forking token, in different units or none"
    near = f"{shown}, each at most the declared {limit:g}"
    if max(known) > limit:
        return "large_margin", f"{shown}, not all at most the declared {limit:g}: {_LOOK}"
    if took_seconds is None:
        return "near_tie", f"{near}: a near tie (whether each took the other's second is unrecorded)"
    if took_seconds:
        return "near_tie_flip", f"{near}, and each took the other's second: a near tie flipped"
    return "large_margin", f"{near}, but a choice is not among the other's two likeliest: {_LOOK}"
