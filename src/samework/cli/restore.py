"""`samework restore`."""

# ruff: noqa: TC001 (Typer reads annotations at run time)
from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from samework.cli.options import JsonOption

EXAMPLE = "samework restore samework-backup.tar"


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `samework backup` wrote.")],
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="The new store; must not exist.", show_default=False)
    ] = Path(".samework"),
    *,
    as_json: JsonOption = False,
) -> int:
    """Make a store from a backup.

    Every member is checked against the list inside before anything is written; the store is verified before it is moved
    into place.
    """
    import samework
    from samework.cli.output import console, print_json
    from samework.text import visible

    store = samework.restore(file, directory)
    if as_json:
        print_json({"store": str(store.path), "runs": len(store.runs())})
    else:
        console().print(f"Restored {visible(str(store.path), one_line=True)}.", soft_wrap=True)
    return 0
