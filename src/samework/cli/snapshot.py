"""`samework snapshot`."""

# ruff: noqa: TC001, TC003 (Typer reads annotations at run time)
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from samework.cli.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from samework.model.results import SnapshotResult

EXAMPLE = "samework snapshot fixtures/kv-path/code-016/retained-1/tree"


def command(
    worktree: Annotated[Path, typer.Argument(metavar="WORKTREE", help="A directory, a Git checkout or not.")],
    *,
    scope: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="GLOB", help="Leave these paths out; may be repeated.", show_default=False),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """Name a working tree by its content, touching nothing in it.

    Prints the Git tree oid of the whole working tree, untracked files included and ignored ones left out, and the
    content digest, which is the same in sha1 and sha256 repositories. No hook, filter or setting of the checkout runs.

    Exit status: 0 a tree was named; 3 Git could not make one, and says why.
    """
    import samework.api
    from samework.cli.output import print_json

    del store  # nothing is stored
    result = samework.api.snapshot(worktree, scope=scope or ())
    if as_json:
        print_json(result)
    else:
        _print(result)
    return 0 if result.oid is not None else 3


def _print(result: SnapshotResult) -> None:
    from rich.text import Text

    from samework.cli.output import console, print_wrapped
    from samework.text import visible

    out = console()
    lines: list[tuple[str, object]] = [
        ("tree", f"{result.oid} ({result.object_format})" if result.oid else None),
        ("content", result.tcd),
        ("no tree", result.null_reason),
        ("files", result.n_files),
        ("ignored", result.n_ignored),
        ("base", result.base_commit),
        ("left out", ", ".join(result.scope) or None),
        ("findings", ", ".join(flag.replace("_", " ") for flag in result.flags) or None),
    ]
    for lead, value in lines:
        if value is not None:
            print_wrapped(visible(str(value), one_line=True), out=out, lead=Text(f"{lead:<9} ", style="dim"))
