-- queries/attached_to: which artifacts are recorded of a run, by the name of their table.
-- Parameters: $key bigint. Columns: name text.
SELECT 'run_tree' AS name FROM main.run_tree WHERE run_key = $key AND (oid IS NOT NULL OR tcd IS NOT NULL)
UNION
SELECT 'patch' FROM main.patch WHERE run_key = $key AND patch_sha256 IS NOT NULL
UNION
SELECT 'test_report' FROM main.test_report WHERE run_key = $key
UNION
SELECT 'run_outcome' FROM main.run_outcome WHERE run_key = $key
UNION
SELECT 'run_invariant' FROM main.run_invariant WHERE run_key = $key
ORDER BY name
