-- named/funnel: per task, how many different tokens, texts, actions, trees and tests its runs ended in, and how many are unknown.
-- Parameters: none. Columns: task text, n_runs bigint, tokens bigint, text bigint, actions bigint, trees bigint,
--   tests bigint, tree_unknown bigint, tests_unknown bigint.
SELECT
    task, count(*) AS n_runs, count(DISTINCT tokens) AS tokens, count(DISTINCT text) AS text,
    count(DISTINCT actions) AS actions, count(DISTINCT tree) AS trees, count(DISTINCT tests) AS tests,
    count(*) FILTER (WHERE tree IS NULL) AS tree_unknown, count(*) FILTER (WHERE tests IS NULL) AS tests_unknown
FROM run_digests
GROUP BY task
ORDER BY task
