"""Test reports that are JSON Lines: every line is taken, or is damage that leaves the report incomplete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.decode.jsonl import iter_records
from samework.decode.shapes import as_dict
from samework.model.records import Damage

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from samework.model.reader import Source


def damaged_lines(
    source: Source, take: Callable[[dict[str, object]], bool], otherwise: str
) -> Generator[Damage, None, int]:
    """Give every line to `take`, which says whether it knew it.

    Args:
        source: of the lines.
        take: called with each object in order.
        otherwise: what a line is that was not known, such as "no event of go test".

    Yields: damage in its place. Returns: how many there were.
    """
    n_damaged = 0
    for line in iter_records(source):
        if isinstance(line, Damage):
            n_damaged += 1
            yield line
        elif not take(as_dict(line.value)):
            n_damaged += 1
            yield Damage(line.offset, len(line.raw), f"line {line.number}: {otherwise}", "unknown-record")
    return n_damaged
