-- views/tool_calls: one row per tool call, with its canonical arguments.
-- Example: SELECT name, count(*) AS n FROM tool_calls GROUP BY name ORDER BY n DESC
CREATE OR REPLACE VIEW tool_calls AS
SELECT
    r.run_id, r.task, r.arm, c.seq, e.step, c.ordinal, c.name, c.call_id, c.canonical,
    lower(hex(c.canonical_sha256)) AS canonical_sha256, lower(hex(c.arguments)) AS arguments, c.exact, c.observed,
    c.run_key
FROM main.call AS c
JOIN main.run AS r USING (run_key)
JOIN main.event AS e ON e.run_key = c.run_key AND e.seq = c.seq
