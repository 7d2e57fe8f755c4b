"""Let one call of an ingest fail, at a thousand different places, and see that nothing acknowledged is lost.

Usage: python bench/faults.py [--points 1000] [--seed 1]. Needs a C compiler. At each point a store takes in a corpus
while the nth write, fsync, rename, truncation or large allocation fails (disk full, I/O error, half written) or the
process is killed there. Then, without faults: the store opens, holds every run that was acknowledged, verifies, and the
repeated ingest ends with the rows of an undisturbed one. Exits with 1 where any of that does not hold.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import kill as corpus_of

from samework.errors import SameworkError, StoreError
from samework.ingest.pipeline import ingest
from samework.ingest.settings import IngestSettings
from samework.store.connection import create_store, open_store
from samework.store.verify import verify_store
from samework.store.write import BatchWriter

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = ("write", "pwrite", "fsync", "rename", "truncate", "allocate")
FAIL, SHORT, KILL, TORN = range(4)
LIBRARY = "FAULTS_LIBRARY"
SETTINGS = IngestSettings(batch_bytes=60_000)
N_FILES = 14


class Point(NamedTuple):
    """One fault: the nth call of a kind. lasting: all later ones fail too, as on a full disk."""

    call: int
    nth: int
    how: int
    code: int = 0
    lasting: bool = False

    def __str__(self) -> str:
        what = {FAIL: errno.errorcode.get(self.code, "?"), SHORT: "short", KILL: "kill", TORN: "torn"}[self.how]
        return f"{CALLS[self.call]} {self.nth} {what}{' for good' if self.lasting else ''}"


_OF_WRITES = [
    (FAIL, errno.ENOSPC, True),
    (FAIL, errno.EIO, False),
    (SHORT, errno.ENOSPC, True),
    (KILL, 0, False),
    (TORN, 0, False),
]
WAYS: dict[str, list[tuple[int, int, bool]]] = {
    "write": _OF_WRITES,
    "pwrite": _OF_WRITES,
    "fsync": [(FAIL, errno.EIO, False), (FAIL, errno.ENOSPC, True), (KILL, 0, False)],
    "rename": [(FAIL, errno.EIO, False), (KILL, 0, False)],
    "truncate": [(FAIL, errno.EIO, False), (KILL, 0, False)],
    "allocate": [(FAIL, errno.ENOMEM, False), (FAIL, errno.ENOMEM, True)],
}


def in_child(work: Callable[[], object]) -> tuple[object, int, str]:
    """Run `work` in a fork; returns what it returned (None where it did not), its wait status, and its stderr."""
    answer_read, answer_write = os.pipe()
    said = tempfile.TemporaryFile()  # noqa: SIM115 (the child writes to it)
    child = os.fork()
    if child == 0:
        os.close(answer_read)
        os.dup2(said.fileno(), 2)
        status = 1
        try:
            answer = pickle.dumps(work())
            with os.fdopen(answer_write, "wb") as out:
                out.write(answer)
            status = 0
        except BaseException:  # noqa: BLE001 (whatever it is, the parent is told)
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(status)
    os.close(answer_write)
    with os.fdopen(answer_read, "rb") as stream:
        data = stream.read()
    _, status = os.waitpid(child, 0)
    said.seek(0)
    text = said.read().decode("utf-8", "replace")
    said.close()
    return pickle.loads(data) if data else None, status, text


def disturbed(store: Path, corpus: Path, point: Point | None, faults: ctypes.CDLL, acknowledged: int) -> object:
    """Ingest with a fault armed; the number of runs after each commit goes to the descriptor `acknowledged`."""
    commit = BatchWriter.commit

    def told(writer: BatchWriter, *given: object) -> int:
        batch = commit(writer, *given)  # type: ignore[arg-type]
        n_runs = writer.handle.db.execute("SELECT count(*) FROM run").fetchall()[0][0]
        os.write(acknowledged, f"{batch} {n_runs}\n".encode())
        return batch

    BatchWriter.commit = told  # type: ignore[method-assign,assignment]
    if point is not None:
        faults.fault_arm(point.call, point.nth, point.how, point.code, int(point.lasting))
    else:
        faults.fault_arm(-1, 0, 0, 0, 0)
    try:
        with open_store(store, read_only=False) as handle:
            ingest(handle, [corpus], SETTINGS)
    except SameworkError as error:
        faults.fault_disarm()
        return f"{type(error).__name__}: {error.message}"
    except MemoryError:
        faults.fault_disarm()
        return "MemoryError"
    faults.fault_disarm()
    return [faults.fault_count(call) for call in range(len(CALLS))]


def examined(store: Path, corpus: Path, n_acknowledged: int, want: dict[str, list[tuple[object, ...]]]) -> str:
    """What is wrong with a store after a fault; "" where nothing is."""
    try:
        with open_store(store, read_only=True) as handle:
            held = handle.db.execute("SELECT count(*) FROM run").fetchall()[0][0]
    except StoreError as error:
        return f"it does not open: {error.message}"
    if held < n_acknowledged:
        return f"{n_acknowledged} runs were acknowledged, {held} are held"
    findings = [f for f in verify_store(store) if f.what != "the ingested bytes are not held"]
    if findings:
        return f"it does not verify: {findings[0].where}: {findings[0].what}"
    with open_store(store, read_only=False) as handle:
        ingest(handle, [corpus], SETTINGS)
    got = corpus_of.rows(store)
    unequal = [table for table in want if got[table] != want[table]]
    if unequal:
        return f"the repeated ingest ends with other rows in {', '.join(unequal)}"
    findings = verify_store(store)
    return f"after the repeat: {findings[0].where}: {findings[0].what}" if findings else ""


def points(counts: list[int], n_points: int, draw: random.Random) -> list[Point]:
    """Distinct points, spread over calls and ways."""
    every = [
        Point(CALLS.index(call), nth, *way)
        for call, ways in WAYS.items()
        for way in ways
        for nth in range(1, counts[CALLS.index(call)] + 1)
    ]
    return every if len(every) <= n_points else draw.sample(every, n_points)


def one(
    folder: Path, corpus: Path, point: Point, faults: ctypes.CDLL, want: dict[str, list[tuple[object, ...]]]
) -> tuple[str, str]:
    """(what became of the disturbed ingest, what is wrong afterwards)."""
    store = folder / "store"
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(folder / "empty", store)
    acknowledged = folder / "acknowledged"
    acknowledged.write_bytes(b"")

    def work() -> object:
        os.dup2(os.open(acknowledged, os.O_WRONLY | os.O_APPEND), 1)  # a descriptor that no fault is armed for
        return disturbed(store, corpus, point, faults, 1)

    answer, status, said = in_child(work)
    lines = acknowledged.read_text().splitlines()
    n_acknowledged = int(lines[-1].split()[1]) if lines else 0
    if os.WIFSIGNALED(status):
        fate = "killed" if os.WTERMSIG(status) == signal.SIGKILL else f"crashed (signal {os.WTERMSIG(status)})"
    elif status:
        return "traceback", said[-600:]
    else:
        fate = "refused" if isinstance(answer, str) else "done"
    wrong, _, said = in_child(lambda: examined(store, corpus, n_acknowledged, want))
    return fate, said[-600:] if wrong is None else str(wrong)


def main() -> None:
    """Make the library, run again with it loaded, disturb."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if LIBRARY not in os.environ:
        folder = Path(tempfile.mkdtemp(prefix="samework-faults-"))
        library = folder / "faults.so"
        source = Path(__file__).with_name("faults.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
        env = os.environ | {"LD_PRELOAD": str(library), LIBRARY: str(library)}
        sys.exit(subprocess.run([sys.executable, *sys.argv], env=env, check=False).returncode)
    folder = Path(os.environ[LIBRARY]).parent
    faults = ctypes.CDLL(os.environ[LIBRARY])
    faults.fault_arm.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_int, ctypes.c_int, ctypes.c_int]
    faults.fault_count.restype = ctypes.c_long
    corpus = folder / "corpus"
    corpus_of.N_FILES = N_FILES
    corpus_of.write_corpus(corpus, asked.seed)
    in_child(lambda: create_store(folder / "empty").close())
    shutil.copytree(folder / "empty", folder / "calm")
    counts, _, said = in_child(lambda: disturbed(folder / "calm", corpus, None, faults, 2))
    want, _, _ = in_child(lambda: corpus_of.rows(folder / "calm"))
    if not isinstance(counts, list) or not isinstance(want, dict):
        sys.exit(f"the undisturbed ingest failed:\n{said}")
    print("calls of one ingest:", ", ".join(f"{name} {count}" for name, count in zip(CALLS, counts, strict=True)))
    began = time.perf_counter()
    fates: Counter[str] = Counter()
    bad = []
    chosen = points(counts, asked.points, random.Random(asked.seed))
    for place, point in enumerate(chosen, start=1):
        fate, wrong = one(folder, corpus, point, faults, want)
        fates[fate] += 1
        if wrong:
            bad.append((point, wrong))
            print(f"{point}: {fate}: {wrong}", flush=True)
        if place % 100 == 0:
            print(f"{place} points, {len(bad)} bad, {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    print(f"{len(chosen)} distinct points: {dict(fates)}")
    print(f"{len(bad)} bad; runs of an undisturbed ingest: {len(want['run'])}")
    shutil.rmtree(folder)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
