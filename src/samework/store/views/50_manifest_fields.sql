-- views/manifest_fields: what produced each run, field by field; a value with its source, or the reason of its absence.
-- Example: SELECT field, value, count(*) FROM manifest_fields GROUP BY ALL ORDER BY ALL
CREATE OR REPLACE VIEW manifest_fields AS
SELECT r.run_id, r.task, r.arm, m.field, m.value, m.source, m.absence, m.origin, m.run_key
FROM main.manifest_field AS m
JOIN main.run AS r USING (run_key)
