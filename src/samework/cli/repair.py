"""`samework repair`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.cli.options import JsonOption, StoreOption, opened

if TYPE_CHECKING:
    from pathlib import Path

    from samework.api import Store

EXAMPLE = "samework repair"


def command(
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """Make the database again from the bytes that were ingested.

    What the journal of the store says was done is done again, in order, from `sources/` and `objects.git`. The new
    store is verified before it takes the old one's place, and the old one is kept beside it.

    Exit status: 0 all of it; 2 something was lost, and is named.
    """
    from samework.cli.output import console, print_json, print_wrapped
    from samework.cli.progress import ByteProgress
    from samework.text import counted, visible

    with ByteProgress(None) as shown:
        made = _named(store).repair(progress=shown)
    if as_json:
        print_json(made)
    else:
        out = console()
        for lost in made.lost:
            print_wrapped(visible(f"lost: {lost.path}: {lost.reason}", one_line=True), out=out)
        out.print(f"{counted(made.n_runs, 'run')} from {counted(made.n_done, 'act')} of the journal.")
        out.print(f"The old store lies in {visible(made.kept, one_line=True)}", soft_wrap=True)
    return 2 if made.lost else 0


def _named(store: Path | None) -> Store:
    """A store that is named need not have a database any more."""
    from samework.api import Store

    return Store(store) if store is not None and (store / "journal.jsonl").is_file() else opened(store)
