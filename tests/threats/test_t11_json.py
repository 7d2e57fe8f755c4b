"""T11: what breaks decoders is kept without loss or refused at its line; the other lines of the file are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.command import answer, new_store

if TYPE_CHECKING:
    from pathlib import Path

BIG = 18446744073709551616
# What stands as arguments of a call: the JSON text, and whether its line is read.
VALUES = {
    "deep": ("[" * 100_000, False),
    "closed-deep": ("[" * 100_000 + "]" * 100_000, False),
    "digits": ("9" * 5000, False),
    "big": (str(BIG), True),
    "twice": ('{"a":1,"a":2}', True),
    "nan": ("NaN", True),
    "surrogate": ('"\\ud83d"', True),
    "comma": ('{"a":1,}', False),
    "long": ('"' + "x" * 20_000_000 + '"', True),
}


def line(value: str) -> str:
    return f'{{"role":"tool","tool_call_id":"c","content":"x","extra":{value}}}'


@pytest.mark.parametrize("name", VALUES)
def test_one_line_costs_no_other(name: str, tmp_path: Path) -> None:
    """As messages of a chat in JSON Lines, a format whose lines are read whole."""
    value, is_read = VALUES[name]
    first = '{"role":"user","content":"go"}'
    last = '{"role":"assistant","content":"done"}'
    path = tmp_path / "chat.jsonl"
    path.write_text(f"{first}\n{line(value)}\n{last}\n")
    store = new_store(tmp_path)
    (source,) = answer("ingest", path, store=store)["sources"]
    assert source["status"] in {"new", "incomplete"}, source
    shown = answer("show", source["runs"][0], store=store)
    kinds = answer("query", "select kind, count(*) as n from events group by kind", store=store)
    counts = {row["kind"]: row["n"] for row in kinds}
    assert (counts["user"], counts["completion"]) == (1, 1)
    if not is_read or name == "twice":
        assert source["status"] == "incomplete"
        assert any("line 2" in defect["reason"] for defect in shown["defects"])


def test_arguments_keep_every_digit_and_each_half_pair(tmp_path: Path) -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": f'{{"n":{BIG},"s":"\\ud83d"}}'}}]
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": calls}]
    (tmp_path / "chat.json").write_text(json.dumps({"messages": messages}))
    store = new_store(tmp_path)
    answer("ingest", tmp_path / "chat.json", store=store)
    sql = "select b.text from tool_calls as c join bodies as b on b.sha256 = c.arguments"
    assert answer("query", sql, store=store) == [{"text": calls[0]["function"]["arguments"]}]
