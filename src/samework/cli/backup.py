"""`samework backup`."""

# ruff: noqa: TC003 (Typer reads annotations at run time)
from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from samework.cli.options import JsonOption, StoreOption, opened

EXAMPLE = "samework backup samework-backup.tar"


def command(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes; must not exist.")],
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """Write a checked copy of the store to one file.

    The store is brought to rest, verified, copied and read back; the copy is moved into place only when it is whole.
    `samework restore FILE` makes a store of it again. Nobody else may read the copy (mode 0600).
    """
    from samework.cli.output import console, print_json
    from samework.text import counted, visible

    made = opened(store).backup(out)
    if as_json:
        print_json(made)
    else:
        size = f"{counted(made.n_files, 'file')}, {made.n_bytes / 1e6:,.1f} MB"
        console().print(f"Wrote {visible(str(out))}: {size}, sha256 {made.sha256}", soft_wrap=True)
    return 0
