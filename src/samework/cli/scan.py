"""`samework scan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from samework.cli.options import JsonOption, StoreOption, opened

if TYPE_CHECKING:
    from samework.api.scanning import SecretPlace

EXAMPLE = "samework scan"


def command(
    *,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="Print at most so many; --json has all.")
    ] = 200,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """List the places of what looks like a secret, never the secret itself.

    A secret is found by the name before it, by its shape or by its entropy: in texts of events, arguments of tool
    calls, patches, manifests, outcomes and reasons of reviews. Files of trees, names and findings are not looked
    through, though a report redacts what it shows of them. KIND and DIGEST are those of the mark
    `[redacted KIND sha256:DIGEST]` that reports and queries leave in its place; equal digests are equal secrets. The
    ingested bytes themselves stay as they were.
    """
    from samework.cli.output import note, print_json
    from samework.text import counted

    found = opened(store).scan()
    if as_json:
        print_json(found)
        return 0
    if found:
        _print(found[:limit])
    secrets = counted(len({(place.kind, place.digest) for place in found}), "secret")
    places = counted(len(found), "place")
    note(f"{secrets} in {places}{f', {limit:,} shown' if len(found) > limit else ''}." if found else "None was found.")
    return 0


def _print(places: list[SecretPlace]) -> None:
    from samework.cli.output import Column, print_table

    columns = [
        Column("run"),
        Column("part"),
        Column("event", right=True),
        Column("name", flex=True, extra=True),
        Column("record", right=True, extra=True),
        Column("byte", right=True),
        Column("bytes", right=True),
        Column("kind", flex=True),
        Column("digest"),
    ]
    rows = [
        (
            *(each.run, each.part, each.seq, each.name, each.record_offset),
            *(each.offset, each.n_bytes, each.kind, each.digest),
        )
        for each in places
    ]
    print_table(columns, rows)
