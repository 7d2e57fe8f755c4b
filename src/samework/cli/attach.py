"""`samework attach`."""

# ruff: noqa: TC003 (Typer reads annotations at run time)
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from samework.cli.options import RUN_HELP, JsonOption, StoreOption, opened
from samework.errors import UsageError

if TYPE_CHECKING:
    from samework.model.results import SourceOutcome

EXAMPLE = "samework attach code-016:retained:1 --invariant reviewed=true"

_VALUES = {"true": True, "false": False, "unknown": None}


def _option(name: str, metavar: str, help_text: str) -> typer.models.OptionInfo:
    return typer.Option(name, metavar=metavar, help=help_text, show_default=False)  # type: ignore[no-any-return]


def command(
    run: Annotated[str | None, typer.Argument(metavar="RUN", help=RUN_HELP, show_default=False)] = None,
    *,
    store: StoreOption = None,
    worktree: Annotated[Path | None, _option("--worktree", "DIR", "Directory that holds the resulting tree.")] = None,
    repo: Annotated[Path | None, _option("--repo", "DIR", "Repository, with --commit, or --base and --patch.")] = None,
    commit: Annotated[str | None, _option("--commit", "HEX", "Commit that holds the resulting tree.")] = None,
    base: Annotated[str | None, _option("--base", "HEX", "Commit that the patch applies to.")] = None,
    patch: Annotated[Path | None, _option("--patch", "FILE", "Patch that the run submitted.")] = None,
    tests: Annotated[list[Path] | None, _option("--tests", "FILE", "A test report; may be repeated.")] = None,
    manifest: Annotated[Path | None, _option("--manifest", "FILE", "A manifest.json.")] = None,
    invariant: Annotated[
        list[str] | None, _option("--invariant", "NAME=VALUE", "A predicate: true, false or unknown; may be repeated.")
    ] = None,
    match: Annotated[
        str | None, _option("--match", "PATTERN", "Attach many test reports: 'logs/{task}/report.json'.")
    ] = None,
    task: Annotated[str | None, _option("--task", "TASK", "With --match: their task.")] = None,
    arm: Annotated[str | None, _option("--arm", "ARM", "With --match: their arm.")] = None,
    suite: Annotated[str | None, _option("--suite", "NAME", "Suite of the test reports.")] = None,
    env: Annotated[str | None, _option("--env", "NAME", "Environment of the test reports.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Add a tree, test reports, a manifest or invariants to a run.

    Without RUN, --match finds many test reports by the fields in their paths, such as {task}, {arm} and {repeat}.

    Exit status: 0 all of it is attached, or was before; 1 partly: with --match a file was refused, the rest is
    attached; 2 nothing is.
    """
    from samework.cli.output import exit_of_sources, print_json

    outcomes = opened(store).attach(
        run,
        worktree=worktree,
        repo=repo,
        commit=commit,
        base=base,
        patch=patch,
        tests=tests or [],
        manifest=manifest,
        invariants=dict(_invariant(word) for word in invariant or []),
        match=match,
        task=task,
        arm=arm,
        suite=suite,
        env=env,
    )
    if as_json:
        print_json(outcomes)
    else:
        _print(outcomes)
    return exit_of_sources(outcomes)


def _invariant(word: str) -> tuple[str, bool | None]:
    name, equals, value = word.rpartition("=")
    if not equals or not name or value not in _VALUES:
        from samework.text import shortened

        raise UsageError(
            f"--invariant takes NAME=true, NAME=false or NAME=unknown, not {shortened(word, 60)!r}",
            hint="samework attach --help",
        )
    return name, _VALUES[value]


def _print(outcomes: list[SourceOutcome]) -> None:
    from rich.text import Text

    from samework.cli.output import STYLES, console, print_source
    from samework.text import counted

    for outcome in outcomes:
        if outcome.status not in {"new", "known"} or outcome.message:
            print_source(outcome)
    out = console()
    for status in ("new", "known", "incomplete", "refused", "skipped"):
        of_it = [outcome for outcome in outcomes if outcome.status == status]
        if of_it:
            n_runs = len({run for outcome in of_it for run in outcome.runs})
            to = f" of {counted(n_runs, 'run')}" if n_runs else ""
            out.print(Text.assemble((f"{status:<10}", STYLES[status]), f"  {counted(len(of_it), 'artifact')}{to}"))
