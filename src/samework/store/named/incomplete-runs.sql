-- named/incomplete-runs: runs whose record is damaged or cut, with the place.
-- Parameters: none. Columns: run_id text, task text, arm text, end_reason text, incomplete_reason text, path text,
--   source_offset bigint, reason text.
SELECT r.run_id, r.task, r.arm, r.end_reason, r.incomplete_reason, d.path, d.source_offset, d.reason
FROM runs AS r
LEFT JOIN defects AS d USING (run_key)
WHERE NOT r.complete
ORDER BY r.task, r.run_id, d.source_offset
