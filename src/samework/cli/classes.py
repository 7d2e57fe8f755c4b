"""`samework classes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from samework.cli.options import ArmOption, JsonOption, StoreOption, StrictOption, TaskOption, opened
from samework.model.words import RunClass

if TYPE_CHECKING:
    from rich.console import Console

    from samework.model.funnel import Funnel
    from samework.model.results import ClassBlock, ClassesResult, TaskClasses

EXAMPLE = "samework classes --task code-016"

_MAX_TASKS = 20


def command(
    *,
    store: StoreOption = None,
    task: TaskOption = None,
    arm: ArmOption = None,
    across: Annotated[
        str | None,
        typer.Option("--across", metavar="ARM,ARM", help="Count pairs of one run of each arm.", show_default=False),
    ] = None,
    strict: StrictOption = False,
    funnel: Annotated[
        bool, typer.Option("--funnel", help="Count the pairs from other tokens to work that matters instead.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Show the table of every task, however many.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Sort the runs of each task into classes of the same work.

    A tests class holds tree classes, a tree class holds token classes. Every pair of a task's runs is counted once,
    what is unknown included; a rate with unknowns has bounds.

    Exit status: 0 sorted, whatever came out; 3 runs of one class are known to differ (anomaly A5); 2 trouble.
    """
    from samework.cli.output import print_json

    arms = [name.strip() for name in across.split(",")] if across is not None else None
    if funnel:
        found = opened(store).funnel(task=task, arm=arm, across=arms, strict=strict)
        if as_json:
            print_json(found)
        else:
            _print_funnel(found)
        return 0
    result = opened(store).classes(task=task, arm=arm, across=arms, strict=strict)
    if as_json:
        print_json(result)
    else:
        _print(result, every=every or task is not None)
    return 0


def _print_funnel(found: Funnel) -> None:
    from rich.text import Text

    from samework.cli.output import Column, console, print_table, print_wrapped
    from samework.text import counted

    console().print(Text(counted(found.pairs, "pair"), style="bold"))
    columns = [Column("stage"), Column("yes", right=True), Column("no", right=True), Column("unknown", right=True)]
    columns += [Column("reached", right=True), Column("may reach", right=True, extra=True)]
    columns += [Column("not applicable", right=True, extra=True)]
    rows = [
        [stage.stage]
        + [f"{number:,}" for number in (stage.yes, stage.no, stage.unknown, stage.reached, stage.may_reach)]
        + [f"{stage.not_applicable:,}"]
        for stage in found.stages
    ]
    print_table(columns, rows)
    print_wrapped("reached: yes here and at every stage before that applies; may reach: unknown at one, no at none.")
    if found.disputed:
        print_wrapped(f"{counted(found.disputed, 'pair')} disputed by reviewers, counted as unknown.")


def _print(result: ClassesResult, *, every: bool) -> None:
    from rich.text import Text

    from samework.cli.output import console, natural, note, print_wrapped
    from samework.text import counted

    out = console()
    total = result.pairs.get("total", 0)
    head = f"{counted(result.runs, 'run')}, {counted(result.tasks, 'task')}, {counted(total, 'pair')}"
    out.print(Text(head, style="bold"))
    for anomaly in result.anomalies:
        print_wrapped(Text(anomaly.text, style="bold red"), out=out, lead=f"{anomaly.code}  ")
    _print_counts(result, out)
    _print_facets(result, out)
    if every or result.tasks <= _MAX_TASKS:
        for task in sorted(result.by_task, key=lambda item: natural(item.task)):
            _print_task(task, out)
    else:
        _print_tasks(result, out)
        note(
            f"The {_MAX_TASKS} tasks with the most different work, of {result.tasks:,}; --task TASK shows the classes "
            "of one, --all those of every task."
        )


