-- queries/last_chains: where the trajectories of some runs end.
-- Parameters: $keys bigint[]. Columns: run_key bigint, last_chain blob.
SELECT run_key, last_chain FROM main.run WHERE list_contains($keys, run_key) AND last_chain IS NOT NULL ORDER BY run_key
