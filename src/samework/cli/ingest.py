"""`samework ingest`."""

# ruff: noqa: TC003 (Typer reads annotations at run time)
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from samework.cli.options import JsonOption, StoreOption, opened

if TYPE_CHECKING:
    from samework.model.results import IngestSummary

EXAMPLE = "samework ingest fixtures/kv-path/code-016"

_MAX_LISTED = 20


def command(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Files and directories.", show_default=False)],
    *,
    store: StoreOption = None,
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="NAME", help="Read as this format; samework formats lists them.", show_default=False
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            "--task", metavar="TASK", help="Task of every run, instead of the recorded one.", show_default=False
        ),
    ] = None,
    arm: Annotated[
        str | None,
        typer.Option("--arm", metavar="ARM", help="Arm, instead of the recorded agent and model.", show_default=False),
    ] = None,
    repeat: Annotated[
        str | None,
        typer.Option("--repeat", metavar="N", help="Repeat, instead of the recorded or next one.", show_default=False),
    ] = None,
    suite: Annotated[
        str | None, typer.Option("--suite", metavar="NAME", help="Suite of the test reports.", show_default=False)
    ] = None,
    env: Annotated[
        str | None, typer.Option("--env", metavar="NAME", help="Environment of the test reports.", show_default=False)
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(
            "--layout", metavar="PATTERN", help="Take fields from paths: '{arm}/{task}.traj'.", show_default=False
        ),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Processes that read.")] = 1,
    progress: Annotated[
        bool | None,
        typer.Option("--progress/--no-progress", help="Show progress on stderr; default: on a terminal."),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Read runs, patches and test reports into the store.

    Each file or directory is recognised by its content, never by its name. A source lands whole or not at all; the same
    content again is known, not doubled; a file that no reader claims is refused with a sentence while the rest lands.

    Exit status: 0 something was read or known; 2 nothing could be read.
    """
    from samework.cli.output import print_json
    from samework.cli.progress import ByteProgress

    place = opened(store)
    with ByteProgress(progress) as shown:
        summary = place.ingest(
            *paths,
            format=format_name,
            task=task,
            arm=arm,
            repeat=repeat,
            suite=suite,
            env=env,
            layout=layout,
            jobs=jobs,
            progress=shown,
        )
    if as_json:
        print_json(summary)
    else:
        _print(summary)
    read = summary.n_new + summary.n_known + summary.n_incomplete + summary.n_joined
    return 2 if summary.n_refused and not read else 0


def _print(summary: IngestSummary) -> None:
    from samework.cli.output import Column, console, note, print_table, word

    out = console()
    _print_listed(summary, ("refused", "incomplete"))
    counts = [
        ("new", summary.n_new, "runs"),
        ("joined", summary.n_joined, "runs, by artifacts that came later"),
        ("known", summary.n_known, "runs, already in the store"),
        ("incomplete", summary.n_incomplete, "runs, read as far as they go"),
        ("refused", summary.n_refused, "files that could not be read"),
        ("skipped", summary.n_skipped, "files that hold no evidence"),
    ]
    rows = [[word(name), f"{count:,}", what] for name, count, what in counts if count or name == "new"]
    print_table([Column("result"), Column("", right=True), Column("of", flex=True)], rows, out=out)
    if summary.seconds > 1:
        note(f"{summary.n_bytes / 1e6:,.1f} MB in {summary.seconds:,.1f} s.")


def _print_listed(summary: IngestSummary, statuses: tuple[str, ...]) -> None:
    from samework.cli.output import note, print_source

    listed = [source for source in summary.sources if source.status in statuses]
    for source in listed[:_MAX_LISTED]:
        print_source(source)
    if len(listed) > _MAX_LISTED:
        note(f"... and {len(listed) - _MAX_LISTED} more; --json lists all.")
