"""`samework query`."""

# ruff: noqa: TC003 (Typer reads annotations at run time)
from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from samework.cli.options import JsonOption, NoRedactOption, StoreOption, opened
from samework.errors import UsageError
from samework.text import shortened, visible

if TYPE_CHECKING:
    from samework.api.details import NamedQuery, QueryResult

EXAMPLE = 'samework query "select arm, count(*) as n_runs from runs group by arm order by arm"'

_FORMATS = ("table", "csv", "json", "parquet")


def command(
    sql: Annotated[
        str | None, typer.Argument(metavar="SQL", help="A query over the views.", show_default=False)
    ] = None,
    *,
    named: Annotated[
        str | None, typer.Option("--named", metavar="NAME", help="Run a saved query.", show_default=False)
    ] = None,
    list_named: Annotated[bool, typer.Option("--list", help="List the saved queries.")] = False,
    output_format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="table, csv, json or parquet.")
    ] = "table",
    out: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to FILE.", show_default=False)
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="At most so many rows.", show_default=False)
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", metavar="S", min=0.1, help="End it after S seconds [default: 60].", show_default=False
        ),
    ] = None,
    no_redact: NoRedactOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """Ask the store in SQL, read only.

    The query runs in a process of its own that can read the store and nothing else, bounded in time, memory and rows.
    docs/schema.md describes the views; --list shows the saved queries and --named runs one. What looks like a secret
    is replaced by its digest in what is printed or written, unless --no-redact is given.

    A column with moments that no calendar holds (infinity, years before 1 or after 9999) or with nanoseconds is text,
    as DuckDB writes it. In JSON, NaN, Infinity and -Infinity are texts too, for null means that nothing is there.

    Exit status: 0 answered; 3 the view classes was asked, and runs of one class are known to differ (anomaly A5);
    2 trouble.
    """
    wanted = "json" if as_json else output_format
    if wanted not in _FORMATS:
        raise UsageError(f"unknown format {shortened(wanted, 40)!r}; known: {', '.join(_FORMATS)}")
    place = opened(store)
    if list_named:
        _print_named(place.named(), as_json=wanted == "json")
        return 0
    if (sql is None) == (named is None):
        raise UsageError("give a query, or --named NAME, or --list", hint="samework query --help")
    text = sql if sql is not None else place.named(named)[0].sql
    result = place.query(text, limit=limit, seconds=seconds, redact=not no_redact)
    _write(result, wanted, out)
    _note(result)
    return 0


def _note(result: QueryResult) -> None:
    from samework.cli.output import note, note_redacted

    if result.truncated:
        note(f"The first {len(result.rows):,} rows; there are more, --limit N shows N of them.")
    note_redacted(result.n_redacted)


def _print_named(found: list[NamedQuery], *, as_json: bool) -> None:
    from samework.cli.output import console, print_json, print_wrapped

    if as_json:
        print_json(found)
        return
    out = console()
    width = max((len(query.name) for query in found), default=0)
    for query in found:
        print_wrapped(query.title, out=out, lead=f"{query.name:<{width}}  ")


def _write(result: QueryResult, wanted: str, out: Path | None) -> None:
    if wanted == "parquet":
        _write_parquet(result, out)
        return
    if out is None:
        _write_text(result, wanted)
        return
    from contextlib import redirect_stdout

    from samework.api.asking import answer_file

    with answer_file(out) as stream, redirect_stdout(stream):
        _write_text(result, wanted)


def _write_text(result: QueryResult, wanted: str) -> None:
    from samework.cli.output import Column, print_json, print_table

    if wanted == "json":
        print_json([dict(zip(result.columns, row, strict=True)) for row in result.rows])
    elif wanted == "csv":
        _write_csv(result)
    else:
        numbers = [_is_numeric(result, place) for place in range(len(result.columns))]
        columns = [
            Column(shortened(name, 60), flex=not right, right=right)
            for name, right in zip(result.columns, numbers, strict=True)
        ]
        print_table(columns, [[None if value is None else _plain(value) for value in row] for row in result.rows])


def _write_csv(result: QueryResult) -> None:
    """Values exactly as they are, for programs; on a terminal with what it would obey as escapes."""
    shown = (lambda text: visible(text, one_line=True)) if sys.stdout.isatty() else str
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow([shown(name) for name in result.columns])
    rows.writerows(["" if value is None else shown(_plain(value)) for value in row] for row in result.rows)


def _is_numeric(result: QueryResult, place: int) -> bool:
    values = [row[place] for row in result.rows if row[place] is not None]
    return bool(values) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | dict | tuple):
        import json

        return json.dumps(value, default=str, ensure_ascii=False)
    return str(value)


def _write_parquet(result: QueryResult, out: Path | None) -> None:
    from samework.api.asking import write_parquet

    if out is None:
        raise UsageError("parquet is no text: name a file with -o FILE", hint="samework query --help")
    write_parquet(result, out)
