-- views/trees: the tree each run left. `tree` is the strongest name that it has: content digest, else oid.
-- Example: SELECT task, count(DISTINCT tree) AS n_trees FROM trees GROUP BY task
CREATE OR REPLACE VIEW trees AS
SELECT
    r.run_id, r.task, r.arm,
    CASE
        WHEN t.tcd IS NOT NULL THEN 'tcd:' || lower(hex(t.tcd))
        WHEN t.oid IS NOT NULL THEN t.object_format || ':' || t.oid
    END AS tree,
    t.oid, t.object_format, lower(hex(t.tcd)) AS tcd, t.base_oid, t.base_commit, t.policy, t.scope, t.grade,
    t.null_reason, t.n_files, t.n_ignored, t.flags, t.run_key
FROM main.run_tree AS t
JOIN main.run AS r USING (run_key)
