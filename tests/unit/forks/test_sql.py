"""Every query of the room binds in an empty store, and gives the columns that its header names."""

from __future__ import annotations

import re

import pytest

from samework.equivalence.signatures import prepare
from samework.store.sql import header, load, names

QUERIES = names("samework.forks", "sql")


@pytest.mark.parametrize("name", QUERIES)
def test_query_binds_and_matches_its_header(made, name):
    handle = made()
    prepare(handle)
    text = load("samework.forks", f"sql/{name}")
    given = dict.fromkeys(re.findall(r"\$([a-z_]+)", "\n".join(x for x in text.splitlines() if x[:2] != "--")))
    columns = [row[0] for row in handle.db.execute(f"describe {text}", given).fetchall()]
    said = " ".join(header(text).split())
    assert said.startswith(f"forks/{name}: ")
    if "Columns: as forks/branch_members" in said:
        said = " ".join(header(load("samework.forks", "sql/branch_members")).split())
    assert columns
    assert [column for column in columns if not re.search(rf"\b{column.removesuffix('_c')}\b", said)] == []
