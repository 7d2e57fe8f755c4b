-- views/outcomes: what graders recorded of a run, value as JSON.
-- Example: SELECT arm, value, count(*) FROM outcomes WHERE name = 'resolved' GROUP BY ALL
CREATE OR REPLACE VIEW outcomes AS
SELECT r.run_id, r.task, r.arm, o.name, o.value, o.run_key
FROM main.run_outcome AS o
JOIN main.run AS r USING (run_key)
