"""An experiment over 1,000 items x 2 arms x 5 repeats, and over ten times fewer items: seconds, and the ratio.

Run: python bench/experiment.py
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from samework.experiment.answer import Question, experiment
from samework.store.connection import create_store, open_store

N_REPEATS = 5
FACETS = ("completion_tokens", "prompt_tokens", "text", "actions", "observations", "refuter")


def build(path: Path, n_items: int) -> None:
    """A store in which runs of an item differ now and then, and arms differ in one item of ten."""
    n_runs = n_items * 2 * N_REPEATS
    path_of_run = "case when hash(i) % 11 = 0 then i when (i // 10) % 10 = 0 then i // 5 else -(i // 10) end"
    with create_store(path) as handle:
        db = handle.db
        db.execute(f"""insert into run by name
            select i as run_key, printf('%016x', i) as run_id, 't' || (i // 10) as task,
                   case when i % 10 < 5 then 'a' else 'b' end as arm, '' || (i % 5) as repeat, 'coding' as kind,
                   'made' as format, 'bundle' as layout, 'finished' as end_reason, true as complete,
                   true as has_trajectory, 10 as n_events, 5 as n_steps, 5 as n_calls,
                   '' || (1700000000 + hash(i) % 100000) as started,
                   unhex(sha256('' || i)) as content_sha256, unhex(sha256('s')) as source_sha256,
                   unhex(sha256('s')) as settings_sha256 from range({n_runs}) t(i)""")
        for facet in FACETS:
            db.execute(f"""insert into facet_digest by name
                select i as run_key, '{facet}' as facet, unhex(sha256('r')) as ruleset_id,
                       unhex(sha256('{facet}' || ({path_of_run}))) as digest, unhex(sha256('c')) as comparable,
                       'direct' as grade, false as vacuous, 5 as n_parts, 0 as n_masked_bytes
                from range({n_runs}) t(i)""")
        db.execute(f"""insert into run_tree by name
            select i as run_key, sha256('o' || ({path_of_run})) as oid, 'sha1' as object_format,
                   unhex(sha256('o' || ({path_of_run}))) as tcd, 'worktree' as policy, '' as scope, 'direct' as grade,
                   '[]' as flags from range({n_runs}) t(i) where hash(i) % 50 <> 3""")
        db.execute(f"""insert into test_report by name
            select i as report_key, i as run_key, unhex(sha256('' || i)) as report_sha256, 'made' as format,
                   's' as suite, 'e' as env, 'bundle' as layout, true as complete, 10 as n_nodes,
                   10 as n_executed, case when hash({path_of_run}) % 3 = 0 then 1 else 0 end as n_failing,
                   false as has_conflict, unhex(sha256('m' || (hash({path_of_run}) % 3))) as map_sha256,
                   '[]' as findings from range({n_runs}) t(i)""")
        db.execute(f"""insert into run_outcome by name
            select i as run_key, 'resolved' as name,
                   case when hash({path_of_run}) % 3 = 0 then 'false' else 'true' end as value
            from range({n_runs}) t(i)""")


def main() -> None:
    measured = {}
    asked = Question(arms=("a", "b"), margin=0.02)
    with tempfile.TemporaryDirectory() as folder:
        for n_items in (100, 1_000):
            path = Path(folder) / str(n_items) / ".samework"
            path.parent.mkdir()
            build(path, n_items)
            with open_store(path, read_only=True) as handle:
                experiment(handle, asked)  # imports scipy
                start = time.perf_counter()
                found = experiment(handle, asked)
                measured[n_items] = time.perf_counter() - start
            tokens = found.levels[0].across[0]
            print(
                f"{n_items:>6,} items x 2 arms x {N_REPEATS} repeats: {measured[n_items]:.2f} s; tokens differ in "
                f"{tokens.found.items.k:,} items, {found.family.n_tests} tests, paths {tokens.test.method}"
            )
    print(f"ten times the items took {measured[1_000] / measured[100]:.1f} times as long (linear: 10)")


if __name__ == "__main__":
    main()
