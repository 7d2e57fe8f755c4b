"""Classes over many runs: seconds for 10,000 and 100,000 runs in tasks of 100, and the ratio of the two.

Run: python bench/classes.py
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from samework.equivalence.classes import classes, count_pairs
from samework.store.connection import create_store, open_store

FACETS = {
    "completion_tokens": 40,
    "prompt_tokens": 40,
    "text": 40,
    "actions": 20,
    "observations": 30,
    "refuter": 40,
}


def build(path: Path, n_runs: int) -> None:
    """A store of `n_runs` made-up runs: 100 a task, one in ten without a tree, one in seven without a report."""
    with create_store(path) as handle:
        db = handle.db
        db.execute("set memory_limit = '4GB'")
        db.execute(f"""insert into run by name
            select i as run_key, printf('%016x', i) as run_id, 't' || (i // 100) as task,
                   case when i % 2 = 0 then 'a' else 'b' end as arm, '' || (i % 100) as repeat, 'coding' as kind,
                   'made' as format, 'bundle' as layout, 'finished' as end_reason, true as complete,
                   true as has_trajectory, 10 as n_events, 5 as n_steps, 5 as n_calls,
                   unhex(sha256('' || i)) as content_sha256, unhex(sha256('s')) as source_sha256,
                   unhex(sha256('s')) as settings_sha256 from range({n_runs}) t(i)""")
        for facet, n_values in FACETS.items():
            db.execute(f"""insert into facet_digest by name
                select i as run_key, '{facet}' as facet, unhex(sha256('r')) as ruleset_id,
                       unhex(sha256('{facet}' || (hash(i) % {n_values}))) as digest, unhex(sha256('c')) as comparable,
                       'direct' as grade, false as vacuous, 5 as n_parts, 0 as n_masked_bytes
                from range({n_runs}) t(i)""")
        db.execute(f"""insert into run_tree by name
            select i as run_key, sha256('o' || (hash(i) % 15)) as oid, 'sha1' as object_format,
                   unhex(sha256('o' || (hash(i) % 15))) as tcd, 'worktree' as policy, '' as scope, 'direct' as grade,
                   '[]' as flags from range({n_runs}) t(i) where i % 10 <> 3""")
        db.execute(f"""insert into test_report by name
            select i as report_key, i as run_key, unhex(sha256('' || i)) as report_sha256, 'made' as format,
                   's' as suite, 'e' as env, 'bundle' as layout, true as complete, 10 as n_nodes,
                   10 as n_executed, 1 as n_failing,
                   false as has_conflict, unhex(sha256('m' || ((hash(i) % 15) % 5))) as map_sha256, '[]' as findings
            from range({n_runs}) t(i) where i % 7 <> 3""")


def seconds(work: object) -> float:
    """Best of three."""
    found = []
    for _ in range(3):
        start = time.perf_counter()
        work()  # type: ignore[operator]
        found.append(time.perf_counter() - start)
    return min(found)


def main() -> None:
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        for n_runs in (10_000, 100_000):
            path = Path(folder) / str(n_runs) / ".samework"
            path.parent.mkdir()
            build(path, n_runs)
            with open_store(path, read_only=True) as handle:
                n_pairs = count_pairs(handle).n_pairs
                counted = seconds(lambda handle=handle: count_pairs(handle))
                whole = seconds(lambda handle=handle: classes(handle))
            measured[n_runs] = counted
            print(f"{n_runs:>7} runs, {n_pairs:>9} pairs: counts {counted:.3f} s, with nested tables {whole:.3f} s")
    print(f"ten times the runs took {measured[100_000] / measured[10_000]:.1f} times as long (linear: 10)")


if __name__ == "__main__":
    main()
