"""`samework ingest`."""

# ruff: noqa: TC003 (Typer reads annotations at run time)
from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from samework.cli.options import JsonOption, StoreOption, opened

if TYPE_CHECKING:
    from samework.model.results import IngestSummary

EXAMPLE = "samework ingest fixtures/kv-path/code-016"

_MAX_LISTED = 20
_MAX_REMARKS = 3
_PARTLY = frozenset({"refused", "incomplete"})


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

    Exit status: 0 all that a reader knows was read, or known before; 1 partly: a file was refused, the rest is stored;
    2 nothing could be read.
    """
    from samework.cli.output import exit_of_sources, note, print_json
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
    status = exit_of_sources(summary.sources)
    if status == 2 and not summary.n_refused:  # noqa: PLR2004 (as documented)
        note("Nothing here is a run, a patch or a test report that a reader knows; samework formats lists the formats.")
    return status


def _print(summary: IngestSummary) -> None:
    from rich.text import Text

    from samework.cli.output import STYLES, console, note, print_wrapped

    out = console()
    _print_listed(summary)
    counts = [
        ("new", summary.n_new, "run", ""),
        ("joined", summary.n_joined, "run", " by artifacts that came beside or after them"),
        ("known", summary.n_known, "run", " that the store has already"),
        ("incomplete", summary.n_incomplete, "run", " read as far as it goes"),
        ("refused", summary.n_refused, "file", " that could not be read"),
        ("skipped", summary.n_skipped, "file", " that no reader knows, beside others; --json lists them"),
    ]
    width = max(len(f"{count:,}") for _, count, _, _ in counts)
    for name, count, noun, what in counts:
        if count or name == "new":
            lead = Text.assemble((f"{name:<10}", STYLES[name]), f"  {count:>{width},}  ")
            print_wrapped((noun if count == 1 else f"{noun}s") + what, out=out, lead=lead)
    _print_remarks(summary)
    if summary.seconds > 1:
        note(f"{summary.n_bytes / 1e6:,.1f} MB in {summary.seconds:,.1f} s.")


def _print_remarks(summary: IngestSummary) -> None:
    """What was found about sources that were read whole, such as a tree that could not be taken: by sentence."""
    from rich.text import Text

    from samework.cli.output import console, note, print_wrapped

    whole = [source for source in summary.sources if source.status not in _PARTLY and not source.n_findings]
    remarks = Counter(source.message for source in whole if source.message)
    for message, count in remarks.most_common(_MAX_REMARKS):
        lead = Text(f"{'note':<10}  {count:,}  ")
        print_wrapped(f"source{'s' if count > 1 else ''}: {message}", out=console(), lead=lead)
    if len(remarks) > _MAX_REMARKS:
        note(f"... and {len(remarks) - _MAX_REMARKS} more remarks; --json lists all.")


def _print_listed(summary: IngestSummary) -> None:
    """The sources that were not read whole."""
    from samework.cli.output import note, print_source

    listed = [source for source in summary.sources if source.status in _PARTLY or source.n_findings]
    for source in listed[:_MAX_LISTED]:
        print_source(source)
    if len(listed) > _MAX_LISTED:
        note(f"... and {len(listed) - _MAX_LISTED} more; --json lists all.")
