"""`samework restore`."""

# ruff: noqa: TC001, TC003 (Typer reads annotations at run time)
from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from samework.cli.options import JsonOption, StoreOption

EXAMPLE = "samework restore samework-backup.tar"


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `samework backup` wrote.")],
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """Make a store from a backup.

    The store is made where `--store` says, else as `.samework` here; nothing may be there yet. Every member is checked
    against the list inside before anything is written, and the store is verified before it is moved into place.
    """
    import samework
    from samework.cli.output import console, print_json
    from samework.text import visible

    made = samework.restore(file, store)
    if as_json:
        print_json({"store": str(made.path), "runs": len(made.runs())})
    else:
        console().print(f"Restored {visible(str(made.path), one_line=True)}.", soft_wrap=True)
    return 0
