"""`samework demo`."""

# ruff: noqa: TC001 (Typer reads annotations at run time)
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from samework.cli.options import StoreOption
from samework.errors import InputError
from samework.model.words import Consequence

if TYPE_CHECKING:
    from samework.model.results import ForkNode

EXAMPLE = "samework demo"

_DIFFERENT = 1
_LAST_ANSWER = 3  # above it the user or a closed pipe ended the command
_DIVERGENT = ("code-016:retained:1", "code-016:recomputed:1")


def command(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where store and report go; made where it is absent.")
    ] = Path("samework-demo"),
    *,
    fixtures: Annotated[
        Path | None,
        typer.Option("--fixtures", metavar="DIR", help="The fixtures, where they are not found.", show_default=False),
    ] = None,
    store: StoreOption = None,
) -> int:
    """Take the fixtures through everything, and end with a report.

    They are real runs of one engine whose cache was kept, recomputed or moved, runs of a real agent, and small made
    ones for what no recorded run shows. Each command is printed before what it prints.

    Exit status: 0 all of it went through; else the highest status of a command that did not.
    """
    from samework.api.files import writing
    from samework.api.opening import is_store, store_in

    place = store if store is not None else store_in(directory)
    source = _fixtures(fixtures)
    with writing(directory, "the directory cannot be made"):
        directory.mkdir(parents=True, exist_ok=True)
    report = directory / "report.html"
    commands = [] if is_store(place) else [["init"]]
    commands += [
        ["ingest", str(source)],
        ["classes"],
        ["compare", *_DIVERGENT],
        ["show", _DIVERGENT[0]],
        ["forks", "--changed-work"],
        ["verify"],
        ["report", "-o", str(report)],
    ]
    worst = 0
    for words in commands:
        code = _step([*words, "--store", str(place)])
        if code > _LAST_ANSWER:
            return code
        worst = max(worst, 0 if words[0] == "compare" and code == _DIFFERENT else code)
    _end(place, report)
    return worst


def _fixtures(given: Path | None) -> Path:
    """The fixtures: as given, else below the directory one stands in, else those of the checkout."""
    checkout = Path(__file__).resolve().parents[3]
    places = [given] if given is not None else [Path("fixtures"), checkout / "fixtures"]
    for place in places:
        if (place / "kv-path").is_dir():
            return place
    raise InputError(
        "the fixtures were not found",
        place=str(places[0]),
        hint="run it from a checkout of samework, or give --fixtures DIR",
        code="no-fixtures",
    )


def _step(words: list[str]) -> int:
    """Print a command and run it."""
    import shlex

    from rich.text import Text

    from samework.cli.app import run
    from samework.cli.output import console
    from samework.text import visible

    out = console()
    out.print()
    out.print(Text(visible(f"$ samework {shlex.join(words)}"), style="bold"), soft_wrap=True)
    return run(words)


def _end(place: Path, report: Path) -> None:
    """Say what changed work, and where the report lies."""
    import samework.api
    from samework.cli.output import console, print_heading, print_wrapped
    from samework.text import counted, visible

    out = console()
    found = samework.api.open(place).forks(changed_work=True)
    forks = [fork for fork in found if fork.consequence is not Consequence.UNKNOWN]
    print_heading("What changed work", out=out)
    for fork in forks:
        print_wrapped(_sentence(fork), out=out, lead="  ")
    if not forks:
        print_wrapped("Nothing did.", out=out, lead="  ")
    tasks = len({fork.task for fork in forks})
    out.print()
    print_wrapped(f"{counted(len(forks), 'fork')} in {counted(tasks, 'task')} changed work.", out=out)
    out.print(f"The report lies at {visible(str(report.resolve()))}", soft_wrap=True)
    print_wrapped(f"Ask on with --store {place}, such as: samework forks --tool-calls --store {place}", out=out)


def _sentence(fork: ForkNode) -> str:
    from samework.cli.wording import CONSEQUENCE_MEANS
    from samework.text import visible

    arms = " | ".join(", ".join(branch.arms) or str(len(branch.runs)) for branch in fork.branches)
    means = f"{CONSEQUENCE_MEANS[fork.consequence]} ({fork.consequence})"
    return visible(f"{fork.task}, step {fork.step}, {fork.event}: {means}; {arms}", one_line=True)
