-- named/same-tree-different-actions: trees that runs of one task reached by different actions.
-- Parameters: none. Columns: task text, tree text, n_ways bigint, n_runs bigint, arms text[], runs text[].
SELECT
    task, tree, count(DISTINCT actions) AS n_ways, count(*) AS n_runs, list(DISTINCT arm ORDER BY arm) AS arms,
    list(run_id ORDER BY run_id) AS runs
FROM run_digests
WHERE tree IS NOT NULL AND actions IS NOT NULL
GROUP BY task, tree
HAVING count(DISTINCT actions) > 1
ORDER BY n_runs DESC, task, tree
