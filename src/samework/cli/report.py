"""`samework report`."""

# ruff: noqa: TC003 (Typer reads annotations at run time)
from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from samework.cli.options import RUN_HELP, JsonOption, NoRedactOption, StoreOption, opened
from samework.errors import UsageError

EXAMPLE = "samework report --task code-016 -o code-016.html"

_N_OF_A_PAIR = 2


def command(
    *,
    out: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="FILE.html, FILE.md or FILE.json.")],
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[A B]", help=f"A pair. {RUN_HELP}", show_default=False)
    ] = None,
    task: Annotated[
        str | None, typer.Option("--task", metavar="TASK", help="A report of this task.", show_default=False)
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option("--experiment", metavar="ARM,ARM,...", help="A report of these arms.", show_default=False),
    ] = None,
    no_redact: NoRedactOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """Write a report of a pair, an experiment, a task or the store.

    With two runs, of the pair; with --experiment, of the comparison of arms; with --task, of the task; with none of
    these, of the whole store. The page is one file that loads nothing. What looks like a secret is replaced by its
    digest, unless --no-redact is given.

    Exit status: 0 written; 3 the evidence of an experiment decides nothing, or runs of one class are known to differ
    (anomaly A5); 2 trouble.
    """
    from samework.cli.output import console, print_json
    from samework.text import visible

    pair = list(runs or [])
    if len(pair) not in {0, _N_OF_A_PAIR} or (pair and (task is not None or experiment is not None)):
        raise UsageError(
            "a report is of two runs A B, or of --experiment ARM,ARM, or of --task TASK, or of the whole store",
            hint="samework report --help",
        )
    a, b = pair or (None, None)
    arms = [word.strip() for word in experiment.split(",") if word.strip()] if experiment is not None else None
    made = opened(store).report(out, a=a, b=b, task=task, experiment=arms, redact=not no_redact)
    if as_json:
        print_json({"report": str(made), "n_bytes": made.stat().st_size})
    else:
        console().print(f"Wrote {visible(str(made))}", soft_wrap=True)
    return 0
