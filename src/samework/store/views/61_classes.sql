-- views/classes: blocks of runs of one task with equal tests, tree and tokens; a NULL digest leaves its run unplaced on
-- that level. By equality of digests alone; `samework classes` counts pairs with quarantine, refutation and bounds.
-- Example: SELECT task, tests_class, tree_class, token_class, size FROM classes ORDER BY ALL
CREATE OR REPLACE VIEW classes AS
SELECT
    task,
    CASE WHEN tests IS NOT NULL THEN dense_rank() OVER (PARTITION BY task ORDER BY tests NULLS LAST) END AS tests_class,
    CASE WHEN tree IS NOT NULL THEN dense_rank() OVER (PARTITION BY task ORDER BY tree NULLS LAST) END AS tree_class,
    CASE WHEN tokens IS NOT NULL THEN dense_rank() OVER (PARTITION BY task ORDER BY tokens NULLS LAST) END AS token_class,
    size, arms, representative, runs
FROM (
    SELECT
        task, tests, tree, tokens, count(*) AS size, list(DISTINCT arm ORDER BY arm) AS arms,
        min(run_id) AS representative, list(run_id ORDER BY run_id) AS runs
    FROM run_digests
    GROUP BY task, tests, tree, tokens
)
