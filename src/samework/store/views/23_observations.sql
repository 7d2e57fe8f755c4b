-- views/observations: one row per tool result as the model saw it, with the call that it answers.
-- Example: SELECT tool, count(*) FROM observations WHERE exit_status <> 0 GROUP BY tool
CREATE OR REPLACE VIEW observations AS
SELECT
    r.run_id, r.task, r.arm, e.seq, e.step, e.call_seq, e.call_ordinal, c.name AS tool, e.exit_status, e.n_bytes,
    lower(hex(e.digest)) AS digest, lower(hex(e.body)) AS body, e.run_key
FROM main.event AS e
JOIN main.run AS r USING (run_key)
LEFT JOIN main.call AS c ON c.run_key = e.run_key AND c.seq = e.call_seq AND c.ordinal = e.call_ordinal
WHERE e.kind = 'observation'
