"""T18: a transcript that is still written is an open run with the byte of its tail, and ingest may be repeated."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.command import answer, new_store

if TYPE_CHECKING:
    from pathlib import Path

LINES = [
    {"type": "user", "uuid": "1", "parentUuid": None, "message": {"role": "user", "content": "go"}},
    {
        "type": "assistant", "uuid": "2", "parentUuid": "1", "requestId": "r",
        "message": {"id": "m", "role": "assistant", "model": "x", "content": [{"type": "text", "text": "done"}],
                    "usage": {"input_tokens": 1, "output_tokens": 1}},
    },
]  # fmt: skip


def test_the_tail_is_reported_at_its_byte_and_ingest_may_be_repeated(tmp_path: Path) -> None:
    whole = "".join(
        json.dumps({"sessionId": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w", "version": "2", **line}) + "\n"
        for line in LINES
    )
    path = tmp_path / "session.jsonl"
    path.write_text(whole[:-30])
    store = new_store(tmp_path)
    asked = ("ingest", path, "--task", "t", "--arm", "a")
    (first,) = answer(*asked, store=store)["sources"]
    assert first["status"] == "incomplete"
    shown = answer("show", first["runs"][0], store=store)
    start = whole.index("\n") + 1
    assert any(defect["code"] == "cut-tail" and defect["offset"] == start for defect in shown["defects"])
    assert answer(*asked, store=store)["sources"][0]["status"] == "known"
    path.write_text(whole)
    assert answer(*asked, store=store)["sources"][0]["status"] not in {"refused", "skipped", "incomplete"}
    (again,) = answer(*asked, store=store)["sources"]
    assert again["status"] == "known"
    assert len(answer("query", "from events where kind = 'completion'", store=store)) == 1
    complete = [run["complete"] for run in answer("runs", store=store)]
    assert complete.count(True) == 1
    for pair in answer("pairs", store=store):  # the open record beside the whole one is never held identical
        assert pair["facets"]["tokens"] == pair["facets"]["text"] == "unknown"
