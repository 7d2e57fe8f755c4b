-- named/absorbed-forks: forks after which something else was done and the tree came out the same, the earliest first.
-- Parameters: none. Columns: task text, node text, step bigint, event text, origin text, consequence text,
--   tool_calls boolean, n_branches bigint, why text.
SELECT task, node, step, event, origin, consequence, tool_calls, n_branches, consequence_reason AS why
FROM forks
WHERE effect = 'absorbed'
ORDER BY task, step, node
