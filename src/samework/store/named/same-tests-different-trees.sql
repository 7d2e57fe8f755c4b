-- named/same-tests-different-trees: results that the tests do not tell apart although their trees differ.
-- Parameters: none. Columns: task text, tests text, n_trees bigint, n_runs bigint, runs text[].
SELECT task, tests, count(DISTINCT tree) AS n_trees, count(*) AS n_runs, list(run_id ORDER BY run_id) AS runs
FROM run_digests
WHERE tests IS NOT NULL AND tree IS NOT NULL
GROUP BY task, tests
HAVING count(DISTINCT tree) > 1
ORDER BY n_trees DESC, task, tests
