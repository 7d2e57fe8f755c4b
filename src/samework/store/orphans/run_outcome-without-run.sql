-- orphans/run_outcome-without-run: rows of a run that is not there.
-- Parameters: none. Columns: n bigint.
SELECT count(*) AS n FROM main.run_outcome ANTI JOIN main.run USING (run_key)
