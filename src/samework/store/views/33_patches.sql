-- views/patches: the patch each run submitted.
-- Example: SELECT status, count(*) FROM patches GROUP BY status
CREATE OR REPLACE VIEW patches AS
SELECT
    r.run_id, r.task, r.arm, p.status, p.reason, p.is_empty, p.base_commit, p.n_paths, p.min_id_digits, p.repairs,
    p.grade, lower(hex(p.patch_sha256)) AS patch_sha256, lower(hex(p.body)) AS body, p.run_key
FROM main.patch AS p
JOIN main.run AS r USING (run_key)
