"""How fast events come into a store: 200 MB of events.jsonl, whole ingest against bare decoding of the same file.

Usage: python bench/ingest.py [--mb 200] [--dir DIR] [--profile]. Prints rates, their ratio, and peak resident memory.
The file is made from a seed, so every run measures the same bytes.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
import resource
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Self

import orjson

from samework.ingest.pipeline import ingest
from samework.store.connection import create_store

WORDS = [
    "def", "return", "self", "test", "assert", "value", "error", "line", "import", "class", "None", "True", "path",
    "the", "of", "in", "and", "tree", "node", "index", "raise", "for", "if", "else", "result", "=", "==", "(", ")", ":",
    "src/module/core.py", "tests/test_core.py", "Traceback", "ValueError", "0", "1", "17", "+++", "---", "@@",
]  # fmt: skip
STEP_BYTES = 4400


def text(source: random.Random, n_bytes: int) -> str:
    """Words of code and logs, about `n_bytes` long."""
    return " ".join(source.choices(WORDS, k=max(n_bytes // 5, 1)))


def write_events(path: Path, n_bytes: int) -> int:
    """Write a trajectory of steps (completion with a call, observation); returns the number of events."""
    source = random.Random(7)
    n_events = 0
    with path.open("wb") as out:
        out.write(orjson.dumps({"kind": "system", "text": text(source, 4000)}) + b"\n")
        out.write(orjson.dumps({"kind": "user", "text": text(source, 2000)}) + b"\n")
        step = 0
        while out.tell() < n_bytes:
            step += 1
            arguments = orjson.dumps({"command": f"sed -n {step},{step + 40}p src/a.py", "why": text(source, 200)})
            call = {"id": f"c{step}", "name": "shell", "arguments": arguments.decode()}
            completion = {
                "kind": "completion",
                "text": text(source, 600),
                "tool_calls": [call],
                "usage": {"prompt_tokens": 900 + step, "cached_tokens": 800 + step, "completion_tokens": 120},
            }
            size = min(int(source.paretovariate(1.3) * 700), 60_000)
            observation = {"kind": "observation", "call_id": f"c{step}", "text": text(source, size), "exit_status": 0}
            out.write(orjson.dumps(completion) + b"\n" + orjson.dumps(observation) + b"\n")
            n_events += 2
        out.write(orjson.dumps({"kind": "end", "text": "finished"}) + b"\n")
    return n_events + 3


def decode_rate(path: Path) -> float:
    """MB/s of orjson.loads per line."""
    began = time.perf_counter()
    with path.open("rb") as lines:
        for line in lines:
            orjson.loads(line)
    return path.stat().st_size / 1e6 / (time.perf_counter() - began)


class PeakMemory:
    """Highest resident memory of this process while a block runs, MB."""

    def __enter__(self) -> Self:
        self.peak = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        page = resource.getpagesize()
        while not self._stop.wait(0.02):
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
            self.peak = max(self.peak, pages * page / 1e6)


def main() -> None:
    """Make the file, measure both, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=200)
    parser.add_argument("--dir", type=Path, default=None)
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    folder = asked.dir or Path(tempfile.mkdtemp(prefix="samework-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"events-{asked.mb}.jsonl"
    n_events = write_events(path, asked.mb * 1_000_000)
    n_mb = path.stat().st_size / 1e6
    decoded = decode_rate(path)
    store = folder / ".samework"
    shutil.rmtree(store, ignore_errors=True)
    profile = cProfile.Profile()
    with PeakMemory() as memory, create_store(store) as handle:
        began, began_cpu = time.perf_counter(), time.process_time()
        if asked.profile:
            profile.enable()
        summary = ingest(handle, [path])
        profile.disable()
        seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    stored = sum(each.stat().st_size for each in store.rglob("*") if each.is_file()) / 1e6
    print(f"file          {n_mb:8.1f} MB, {n_events} events, new runs: {summary.n_new}")
    print(f"orjson.loads  {decoded:8.1f} MB/s")
    print(f"ingest        {n_mb / seconds:8.1f} MB/s, {n_events / seconds:.0f} events/s, {seconds:.2f} s")
    print(f"CPU           {cpu:8.2f} s")
    print(f"ratio         {n_mb / seconds / decoded:8.2f}")
    print(f"peak memory   {memory.peak:8.1f} MB")
    print(f"store         {stored:8.1f} MB")
    if asked.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    if asked.dir is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
