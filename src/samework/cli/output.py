"""What commands print: aligned tables that survive narrow widths, JSON, and the few colours that mean something.

Everything that came from a run passes `samework.text`; nothing from data is ever read as markup.
"""

from __future__ import annotations

import math
import os
import re
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from samework.model.results import SourceOutcome

T = TypeVar("T")
_NOT_PLAIN = re.compile(r"[^\x20-\x7e\n]")

PIPE_WIDTH = 160
MIN_FLEX = 10
ROOMY_FLEX = 24
PROSE_WIDTH = 100
MIN_PROSE = 16
BELOW = " " * 4

STYLES = {
    "same": "green",
    "different": "red",
    "unknown": "yellow",
    "not_applicable": "dim",
    "token-identical": "green",
    "tree-identical": "green",
    "tests-identical": "cyan",
    "divergent": "red",
    "unresolved": "yellow",
    "licensed": "green",
    "refuted": "red",
    "not_establishable": "yellow",
    "C0": "dim",
    "C1": "dim",
    "C2": "red",
    "C3": "red",
    "C4": "red",
    "CU": "yellow",
    "new": "green",
    "joined": "green",
    "known": "dim",
    "incomplete": "yellow",
    "refused": "red",
    "skipped": "dim",
    "none": "yellow",
    "differs": "red",
    "not_comparable": "yellow",
    "equal": "dim",
}


class PipeConsole(Console):
    """A console that reports a closed pipe as the error it is, instead of leaving the program by itself."""

    def on_broken_pipe(self) -> None:
        """Let `cli.app` decide."""
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """A console without markup, emoji or guessed highlights; plain where it is no terminal or NO_COLOR is set."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS", "").isdigit() else PIPE_WIDTH
    return PipeConsole(file=stream, markup=False, emoji=False, highlight=False, width=width, soft_wrap=False)


class Column(msgspec.Struct, frozen=True):
    """One column. right: numbers.

    Where the line is too narrow, a flex column may be shortened, and goes on below where it is also wrap; an extra one
    may be left out.
    """

    name: str
    flex: bool = False
    right: bool = False
    extra: bool = False
    wrap: bool = False


def word(value: object) -> Text:
    """A cell in the colour of its meaning, where it is one of the words that have one."""
    shown = str(value)
    return Text(shown.replace("_", " "), style=STYLES.get(shown, ""))


def cell(value: object) -> Text:
    """Any value as one visible line; None is a dash."""
    if isinstance(value, Text):
        return value
    if value is None:
        return Text("\N{EN DASH}", style="dim")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    return Text(visible(str(value), one_line=True))


def print_table(columns: Sequence[Column], rows: Iterable[Sequence[object]], *, out: Console | None = None) -> None:
    """Print rows aligned under their columns.

    Where the line is too narrow, long columns are shortened, then extra ones left out from the right; where even that
    does not fit, each row is a block of lines.
    """
    out = out or console()
    cells = [[cell(value) for value in row] for row in rows]
    widths = [
        max([cell_len(column.name), *(row[place].cell_len for row in cells)]) for place, column in enumerate(columns)
    ]
    kept, fitted = _fitted_columns(columns, widths, out.width)
    if fitted is None:
        _print_blocks(columns, cells, out)
        return
    shown = [columns[place] for place in kept]
    _print_line([Text(column.name, style="bold") for column in shown], shown, fitted, out)
    for row in cells:
        _print_line([row[place] for place in kept], shown, fitted, out)


def _fitted_columns(columns: Sequence[Column], widths: Sequence[int], total: int) -> tuple[list[int], list[int] | None]:
    """Columns to show and their widths: first shorten a little, then drop extra ones, then shorten more."""
    kept = list(range(len(columns)))
    for least in (ROOMY_FLEX, MIN_FLEX):
        fitted = fitted_widths([columns[place] for place in kept], [widths[place] for place in kept], total, least)
        while fitted is None and any(columns[place].extra for place in kept):
            kept.remove(max(place for place in kept if columns[place].extra))
            fitted = fitted_widths([columns[place] for place in kept], [widths[place] for place in kept], total, least)
        if fitted is not None:
            return kept, fitted
    return kept, None


def fitted_widths(
    columns: Sequence[Column], widths: Sequence[int], total: int, least: int = MIN_FLEX
) -> list[int] | None:
    """Column widths that fit `total` cells with two blanks between, None where no shortening allowed makes them fit.

    least: cells to which a flexible column may be shortened.
    """
    fitted = list(widths)
    surplus = sum(fitted) + 2 * (len(fitted) - 1) - total
    while surplus > 0:
        flexible = [place for place, column in enumerate(columns) if column.flex and fitted[place] > least]
        if not flexible:
            return None
        widest = max(flexible, key=lambda place: fitted[place])
        cut = min(surplus, max(1, (fitted[widest] - least) // 2))
        fitted[widest] -= cut
        surplus -= cut
    return fitted


def _print_line(cells: Sequence[Text], columns: Sequence[Column], widths: Sequence[int], out: Console) -> None:
    """Print one row: a line, or more where the text of a wrap column goes on."""
    stacks = [
        _wrapped(content, width, out) if column.wrap else [content]
        for content, column, width in zip(cells, columns, widths, strict=True)
    ]
    for number in range(max(len(stack) for stack in stacks)):
        line = Text()
        for place, (stack, column, width) in enumerate(zip(stacks, columns, widths, strict=True)):
            shown = stack[number].copy() if number < len(stack) else Text("")
            if shown.cell_len > width:
                shown.truncate(width, overflow="ellipsis")
            pad = width - shown.cell_len
            if column.right:
                line.append(" " * pad)
            line.append_text(shown)
            if place < len(columns) - 1:
                line.append(" " * (2 if column.right else pad + 2))
        line.rstrip()
        out.print(line, no_wrap=True, crop=False, overflow="ignore")


def _wrapped(content: Text, width: int, out: Console) -> list[Text]:
    if content.cell_len <= width:
        return [content]
    lines = list(content.wrap(out, width))
    for line in lines:
        line.rstrip()
    return lines


def _print_blocks(columns: Sequence[Column], rows: Sequence[Sequence[Text]], out: Console) -> None:
    name_width = max(cell_len(column.name) for column in columns)
    for number, row in enumerate(rows):
        if number:
            out.print()
        for column, content in zip(columns, row, strict=True):
            print_wrapped(content, out=out, lead=Text(column.name.ljust(name_width) + "  ", style="dim"))


def print_wrapped(content: Text | str, *, out: Console | None = None, lead: Text | str = "") -> None:
    """Print a paragraph with a hanging indent under `lead`, at most `PROSE_WIDTH` cells wide.

    Where little would be left beside `lead`, the paragraph stands below it.
    """
    out = out or console()
    head = lead if isinstance(lead, Text) else Text(lead)
    body = content if isinstance(content, Text) else Text(visible(content))
    if out.width - head.cell_len < MIN_PROSE and head.cell_len > len(BELOW):
        head.rstrip()
        out.print(head, no_wrap=True, crop=False, overflow="ignore")
        if not body.plain:
            return
        head = Text(BELOW)
    indent = head.cell_len
    width = max(min(out.width, PROSE_WIDTH + indent) - indent, 10)
    lines = body.wrap(out, width) if body.plain else [Text("")]
    for number, line in enumerate(lines):
        line.rstrip()
        out.print(
            Text.assemble(head if not number else " " * indent, line), no_wrap=True, crop=False, overflow="ignore"
        )


def print_heading(title: str, *, out: Console | None = None) -> None:
    """An empty line and a bold title."""
    out = out or console()
    out.print()
    out.print(Text(title, style="bold"))


def print_json(value: Any) -> None:
    """Print structs, lists and dicts as JSON, two blanks of indent, ASCII only where a terminal needs it.

    Lone surrogates and control characters are escaped by JSON itself, so nothing raw reaches a terminal. JSON knows no
    NaN and no infinity; they are the texts NaN, Infinity and -Infinity, for null would say that nothing was there.
    """
    import json

    plain = msgspec.to_builtins(value)
    try:
        text = json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(plain), indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(_escaped(text) + "\n")


def _finite(value: Any) -> Any:
    """The value with a text for each number that JSON does not know."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


