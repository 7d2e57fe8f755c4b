-- named/tool-call-forks-that-changed-work: forks at a tool call after which tree or tests differ, a row per branch.
-- Parameters: none. Columns: task text, node text, step bigint, consequence text, branch bigint, tool text,
--   arguments text, n_runs bigint, tree_classes bigint, tests_classes bigint.
SELECT
    f.task, f.node, f.step, f.consequence, b.branch, b.tool, left(b.arguments, 200) AS arguments, count(*) AS n_runs,
    b.tree_classes, b.tests_classes
FROM forks AS f
JOIN fork_branches AS b USING (task, node)
WHERE f.effect = 'consequential' AND f.tool_calls
GROUP BY ALL
ORDER BY f.task, f.step, f.node, b.branch
