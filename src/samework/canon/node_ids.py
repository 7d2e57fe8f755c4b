"""Test ids of two runs made comparable: a memory address in an id is no part of the test's name.

What broke and is no test has a node too, `WHERE::<collection>` and the like: it differs as a test does, and ran none.
"""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"(?<= at )0x[0-9a-fA-F]+|0x[0-9a-fA-F]{9,16}(?![0-9a-zA-Z])")

_PSEUDO = ("::<collection>", "::<file>", "::<suite>", "::<package>")


def is_test(node: str) -> bool:
    """False for a node that stands for a collector, file, suite or package that broke.

    >>> is_test("t.py::a"), is_test("t.py::<collection>")
    (True, False)
    """
    return not node.endswith(_PSEUDO)


def masked_ids(nodes: list[str]) -> list[str]:
    """Ids with memory addresses masked; ids that only an address tells apart are numbered in order.

    >>> masked_ids(["t[<A at 0x7f00>]", "t[<A at 0x7f10>]", "u[0x10]"])
    ['t[<A at 0x<ADDR:1>>]', 't[<A at 0x<ADDR:2>>]', 'u[0x10]']
    """
    known: dict[str, list[str]] = {}
    masked = []
    for node in nodes:
        plain = _ADDRESS.sub("0x<ADDR>", node)
        if plain == node:
            masked.append(node)
            continue
        alike = known.setdefault(plain, [])
        if node not in alike:
            alike.append(node)
        masked.append(plain.replace("0x<ADDR>", f"0x<ADDR:{alike.index(node) + 1}>"))
    return masked
