"""The picture of an experiment: how often each arm differs from itself, beside how often arms differ, with intervals.

Numbers in, coordinates out; the template only places them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from samework.model.experiment import Disagreement, ExperimentResult

LEFT, PLOT, RIGHT = 250, 470, 190
_ROW, _GAP, _TOP = 26, 18, 26
_PARTS = {0.05: 5, 0.1: 5, 0.2: 4, 0.25: 5, 0.5: 5, 1.0: 5}
"""End of the axis -> parts of it, so that every tick is a whole percentage."""
_LABEL = 34


class RateRow(msgspec.Struct, frozen=True):
    """One rate: a dot with whiskers. x None: nothing is known. band: where the rate may lie over what is unknown."""

    y: float
    label: str
    said: str
    is_self: bool
    x: float | None = None
    low: float | None = None
    high: float | None = None
    band: tuple[float, float] | None = None


class RateLevel(msgspec.Struct, frozen=True):
    """Rows of one level and the height of its name."""

    level: str
    y: float
    rows: tuple[RateRow, ...]


class RateChart(msgspec.Struct, frozen=True):
    """The whole picture in a box of `width` by `height`. ticks: place and label on the axis."""

    width: int
    height: float
    left: int
    right: int
    ticks: tuple[tuple[float, str], ...]
    levels: tuple[RateLevel, ...]


def rate_chart(result: ExperimentResult) -> RateChart:
    """Rates of items that differ, level by level: each arm from itself, then across arms.

    Levels of which nothing is known are left out; the page says so in words.
    """
    groups = [
        (
            level.level,
            [(each.arm, each.found, True) for each in level.by_arm if _has_pairs(each.found)]
            + [(f"{each.a} | {each.b}", each.found, False) for each in level.across if _has_pairs(each.found)],
        )
        for level in result.levels
    ]
    shown = [(level, rows) for level, rows in groups if any(found.items.n for _, found, _ in rows)]
    highest = max(
        (found.items.wilson[1] for _, rows in shown for _, found, _ in rows if found.items.wilson is not None),
        default=1.0,
    )
    top = next(tick for tick in _PARTS if tick >= min(highest, 1.0))
    y: float = _TOP
    levels = []
    for level, rows in shown:
        name_y = y + _ROW / 2
        made = [_row(y + (place + 1.5) * _ROW, *row, top=top) for place, row in enumerate(rows)]
        levels.append(RateLevel(level, name_y, tuple(made)))
        y += (len(rows) + 1) * _ROW + _GAP
    n_parts = _PARTS[top]
    ticks = tuple((_x(top * part / n_parts, top), f"{top * part / n_parts:.0%}") for part in range(n_parts + 1))
    return RateChart(LEFT + PLOT + RIGHT, y + 8, LEFT, LEFT + PLOT, ticks, tuple(levels))


def _has_pairs(found: Disagreement) -> bool:
    return bool(found.same or found.different or found.unknown)


def _x(rate: float, top: float) -> float:
    return round(LEFT + PLOT * min(rate / top, 1.0), 2)


def _row(y: float, label: str, found: Disagreement, is_self: bool, *, top: float) -> RateRow:
    items = found.items
    said = f"{items.k} of {items.n}" + (f", {items.n_unknown} unknown" if items.n_unknown else "")
    short = label if len(label) <= _LABEL else label[: _LABEL - 1] + "…"
    band = None
    if items.bounds is not None and items.n_unknown:
        band = (_x(items.bounds[0], top), _x(items.bounds[1], top))
    if items.wilson is None:
        return RateRow(y, short, "unknown", is_self, band=band)
    return RateRow(
        y,
        short,
        said,
        is_self,
        x=_x(items.k / items.n, top),
        low=_x(items.wilson[0], top),
        high=_x(items.wilson[1], top),
        band=band,
    )
