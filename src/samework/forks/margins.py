"""The first differing token of a completion, and how close the call was there. Pure, over little-endian arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

TIE_LIMIT = 0.5
"""Margin (nats, or logits at temperature 1) up to which a fork is called a near tie: declared, not measured."""


class TokenRow(msgspec.Struct, frozen=True):
    """Ids (int32) and margins (float64) of one completion as stored; None where unrecorded."""

    token_ids: bytes | None = None
    margins: bytes | None = None
    margin_unit: str | None = None


class TokenParting(msgspec.Struct, frozen=True):
    """First differing token. offset: from 0. margins: one per completion, None where unrecorded.

    finding: near_tie (all margins at most the limit), large_margin, or None where margins or their common unit are
    missing. token_ids: the differing ids, None past the end of a completion.
    """

    offset: int
    token_ids: tuple[int | None, ...]
    margins: tuple[float | None, ...]
    unit: str | None
    finding: str | None
    words: str


def token_parting(rows: Sequence[TokenRow | None], *, limit: float = TIE_LIMIT) -> TokenParting | None:
    """Where completions first differ in tokens; None where ids are not recorded in all, or are all equal."""
    given = [row for row in rows if row is not None and row.token_ids is not None]
    if len(given) < len(rows) or len(rows) <= 1:
        return None
    ids = [np.frombuffer(row.token_ids or b"", dtype="<i4") for row in given]
    offset = _first_difference(ids)
    if offset is None:
        return None
    margins = tuple(_margin(row, offset) for row in given)
    units = {row.margin_unit for row in given}
    unit = units.pop() if len(units) == 1 else None
    chosen = tuple(int(one[offset]) if offset < len(one) else None for one in ids)
    finding, words = _finding(margins, unit, limit)
    return TokenParting(offset, chosen, margins, unit, finding, words)


def _first_difference(ids: list[np.ndarray]) -> int | None:
    shortest = min(len(one) for one in ids)
    differs = np.zeros(shortest, dtype=bool)
    for other in ids[1:]:
        differs |= ids[0][:shortest] != other[:shortest]
    places = np.flatnonzero(differs)
    if len(places):
        return int(places[0])
    return shortest if any(len(one) != shortest for one in ids) else None


def _margin(row: TokenRow, offset: int) -> float | None:
    if row.margins is None:
        return None
    values = np.frombuffer(row.margins, dtype="<f8")
    if offset >= len(values) or not np.isfinite(values[offset]):
        return None
    return float(values[offset])


def _finding(margins: tuple[float | None, ...], unit: str | None, limit: float) -> tuple[str | None, str]:
    known = [margin for margin in margins if margin is not None]
    if unit is None or len(known) < len(margins):
        return None, "margins at the forking token unrecorded"
    shown = f"margins {', '.join(f'{margin:.3g}' for margin in known)} {unit} at the forking token"
    if max(known) <= limit:
        return (
            "near_tie",
            f"{shown}, each at most {limit:g}: a near tie (whether each took the other's second is unrecorded)",
        )
    return "large_margin", f"{shown}, not all at most {limit:g}: no near tie, look for a difference of input or state"
