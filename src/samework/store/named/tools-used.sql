-- named/tools-used: calls per tool and arm, and how many gave a non-zero exit status.
-- Parameters: none. Columns: arm text, tool text, n_calls bigint, n_runs bigint, n_failed bigint.
SELECT
    c.arm, c.name AS tool, count(*) AS n_calls, count(DISTINCT c.run_id) AS n_runs,
    count(*) FILTER (WHERE o.exit_status <> 0) AS n_failed
FROM tool_calls AS c
LEFT JOIN observations AS o ON o.run_key = c.run_key AND o.call_seq = c.seq AND o.call_ordinal = c.ordinal
GROUP BY c.arm, c.name
ORDER BY n_calls DESC, c.arm, tool
