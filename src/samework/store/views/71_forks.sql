-- views/forks: branch nodes: places after which runs of one task went different ways. origin: what differed first.
-- consequence: C0 completion only, C1 absorbed by the same tree, C2 other tree with same tests, C3 other tests, CU
-- unknown. effect: none, absorbed, consequential (work changed, though maybe not known whether tree or tests) or unknown.
-- `samework query` and `Store.sql` put the engine's own answer here; with another program, equality of digests decides
-- alone.
-- Example: SELECT step, event, origin, consequence, n_branches FROM forks WHERE tool_calls
CREATE OR REPLACE VIEW forks AS
WITH branches AS (
    SELECT
        *, tree_unknown = 0 AND tree_classes = 1 AS one_tree, tests_unknown = 0 AND tests_classes = 1 AS one_test
    FROM fork_ends
), nodes AS (
    SELECT
        task, node, min(step) AS step, min(seq) AS seq, list_sort(list(DISTINCT event)) AS events,
        count(*) AS n_branches,
        min(event) = 'completion' AND max(event) = 'completion'
            AND count(DISTINCT coalesce(action_sha256, '')) > 1 AS tool_calls,
        count(DISTINCT trees) FILTER (WHERE one_tree) > 1 AS tree_differs,
        bool_and(one_tree) AND count(DISTINCT trees) = 1 AS tree_same,
        count(DISTINCT tests) FILTER (WHERE one_test) > 1 AS tests_differ,
        bool_and(one_test) AND count(DISTINCT tests) = 1 AS tests_same,
        bool_and(len(actions) = 1) AND count(DISTINCT actions) = 1 AS actions_same
    FROM branches
    GROUP BY task, node
)
SELECT
    task, node, step, seq, array_to_string(events, '/') AS event,
    CASE
        WHEN len(events) > 1 AND list_contains(events, 'end') THEN 'termination'
        WHEN len(events) > 1 THEN 'harness'
        WHEN events[1] IN ('system', 'tools', 'user') THEN 'input'
        WHEN events[1] = 'context_edit' THEN 'harness'
        WHEN events[1] = 'end' THEN 'termination'
        WHEN events[1] = 'observation' THEN 'environment'
        ELSE 'model-or-template'
    END AS origin,
    CASE
        WHEN tree_same AND actions_same THEN 'C0'
        WHEN tree_same THEN 'C1'
        WHEN tests_differ THEN 'C3'
        WHEN tree_differs AND tests_same THEN 'C2'
        ELSE 'CU'
    END AS consequence,
    tool_calls, NULL::BIGINT AS token_offset, 'digests' AS evidence, n_branches,
    CASE
        WHEN tree_same AND actions_same THEN 'none'
        WHEN tree_same THEN 'absorbed'
        WHEN tree_differs OR tests_differ THEN 'consequential'
        ELSE 'unknown'
    END AS effect,
    'digests' AS consequence_reason
FROM nodes
