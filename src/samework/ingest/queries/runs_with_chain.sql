-- queries/runs_with_chain: which of some runs pass through a chain: those that go on from where it ends, or end there.
-- Parameters: $keys bigint[], $chain blob. Columns: run_key bigint.
SELECT DISTINCT run_key FROM main.event WHERE list_contains($keys, run_key) AND chain = $chain ORDER BY run_key
