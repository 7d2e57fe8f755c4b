"""What the notebooks share: a table that reads well on a page and as plain text, and a colour for each way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.display import Markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#6E6E6E"
"""Told apart by people who see colours differently, and in grey."""


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Markdown:
    """A Markdown table; a cell is text, or a number that is already rounded."""
    lines = [head, ["---"] * len(head), *rows]
    return Markdown("\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines))


def number(value: float) -> str:
    """Three digits that count; very small ones with their power of ten."""
    return f"{value:.3g}"


def percent(value: float) -> str:
    """A share of one, to a tenth of a percent."""
    return f"{100 * value:.1f} %"
