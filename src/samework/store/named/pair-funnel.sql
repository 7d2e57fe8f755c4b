-- named/pair-funnel: per task, of how many two runs the tokens, tool calls, trees and tests differ or are unknown, and how
--   many of them matter to reviewers. By equality of digests; `samework classes --funnel` adds what refutes without one.
-- Parameters: none. Columns: task text, n_pairs bigint, tokens_differ bigint, tokens_unknown bigint, actions_differ bigint,
--   actions_unknown bigint, trees_differ bigint, trees_unknown bigint, tests_differ bigint, tests_unknown bigint,
--   reviews_matter bigint, reviews_unknown bigint.
WITH sizes AS (
    SELECT task, count(*) * (count(*) - 1) // 2 AS n_pairs FROM run_digests GROUP BY task
), long AS (
    SELECT task, 'tokens' AS facet, tokens AS digest FROM run_digests
    UNION ALL SELECT task, 'actions', actions FROM run_digests
    UNION ALL SELECT task, 'tree', tree FROM run_digests
    UNION ALL SELECT task, 'tests', tests FROM run_digests
), digests AS (
    SELECT task, facet, split_part(digest, ':', 1) AS form, digest, count(*) AS n
    FROM long
    WHERE digest IS NOT NULL
    GROUP BY ALL
), forms AS (
    SELECT task, facet, form, sum(n) AS n, sum(n * (n - 1) // 2) AS n_same FROM digests GROUP BY ALL
), facets AS (
    SELECT task, facet, sum(n * (n - 1) // 2) AS n_known, sum(n_same) AS n_same FROM forms GROUP BY ALL
), counted AS (
    SELECT
        s.task, s.n_pairs,
        coalesce(max(f.n_known - f.n_same) FILTER (WHERE f.facet = 'tokens'), 0) AS tokens_differ,
        coalesce(max(f.n_known) FILTER (WHERE f.facet = 'tokens'), 0) AS tokens_known,
        coalesce(max(f.n_known - f.n_same) FILTER (WHERE f.facet = 'actions'), 0) AS actions_differ,
        coalesce(max(f.n_known) FILTER (WHERE f.facet = 'actions'), 0) AS actions_known,
        coalesce(max(f.n_known - f.n_same) FILTER (WHERE f.facet = 'tree'), 0) AS trees_differ,
        coalesce(max(f.n_known) FILTER (WHERE f.facet = 'tree'), 0) AS trees_known,
        coalesce(max(f.n_known - f.n_same) FILTER (WHERE f.facet = 'tests'), 0) AS tests_differ,
        coalesce(max(f.n_known) FILTER (WHERE f.facet = 'tests'), 0) AS tests_known
    FROM sizes AS s
    LEFT JOIN facets AS f USING (task)
    GROUP BY s.task, s.n_pairs
), judged AS (
    SELECT r.task, v.run_a, v.run_b, bool_or(v.judgement = 'matters') AS matters, bool_or(v.judgement = 'no-matter') AS not_so
    FROM reviews AS v
    JOIN runs AS r ON r.run_id = v.run_a
    WHERE v.is_current
    GROUP BY ALL
), said AS (
    SELECT
        task, count(*) FILTER (WHERE matters AND NOT not_so) AS reviews_matter,
        count(*) FILTER (WHERE matters <> not_so) AS n_decided
    FROM judged
    GROUP BY task
)
SELECT
    c.task, c.n_pairs,
    c.tokens_differ::BIGINT AS tokens_differ, (c.n_pairs - c.tokens_known)::BIGINT AS tokens_unknown,
    c.actions_differ::BIGINT AS actions_differ, (c.n_pairs - c.actions_known)::BIGINT AS actions_unknown,
    c.trees_differ::BIGINT AS trees_differ, (c.n_pairs - c.trees_known)::BIGINT AS trees_unknown,
    c.tests_differ::BIGINT AS tests_differ, (c.n_pairs - c.tests_known)::BIGINT AS tests_unknown,
    coalesce(s.reviews_matter, 0) AS reviews_matter, c.n_pairs - coalesce(s.n_decided, 0) AS reviews_unknown
FROM counted AS c
LEFT JOIN said AS s USING (task)
ORDER BY c.task
