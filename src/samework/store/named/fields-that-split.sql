-- named/fields-that-split: manifest fields whose value goes with the branch at a fork: each value lies in one branch only,
-- and the branches do not share one. It co-varies; that is not yet a cause.
-- Parameters: none. Columns: task text, node text, step bigint, field text, n_values bigint, n_runs bigint.
WITH members AS (
    SELECT b.task, b.node, f.step, b.branch, b.run_id FROM fork_branches AS b JOIN forks AS f USING (task, node)
), valued AS (
    SELECT m.task, m.node, m.step, m.branch, f.field, f.value, m.run_id
    FROM members AS m
    JOIN manifest_fields AS f USING (run_id)
    WHERE f.value IS NOT NULL
), placed AS (
    SELECT task, node, step, field, value, count(DISTINCT branch) AS n_branches, count(*) AS n_runs
    FROM valued
    GROUP BY ALL
)
SELECT task, node, step, field, count(*) AS n_values, sum(n_runs)::BIGINT AS n_runs
FROM placed
GROUP BY task, node, step, field
HAVING count(*) > 1 AND max(n_branches) = 1
ORDER BY task, step, node, field
