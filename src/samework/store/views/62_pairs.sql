-- views/pairs: every pair of runs of a task with one verdict per facet and the class that equality of digests gives.
-- Refutations without a digest, quarantine and anomalies are judged by `samework pairs` and `samework compare`.
-- Example: SELECT class, count(*) FROM pairs('demo-task') GROUP BY class
CREATE OR REPLACE MACRO pairs(of_task) AS TABLE
WITH members AS (
    SELECT * FROM run_digests WHERE task = of_task
), verdicts AS (
    SELECT
        a.run_id AS a, b.run_id AS b, a.task,
        digest_verdict(a.tokens, b.tokens) AS tokens,
        digest_verdict(a.text, b.text) AS text,
        digest_verdict(a.actions, b.actions) AS actions,
        digest_verdict(a.observations, b.observations) AS observations,
        digest_verdict(a.patch, b.patch) AS patch,
        digest_verdict(a.tree, b.tree) AS tree,
        digest_verdict(a.tests, b.tests) AS tests,
        digest_verdict(a.outcome, b.outcome) AS outcome
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
