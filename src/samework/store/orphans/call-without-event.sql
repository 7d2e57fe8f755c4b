-- orphans/call-without-event: calls of a completion that is not there.
-- Parameters: none. Columns: n bigint.
SELECT count(*) AS n FROM main.call ANTI JOIN main.event USING (run_key, seq)
