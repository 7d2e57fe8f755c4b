"""`samework init`."""

# ruff: noqa: TC001 (Typer reads annotations at run time)
from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from samework.cli.options import JsonOption, StoreOption

EXAMPLE = "samework init"


def command(
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Where to make it; here by default.", show_default=False)
    ] = None,
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """Make a store.

    It is a directory, .samework, that later commands find upward from where they are called, as Git finds its own.
    --store names another place for it. It is made for nobody else to look into (mode 0700), for it keeps what was
    ingested; who is to share it opens it to them.
    """
    import samework.api
    from samework.cli.output import console, print_json
    from samework.text import visible

    place = store if store is not None and directory is None else (directory or Path()) / ".samework"
    samework.api.create(place)
    if as_json:
        print_json({"store": str(place)})
    else:
        console().print(f"Made a store: {visible(str(place))}", soft_wrap=True)
    return 0
