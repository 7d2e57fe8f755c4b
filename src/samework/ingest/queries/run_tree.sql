-- queries/run_tree: the tree recorded for a run.
-- Parameters: $run_key bigint. Columns: oid text, grade text.
SELECT oid, grade
FROM main.run_tree
WHERE run_key = $run_key
