-- named/flaky-tests-in-a-cell: test nodes with more than one outcome on one tree, suite and environment.
-- Parameters: none. Columns: task text, cell text, suite text, env text, node text, outcomes text[], n_reports bigint.
SELECT
    o.task, coalesce(x.tree, 'run:' || o.run_id) AS cell, o.suite, coalesce(o.env, 'layout:' || t.layout) AS env, o.node,
    list(DISTINCT o.outcome ORDER BY o.outcome) AS outcomes, count(DISTINCT o.report_key) AS n_reports
FROM test_outcomes AS o
JOIN test_reports AS t USING (report_key)
LEFT JOIN trees AS x ON x.run_key = o.run_key
GROUP BY ALL
HAVING count(DISTINCT o.outcome) > 1
ORDER BY ALL
