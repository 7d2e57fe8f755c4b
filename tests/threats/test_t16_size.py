"""T16: memory is flat in the size of a file, and work over runs does not grow with their pairs."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.command import COMMAND, answer, new_store
from tests.measured import measured

if TYPE_CHECKING:
    from pathlib import Path

FLAT_MIB = 80


def ingested(place: Path, n_calls: int) -> float:
    """Peak memory (MiB) of ingesting one run of so many tool calls with answers of 2 kB."""
    place.mkdir()
    call = {"id": "1", "name": "bash", "arguments": '{"command":"ls"}'}
    with (place / "run.jsonl").open("w") as out:
        for n in range(n_calls):
            out.write(json.dumps({"kind": "completion", "text": f"{n}", "tool_calls": [call]}) + "\n")
            out.write(json.dumps({"kind": "observation", "text": f"{n} " * 500, "call_id": "1"}) + "\n")
    store = new_store(place)
    done = measured([COMMAND, "ingest", str(place / "run.jsonl"), "--store", str(store)])
    assert done.returncode == 0, done.said
    return done.peak_mib


@pytest.mark.slow
def test_a_run_eight_times_as_long_takes_no_more_memory(tmp_path: Path) -> None:
    small, large = ingested(tmp_path / "small", 3_000), ingested(tmp_path / "large", 24_000)
    assert large - small < FLAT_MIB, (small, large)


@pytest.mark.slow
def test_a_thousand_runs_of_a_task_are_sorted_in_seconds(tmp_path: Path) -> None:
    """Half a million pairs: to judge them one by one would take minutes."""
    for n in range(1_000):
        place = tmp_path / "in" / str(n)
        place.mkdir(parents=True)
        (place / "run.json").write_text(json.dumps({"task": "t", "arm": "a", "repeat": n, "transcript": "e.jsonl"}))
        (place / "e.jsonl").write_text(f'{{"kind":"completion","text":"{n % 7}"}}\n{{"kind":"end"}}\n')
    store = new_store(tmp_path)
    answer("ingest", tmp_path / "in", store=store)
    began = time.process_time()
    found = answer("classes", store=store)
    assert time.process_time() - began < 30
    assert found["pairs"]["total"] == 1_000 * 999 // 2
