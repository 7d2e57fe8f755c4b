"""Totals that a log tells of itself, to hold its list against."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

    from samework.canon.report_nodes import NodeList


def agree(nodes: NodeList, claims: Iterable[tuple[str, int, int]]) -> bool:
    """Whether each of these is counted as it is listed; what is not is told. claims: what, counted, listed."""
    differing = [claim for claim in claims if claim[1] != claim[2]]
    nodes.findings += [f"the summary says {counted} {what}, {listed} are listed" for what, counted, listed in differing]
    return not differing


def counts_of(pattern: re.Pattern[str], said: str) -> Counter[str]:
    """Counts by their word; pattern: a number, then the word."""
    return Counter({found[2]: number(found[1]) for found in pattern.finditer(said)})


def number(digits: str) -> int:
    """What digits spell, by the first eighteen: no list is as long as more would say.

    >>> number("12"), number("9" * 5000) == 10**18 - 1
    (12, True)
    """
    return int(digits[:_MAX_DIGITS])


_MAX_DIGITS = 18