def _print_counts(result: ClassesResult, out: Console) -> None:
    from samework.cli.output import Column, print_table, word

    total = result.pairs.get("total", 0)
    out.print()
    statuses = [status for status in ("established", "at_least", "provisional") if status in result.by_status]
    columns = [
        Column("class"),
        Column("pairs", right=True),
        Column("share", right=True),
    ]
    columns += [Column(status.replace("_", " "), right=True, extra=True) for status in statuses]
    rows: list[list[object]] = []
    for name in RunClass:
        count = result.pairs.get(name.value, 0)
        row: list[object] = [word(name.value), f"{count:,}", _share(count, total)]
        row += [f"{result.by_status[status].get(name.value, 0):,}" for status in statuses]
        rows.append(row)
    print_table(columns, rows, out=out)


def _share(count: int, total: int) -> str:
    return f"{count / total:.1%}" if total else "\N{EN DASH}"


def _bounds(bounds: tuple[float, float] | None) -> str:
    if bounds is None or bounds == (0.0, 1.0):
        return "unknown"
    return f"{bounds[0]:.1%}" if bounds[0] == bounds[1] else f"{bounds[0]:.1%} to {bounds[1]:.1%}"


def _print_facets(result: ClassesResult, out: Console) -> None:
    from samework.cli.output import Column, print_table

    out.print()
    verdicts = ["same", "different", "unknown"]
    if any(counts.get("not_applicable") for counts in result.facets.values()):
        verdicts.append("not_applicable")
    columns = [Column("facet")] + [
        Column(name.replace("_", " "), right=True, extra=name == "not_applicable") for name in verdicts
    ]
    columns.append(Column("rate of difference", right=True, extra=True))
    rows = [
        [facet, *(f"{counts.get(verdict, 0):,}" for verdict in verdicts), _bounds(result.bounds.get(facet))]
        for facet, counts in result.facets.items()
    ]
    print_table(columns, rows, out=out)


def _print_tasks(result: ClassesResult, out: Console) -> None:
    from samework.cli.output import Column, cell, print_table

    out.print()
    columns = [Column("task", flex=True), Column("runs", right=True)]
    columns += [Column(name.value.replace("-identical", ""), right=True) for name in RunClass]
    rows = [
        [cell(task.task), task.runs, *(f"{task.counts.get(name.value, 0):,}" for name in RunClass)]
        for task in sorted(result.by_task, key=_most_different)[:_MAX_TASKS]
    ]
    print_table(columns, rows, out=out)


def _most_different(task: TaskClasses) -> tuple[object, ...]:
    """Sort key: tasks with divergent pairs first, then by the weaker classes; equal ones by name."""
    from samework.cli.output import natural

    weakest_first = (RunClass.DIVERGENT, RunClass.TESTS, RunClass.TREE, RunClass.UNRESOLVED)
    return (*(-task.counts.get(name.value, 0) for name in weakest_first), natural(task.task))


def _print_task(task: TaskClasses, out: Console) -> None:
    from rich.text import Text

    from samework.cli.output import Column, print_table, print_wrapped
    from samework.text import counted, visible

    out.print()
    out.print(Text.assemble((visible(task.task, one_line=True), "bold"), f"  {counted(task.runs, 'run')}"))
    columns = [Column("tests"), Column("tree"), Column("tokens"), Column("runs", right=True)]
    columns += [Column("arms", flex=True), Column("one of them", extra=True)]
    print_table(columns, [_block_row(block) for block in task.classes], out=out)
    if task.quarantined:
        names = visible(", ".join(task.quarantined[:10]), one_line=True)
        more = f" and {len(task.quarantined) - 10} more" if len(task.quarantined) > 10 else ""  # noqa: PLR2004
        print_wrapped(Text(f"flaky, left out of the comparison: {names}{more}", style="yellow"), out=out, lead="  ")


def _block_row(block: ClassBlock) -> list[object]:
    from rich.text import Text

    from samework.cli.output import STYLES

    names = [
        Text(f"{letter}{number}") if number is not None else Text("?", style=STYLES["unknown"])
        for letter, number in (("S", block.tests), ("R", block.tree), ("T", block.tokens))
    ]
    arms = ", ".join(f"{arm} {size}" for arm, size in block.arms.items())
    return [*names, block.size, arms, block.representative]
