"""Fork nodes over 4 million steps: time of the query, of the whole table of forks, and of one first divergence.

Run: python bench/forks.py [n_steps]. Prints seconds and ratios to one plain pass over the same rows.
Rows are made by SQL straight into a store: 20 runs a task, 200 steps a run, each run leaving the common path at a step
of its own; bodies of text are made for the first steps after a fork only.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from samework.forks import first_divergence, forks
from samework.forks.trie import PACKAGE
from samework.store.connection import create_store, open_store
from samework.store.sql import load

if TYPE_CHECKING:
    from collections.abc import Callable

N_STEPS, N_RUNS = 200, 20
LIMIT_S = 3.0

EVENTS = """
insert into event
with steps as (
    select r.run_key, r.task, s.seq, hash(r.run_key) % $n_steps as leaves
    from run r, (select unnest(range($n_steps)) as seq) s
),
paths as (
    select *, case when seq < leaves then 0 else run_key end as path,
           case when seq - 1 < leaves then 0 else run_key end as before
    from steps
)
select run_key, seq, seq + 1, 'completion', unhex(sha256(task || path || '/' || seq)),
       case when seq > 0 then unhex(sha256(task || before || '/' || (seq - 1))) end,
       unhex(sha256(task || path || '/' || seq)), unhex(sha256('a' || path)), null, null, null,
       unhex(sha256('body' || path || '/' || seq)), null, 100, null, null, null, null, null, null
from paths
"""
RUNS = """
insert into run by name
select i + 1 as run_key, lpad(hex(i + 1), 16, '0') as run_id, 'task-' || (i // $n_runs) as task,
       'arm-' || (i % 2) as arm, i::text as repeat, 'coding' as kind, 'made' as format, 'made' as layout,
       'finished' as end_reason, true as complete, true as has_trajectory, $n_steps as n_events, $n_steps as n_steps,
       0 as n_calls, unhex(sha256(i::text)) as content_sha256, unhex(sha256('s')) as source_sha256,
       unhex(sha256('s')) as settings_sha256
from range($n) t(i)
"""
LAST = "update run set last_chain = e.chain from event e where e.run_key = run.run_key and e.seq = run.n_events - 1"
TREES = """
insert into run_tree by name
select run_key, sha1(task || (run_key % 3)) as oid, 'sha1' as object_format,
       unhex(sha256(task || (run_key % 3))) as tcd, 'worktree' as policy, 'direct' as grade,
       '' as scope, '[]' as flags
from run
"""
BODIES = """
insert into body select distinct body, repeat('text of a step ', 20) || hex(body) from event
where seq = hash(run_key) % $n_steps
"""


def timed(what: Callable[[], object], times: int = 3) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        what()
        best = min(best, time.perf_counter() - start)
    return best


def fill(path: Path, n_steps: int) -> None:
    handle = create_store(path)
    handle.db.execute("set memory_limit = '4GB'")
    n = max(n_steps // N_STEPS, N_RUNS)
    handle.db.execute(RUNS, {"n": n, "n_runs": N_RUNS, "n_steps": N_STEPS})
    handle.db.execute(EVENTS, {"n_steps": N_STEPS})
    handle.db.execute(LAST)
    handle.db.execute(TREES)
    handle.db.execute(BODIES, {"n_steps": N_STEPS})
    handle.close()


def main(n_steps: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ".samework"
        fill(path, n_steps)
        with open_store(path, read_only=True) as handle:
            rows = handle.db.execute("select count(*) from event").fetchone()[0]
            plain = timed(lambda: handle.db.execute("select sum(hash(prev)), sum(hash(chain)) from event").fetchall())
            members = load(PACKAGE, "sql/branch_members")
            counted = f"select count(*), count(distinct (task, prev)) from ({members})"
            found = handle.db.execute(counted, {"task": None}).fetchone()
            nodes = timed(lambda: handle.db.execute(counted, {"task": None}).fetchall())
            whole = timed(lambda: forks(handle), 1)
            pair = timed(lambda: first_divergence(handle, 1, 2))
        print(f"{rows:,} steps, {found[1]:,} nodes, {found[0]:,} runs at nodes")
        print(f"one pass over prev and chain  {plain:7.3f} s")
        print(f"fork nodes and their runs     {nodes:7.3f} s  {nodes / plain:5.1f} passes")
        print(f"table of forks, consequences  {whole:7.3f} s  {whole / plain:5.1f} passes")
        print(f"first divergence of a pair    {pair:7.3f} s")
        slow = nodes > LIMIT_S
        print("too slow" if slow else f"below {LIMIT_S:g} s")
        return int(slow)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 4_000_000))
