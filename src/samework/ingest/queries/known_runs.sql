-- queries/known_runs: identity of every run, with what joining needs. patch_sha256 is NULL where no patch is recorded.
-- Parameters: none. Columns: run_key bigint, run_id text, task text, arm text, repeat text, content_sha256 blob,
-- has_trajectory boolean, layout text, base_commit text, patch_sha256 blob, path text, source_sha256 blob,
-- settings_sha256 blob, native_id text, format text, started text.
SELECT
    r.run_key, r.run_id, r.task, r.arm, r.repeat, r.content_sha256, r.has_trajectory, r.layout, r.base_commit,
    p.patch_sha256, s.path, r.source_sha256, r.settings_sha256, r.native_id,
    r.format, r.started
FROM main.run AS r
LEFT JOIN main.patch AS p USING (run_key)
LEFT JOIN main.source AS s USING (source_sha256, settings_sha256)
ORDER BY r.run_key
