"""Every query of the experiment binds in an empty store, and gives the columns that its header names."""

from __future__ import annotations

import re

import pytest

from samework.experiment.evidence import evidence, prepared
from samework.store.sql import header, load, names
from tests.lab import Lab

QUERIES = [name for name in names("samework.experiment", "sql") if name.startswith("experiment_")]


@pytest.mark.parametrize("name", QUERIES)
def test_query_binds_and_matches_its_header(name: str) -> None:
    lab = Lab()
    evidence(prepared(lab, task=None, strict=False), [], [], [])
    text = load("samework.experiment", f"sql/{name}")
    given = dict.fromkeys(re.findall(r"\$([a-z_]+)", "\n".join(x for x in text.splitlines() if x[:2] != "--")))
    columns = [row[0] for row in lab.db.execute(f"describe {text}", given).fetchall()]
    said = " ".join(header(text).split())
    assert said.startswith(f"experiment/{name}: ")
    assert columns
    if "Columns: as the temp table signature" not in said:
        listed = said.partition("Columns: ")[2]
        assert [column for column in columns if not re.search(rf"\b{column}\b", listed)] == []
    lab.close()
