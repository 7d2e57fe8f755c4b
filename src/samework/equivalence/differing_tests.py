"""Which tests make a pair differ, in sentences: those that one side lacks, ids that only a root directory tells apart.

Refuses to map ids: a prefix is told, never taken away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.store.sql import load
from samework.text import shortened

if TYPE_CHECKING:
    from samework.store.connection import StoreHandle

_MAX_NAMED = 5


def differing_tests(handle: StoreHandle, key_a: int, key_b: int) -> tuple[str, ...]:
    """Sentences on the tests of two runs that differ; none where no suite is common."""
    query = load("samework.equivalence", "sql/nodes_of_pair")
    rows = handle.db.execute(query, {"a": key_a, "b": key_b}).fetchall()
    only_a = [node for node, _, b, _ in rows if not b]
    only_b = [node for node, a, _, _ in rows if not a]
    n_equal = rows[0][3] if rows else 0
    prefix = _prefix(only_a, only_b) or _prefix(only_b, only_a)
    if prefix is not None and not n_equal:
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
