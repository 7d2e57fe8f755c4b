-- views/fork_ends: one row per branch of each branch node, with the digests of the trees, tests and actions in which its
-- runs ended. `node` is the chain that the runs share, '' at the root. By equality of digests alone.
-- Example: SELECT branch, tool, arguments, n_runs FROM fork_ends WHERE task = 'demo-task' ORDER BY step
CREATE OR REPLACE VIEW fork_ends AS
WITH ways AS (
    SELECT
        r.task, e.prev, e.chain, min(e.seq) AS seq, min(e.step) AS step, min(e.kind) AS event,
        any_value(e.action_sha256) AS action_sha256, any_value(e.body) AS body, min(e.run_key) AS first_key, count(*) AS n_runs,
        list(r.run_key) AS run_keys, list(r.run_id ORDER BY r.run_id) AS runs
    FROM main.event AS e
    JOIN main.run AS r USING (run_key)
    WHERE NOT (e.kind = 'end' AND r.end_reason IN ('timeout', 'crash', 'cancelled', 'log_truncated'))
    GROUP BY r.task, e.prev, e.chain
), parted AS (
    SELECT task, prev FROM ways GROUP BY task, prev HAVING count(*) > 1
), parting AS (
    SELECT w.* FROM ways AS w JOIN parted AS p ON p.task = w.task AND p.prev IS NOT DISTINCT FROM w.prev
), ends AS (
    SELECT
        m.task, m.prev, m.chain, list_sort(list(DISTINCT d.tree)) AS trees, list_sort(list(DISTINCT d.tests)) AS tests,
        list_sort(list(DISTINCT d.actions)) AS actions,
        count(*) FILTER (WHERE d.tree IS NULL) AS tree_unknown, count(*) FILTER (WHERE d.tests IS NULL) AS tests_unknown
    FROM (SELECT task, prev, chain, unnest(run_keys) AS run_key FROM parting) AS m
    JOIN run_digests AS d USING (run_key)
    GROUP BY m.task, m.prev, m.chain
)
SELECT
    w.task, coalesce(lower(hex(w.prev)), '') AS node,
    row_number() OVER (PARTITION BY w.task, w.prev ORDER BY w.n_runs DESC, w.chain) - 1 AS branch,
    w.step, w.seq, w.event, w.n_runs, w.runs, c.name AS tool, c.canonical AS arguments,
    lower(hex(w.action_sha256)) AS action_sha256, w.body, len(x.trees) AS tree_classes, len(x.tests) AS tests_classes,
    x.tree_unknown, x.tests_unknown, coalesce(x.trees, []) AS trees, coalesce(x.tests, []) AS tests,
    coalesce(x.actions, []) AS actions
FROM parting AS w
JOIN ends AS x ON x.task = w.task AND x.chain = w.chain AND x.prev IS NOT DISTINCT FROM w.prev
LEFT JOIN main.call AS c ON c.run_key = w.first_key AND c.seq = w.seq AND c.ordinal = 0
