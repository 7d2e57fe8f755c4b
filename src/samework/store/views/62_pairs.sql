-- views/pairs: every pair of runs of a task with one verdict per facet and the class that equality of digests gives.
-- Refutations without a digest, quarantine and anomalies are judged by `samework pairs` and `samework compare`.
-- Example: SELECT class, count(*) FROM pairs('demo-task') GROUP BY class
CREATE OR REPLACE MACRO pairs(of_task) AS TABLE
WITH members AS (
    SELECT * FROM run_digests WHERE task = of_task
), verdicts AS (
    SELECT
        a.run_id AS a, b.run_id AS b, a.task,
        coalesce(if(a.tokens = b.tokens, 'same', 'different'), 'unknown') AS tokens,
        coalesce(if(a.text = b.text, 'same', 'different'), 'unknown') AS text,
        coalesce(if(a.actions = b.actions, 'same', 'different'), 'unknown') AS actions,
        coalesce(if(a.observations = b.observations, 'same', 'different'), 'unknown') AS observations,
        coalesce(if(a.patch = b.patch, 'same', 'different'), 'unknown') AS patch,
        CASE
            WHEN a.tree IS NULL OR b.tree IS NULL OR split_part(a.tree, ':', 1) <> split_part(b.tree, ':', 1)
                THEN 'unknown'
            ELSE if(a.tree = b.tree, 'same', 'different')
        END AS tree,
        coalesce(if(a.tests = b.tests, 'same', 'different'), 'unknown') AS tests,
        coalesce(if(a.outcome = b.outcome, 'same', 'different'), 'unknown') AS outcome
    FROM members AS a
    JOIN members AS b ON a.run_id < b.run_id
)
SELECT
    *,
    CASE
        WHEN tree = 'same' AND tokens = 'same' THEN 'token-identical'
        WHEN tree = 'same' THEN 'tree-identical'
        WHEN tree = 'different' AND tests = 'same' THEN 'tests-identical'
        WHEN tests = 'different' AND (tree = 'different' OR tokens <> 'same') THEN 'divergent'
        WHEN tokens = 'same' AND tree = 'unknown' AND tests <> 'different' THEN 'token-identical'
        WHEN tree = 'unknown' AND tests = 'same' THEN 'tests-identical'
        ELSE 'unresolved'
    END AS class
FROM verdicts