def _escaped(text: str) -> str:
    r"""JSON text whose remaining unsafe characters (C1, bidi, surrogates) are `\\uXXXX` escapes."""
    return _NOT_PLAIN.sub(lambda found: _json_escape(found.group()), text)


def _json_escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if visible(char) != char else char


def exit_of_sources(outcomes: Iterable[SourceOutcome]) -> int:
    """Exit status after sources were read: 0 all that a reader knows, 1 a part was refused, 2 nothing was read."""
    found = {outcome.status for outcome in outcomes}
    if found.isdisjoint({"new", "known", "incomplete"}):
        return 2
    return 1 if "refused" in found else 0


def print_source(outcome: SourceOutcome) -> None:
    """One source of an ingest and what became of it, on stderr."""
    out = console(stderr=True)
    place = visible(outcome.place or outcome.path, one_line=True)
    said = visible(outcome.message or "", one_line=True)
    if (outcome.status == "incomplete" or outcome.n_findings) and outcome.runs and not outcome.hint:
        said = said or "read as far as it goes"
        said += f"; samework show {outcome.runs[0]} says what that prevents"
    code = f"  [{outcome.code}]" if outcome.code else ""
    line = Text.assemble((f"{outcome.status}: ", STYLES.get(outcome.status, "")), f"{place}: {said}{code}")
    print_wrapped(line, out=out)
    if outcome.hint:
        print_wrapped(visible(outcome.hint, one_line=True), out=out, lead="  ")


def note(sentence: str) -> None:
    """A remark for people, on stderr."""
    print_wrapped(visible(sentence), out=console(stderr=True))


def shown(value: T, *, no_redact: bool, is_told: bool = False, n_before: int = 0) -> T:
    """An answer as it may be printed: without what looks like a secret, unless asked otherwise.

    is_told: no remark is made, for the answer that this belongs to has made it. n_before: places that were left out
    when the answer was made.
    """
    from samework.api.redacting import redacted

    if no_redact:
        return value
    made, n_redacted = redacted(value)
    if not is_told:
        note_redacted(n_before + n_redacted)
    return made


def note_redacted(n_redacted: int) -> None:
    """Say on stderr that secrets were left out, and how to see them."""
    from samework.text import counted

    if n_redacted:
        said = counted(n_redacted, "place looks", "places look")
        note(f"{said} like a secret and left its digest here; --no-redact shows what stands there.")


def natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key under which `task-2` comes before `task-10`.

    >>> sorted(["task-10", "task-2"], key=natural)
    ['task-2', 'task-10']
    """
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"([0-9]{1,18})", name) if part
    ]


def excerpt(value: str | None, limit: int = 200) -> str:
    """A short, visible, single line of untrusted text."""
    return shortened(value or "", limit)
