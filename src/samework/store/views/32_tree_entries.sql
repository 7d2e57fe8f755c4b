-- views/tree_entries: paths by which a run's result differs from its base, as its patch names them. Whole trees lie in
-- `objects.git`; `samework compare` lists the files in which two of them differ.
-- Example: SELECT path, count(*) AS n_runs FROM tree_entries GROUP BY path ORDER BY n_runs DESC
CREATE OR REPLACE VIEW tree_entries AS
SELECT r.run_id, r.task, r.arm, p.path, p.mode, p.blob_id, p.change, p.run_key
FROM main.patch_path AS p
JOIN main.run AS r USING (run_key)
