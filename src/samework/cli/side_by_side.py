"""The steps of two runs side by side, runs of equal ones as one line: for showing only."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from samework.model.results import AlignedSpan

_MAX_SPANS = 40


def print_alignment(spans: tuple[AlignedSpan, ...], out: Console) -> None:
    """One line for each span; the first and the last of many."""
    from rich.text import Text

    from samework.cli.output import Column, print_heading, print_table, print_wrapped
    from samework.report.sentences import steps
    from samework.text import counted

    if not spans:
        return
    print_heading("Step by step, by their calls", out=out)
    shown = spans if len(spans) <= _MAX_SPANS else (*spans[: _MAX_SPANS - 1], spans[-1])
    rows: list[list[object]] = []
    for place, span in enumerate(shown):
        if len(shown) < len(spans) and place == len(shown) - 1:
            rows.append(["…", "", "", f"{counted(len(spans) - len(shown), 'more span')} left out"])
        is_equal = span.kind == "equal"
        mark = Text("=" if is_equal else "≠", style="dim" if is_equal else "red")
        told = counted(span.n_a, "step") + " alike" if is_equal else f"{counted(span.n_a, 'step')} against {span.n_b}"
        rows.append([mark, steps(span.a_step, span.n_a), steps(span.b_step, span.n_b), told])
    print_table([Column(""), Column("A"), Column("B"), Column("", flex=True, wrap=True)], rows, out=out)
    print_wrapped("For showing where to look; no verdict rests on it.", out=out)
