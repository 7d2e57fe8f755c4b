"""The tests of a pair: node by node, and in sentences which make it differ.

Refuses to map ids: that a prefix alone tells them apart is said, the prefix is never taken away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from samework.store.sql import load
from samework.text import shortened

if TYPE_CHECKING:
    from samework.store.connection import StoreHandle

_MAX_NAMED = 5


class PairNode(msgspec.Struct, frozen=True):
    """One test in a suite and environment that both runs have, with its sorted outcomes in the cell of each.

    flaky: set aside in all cells of the suite. open: one side lacks it and has no complete report.
    """

    suite: str | None
    env: str | None
    node: str
    a: tuple[str, ...]
    b: tuple[str, ...]
    flaky: bool
    open: bool

    @property
    def differs(self) -> bool:
        """Whether it makes the tests of the pair differ."""
        return self.a != self.b and not self.flaky and not self.open


def nodes_of_pair(handle: StoreHandle, key_a: int, key_b: int) -> list[PairNode]:
    """Tests of two runs by name; reads the temp tables of `prepare` for their task. None where no suite is common."""
    query = load("samework.equivalence", "sql/nodes_of_pair")
    rows = handle.db.execute(query, {"a": key_a, "b": key_b}).fetchall()
    return [PairNode(suite, env, node, tuple(a), tuple(b), *rest) for suite, env, node, a, b, *rest in rows]


def differing_tests(handle: StoreHandle, key_a: int, key_b: int) -> tuple[str, ...]:
    """Sentences on the tests of two runs that differ; none where no suite is common."""
    nodes_of = nodes_of_pair(handle, key_a, key_b)
    only_a = [found.node for found in nodes_of if found.differs and not found.b]
    only_b = [found.node for found in nodes_of if found.differs and not found.a]
    prefix = _prefix(only_a, only_b) or _prefix(only_b, only_a)
    if prefix is not None and not any(found.a == found.b for found in nodes_of):
        told = (
            f"The test ids differ by the prefix {shortened(prefix, 120)!r} alone: one side ran in another root "
            "directory. Ids are compared as they are recorded; run both from one directory."
        )
        return (told,)
    notes = []
    for side, other, nodes in (("first", "second", only_a), ("second", "first", only_b)):
        if nodes:
            named = ", ".join(shortened(node, 160) for node in nodes[:_MAX_NAMED])
            more = f" and {len(nodes) - _MAX_NAMED} more" if len(nodes) > _MAX_NAMED else ""
            notes.append(f"Tests of the {side} run that the {other} lacks: {named}{more}.")
    return tuple(notes)


def _prefix(longer: list[str], shorter: list[str]) -> str | None:
    """What every id of one side has in front of an id of the other, None where there is no such thing.

    >>> _prefix(["tests/a.py::t", "tests/b.py::t"], ["a.py::t", "b.py::t"])
    'tests/'
    """
    if not longer or len(longer) != len(shorter):
        return None
    first = max(longer, key=len)
    found = {first[: -len(node)] for node in shorter if len(first) > len(node) and first.endswith(node)}
    known = set(shorter)
    return next(
        (
            prefix
            for prefix in sorted(found)
            if prefix.endswith("/") and {f"{prefix}{node}" for node in known} == set(longer)
        ),
        None,
    )
