"""`samework pairs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from samework.cli.options import JsonOption, StoreOption, StrictOption, TaskOption, opened

if TYPE_CHECKING:
    from samework.model.results import PairRow

EXAMPLE = "samework pairs --class divergent --limit 5"

_SHOWN = ("tokens", "actions", "tree", "tests")


def command(
    *,
    store: StoreOption = None,
    run_class: Annotated[
        str | None, typer.Option("--class", metavar="CLASS", help="Only pairs of this class.", show_default=False)
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            metavar="STATUS",
            help="Only pairs held so firmly: established, at_least, provisional or unresolved.",
            show_default=False,
        ),
    ] = None,
    task: TaskOption = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")] = 100,
    strict: StrictOption = False,
    as_json: JsonOption = False,
) -> int:
    """List pairs of runs with their class.

    Each pair of runs of one task is listed once. samework compare A B explains one.
    """
    from samework.cli.output import note, print_json

    found = opened(store).pairs(task=task, run_class=run_class, status=status, limit=limit + 1, strict=strict)
    listed = found[:limit]
    if as_json:
        print_json(listed)
    elif listed:
        _print(listed)
    else:
        note("No such pair.")
    if len(found) > limit:
        note(f"The first {limit:,} pairs; there are more, --limit N shows N of them.")
    return 0


def _print(found: list[PairRow]) -> None:
    from samework.cli.output import Column, print_table, word

    columns = [Column("A"), Column("B"), Column("task", flex=True), Column("class"), Column("status")]
    columns += [Column(name, extra=True) for name in _SHOWN]
    rows = [
        [pair.a, pair.b, pair.task, word(pair.run_class), pair.status.replace("_", " ")]
        + [word(pair.facets[name]) if name in pair.facets else None for name in _SHOWN]
        for pair in found
    ]
    print_table(columns, rows)
