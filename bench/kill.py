"""Kill an ingest with SIGKILL at random moments, repeat it, and compare the store with one that was left in peace.

Usage: python bench/kill.py [--kills 50] [--seed 1]. Exits with 1 where any row of any table differs (columns of path,
time and batch aside), or where a store could not be opened after a kill.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from samework.ingest.pipeline import ingest
from samework.ingest.settings import IngestSettings
from samework.store.connection import create_store, open_store
from samework.store.ddl import tables_by_name

N_FILES = 60
BATCH_BYTES = 200_000
CHILD = """
import sys
from pathlib import Path
from samework.ingest.pipeline import ingest
from samework.ingest.settings import IngestSettings
from samework.store.connection import open_store
with open_store(Path(sys.argv[1]), read_only=False) as handle:
    print("open", flush=True)
    ingest(handle, [Path(sys.argv[2])], IngestSettings(batch_bytes=int(sys.argv[3])))
"""
VOLATILE = {"batch", "path", "written", "roots"}


def write_corpus(folder: Path, seed: int) -> None:
    """Trajectories, two of them with damage and one large enough for its own transaction, and predictions."""
    source = random.Random(seed)
    folder.mkdir(parents=True)
    predictions = []
    for number in range(N_FILES):
        n_steps = 400 if number == N_FILES // 2 else source.randint(1, 25)
        lines: list[dict[str, object]] = [{"kind": "user", "text": f"task {number % 7}"}]
        for step in range(n_steps):
            call = {"id": f"c{step}", "name": "shell", "arguments": json.dumps({"command": f"ls {source.random()}"})}
            lines.append({"kind": "completion", "text": "word " * source.randint(1, 200), "tool_calls": [call]})
            lines.append({"kind": "observation", "call_id": f"c{step}", "text": "line\n" * source.randint(1, 300)})
        lines.append({"kind": "end", "text": "finished"})
        text = "".join(json.dumps(line) + "\n" for line in lines)
        if number % 29 == 3:
            text += '{"kind": "obse'
        (folder / f"t{number:03}.jsonl").write_text(text, encoding="utf-8")
        patch = (
            f"diff --git a/f b/f\nindex 1111111..{number:07x} 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+{number}\n"
        )
        predictions.append({"instance_id": f"t{number:03}", "model_name_or_path": "m", "model_patch": patch})
    lines_of = "".join(json.dumps(each) + "\n" for each in predictions)
    (folder / "preds.jsonl").write_text(lines_of, encoding="utf-8")
    (folder / "cut.traj").write_text('{"trajectory":[{"action":"ls","observation":"a","respon', encoding="utf-8")


def rows(store: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables but the ledger, without volatile columns, in a fixed order."""
    found = {}
    with open_store(store, read_only=True) as handle:
        for table, model in tables_by_name().items():
            columns = ", ".join(f'"{name}"' for name in model.model_fields if name not in VOLATILE)
            if table not in {"ingest_ledger", "meta"}:
                found[table] = handle.db.execute(f'SELECT {columns} FROM main."{table}" ORDER BY ALL').fetchall()
    return found


def run_child(store: Path, corpus: Path, delay: float | None) -> str:
    """One ingest in its own process, killed `delay` seconds after it opened the store; "killed" or "ended"."""
    words = [sys.executable, "-c", CHILD, str(store), str(corpus), str(BATCH_BYTES)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        if delay is not None:
            try:
                child.wait(delay)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
        said = child.stderr.read().decode()
        child.wait()
        if child.returncode not in {0, -signal.SIGKILL}:
            sys.exit(f"the ingest failed after a kill:\n{said}")
        return "ended" if child.returncode == 0 else "killed"


def main() -> None:
    """Kill, repeat, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="samework-kill-"))
    corpus = folder / "corpus"
    write_corpus(corpus, asked.seed)
    began = time.perf_counter()
    with create_store(folder / "calm") as handle:
        ingest(handle, [corpus], IngestSettings(batch_bytes=BATCH_BYTES))
    calm_seconds = time.perf_counter() - began
    want = rows(folder / "calm")
    source = random.Random(asked.seed)
    n_killed = n_rounds = 0
    sizes = set()
    while n_killed < asked.kills:
        n_rounds += 1
        store = folder / f"killed-{n_rounds}"
        create_store(store).close()
        while n_killed < asked.kills:
            if run_child(store, corpus, source.uniform(0, calm_seconds * 0.7)) == "ended":
                break
            n_killed += 1
            sizes.add(len(rows(store)["run"]))
        run_child(store, corpus, None)
        got = rows(store)
        for table, expected in want.items():
            if got[table] != expected:
                lost, extra = len(set(expected) - set(got[table])), len(set(got[table]) - set(expected))
                sys.exit(f"round {n_rounds}, {table}: {lost} rows lost, {extra} rows too many (store kept: {store})")
        shutil.rmtree(store)
    print(f"{n_killed} kills in {n_rounds} stores; sizes met after a kill: {sorted(sizes)} of {len(want['run'])} runs")
    print(f"all tables equal: {sum(map(len, want.values()))} rows")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
