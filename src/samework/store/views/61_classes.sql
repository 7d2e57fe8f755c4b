-- views/classes: every run with its place in the nested classes of its task: tests, in them tree, in them tokens, numbered
-- within the task; NULL where the digest is unknown. `size` is of its block. `samework query` and `Store.sql`
-- put the engine's own answer here, with quarantine and refutation; with another program, equality of digests decides
-- alone.
-- Example: SELECT DISTINCT task, tests_class, tree_class, token_class, size FROM classes ORDER BY ALL
CREATE OR REPLACE VIEW classes AS
SELECT
    task,
    CASE WHEN tests IS NOT NULL THEN dense_rank() OVER (PARTITION BY task ORDER BY tests NULLS LAST) END AS tests_class,
    CASE WHEN tree IS NOT NULL
        THEN dense_rank() OVER (PARTITION BY task, tests ORDER BY tree NULLS LAST) END AS tree_class,
    CASE WHEN tokens IS NOT NULL
        THEN dense_rank() OVER (PARTITION BY task, tests, tree ORDER BY tokens NULLS LAST) END AS token_class,
    count(*) OVER (PARTITION BY task, tests, tree, tokens) AS size,
    run_id,
    min(run_id) OVER (PARTITION BY task, tests, tree, tokens) AS representative,
    tests IS NOT NULL AND tree IS NOT NULL AND tokens IS NOT NULL AS placed
FROM run_digests
