-- named/which-divergences-changed-work: forks after which the tree or the tests differ, the earliest first.
-- Parameters: none. Columns: task text, node text, step bigint, event text, origin text, consequence text,
--   tool_calls boolean, n_branches bigint.
SELECT task, node, step, event, origin, consequence, tool_calls, n_branches
FROM forks
WHERE effect = 'consequential'
ORDER BY task, step, node
