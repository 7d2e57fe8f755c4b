-- orphans/token_rank-without-run: rows of a run that is not there.
-- Parameters: none. Columns: n bigint.
SELECT count(*) AS n FROM main.token_rank ANTI JOIN main.run USING (run_key)
