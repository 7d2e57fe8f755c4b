-- views/cells: test reports pooled by (tree, suite, environment). Where the tree is unknown, a run is a cell of its own.
-- Example: SELECT * FROM cells WHERE n_maps > 1
CREATE OR REPLACE VIEW cells AS
SELECT
    t.task, coalesce(x.tree, 'run:' || t.run_id) AS cell, x.tree, t.suite, coalesce(t.env, 'layout:' || t.layout) AS env,
    t.env IS NULL OR t.suite IS NULL AS env_assumed,
    count(*) AS n_reports, count(*) FILTER (WHERE t.complete) AS n_complete,
    count(DISTINCT t.map_sha256) AS n_maps, bool_or(t.has_conflict) AS has_conflict,
    max(t.n_executed) AS n_executed, max(t.n_failing) AS n_failing,
    list(DISTINCT t.run_id ORDER BY t.run_id) AS runs
FROM test_reports AS t
LEFT JOIN trees AS x USING (run_key)
GROUP BY ALL
