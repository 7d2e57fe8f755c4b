-- orphans/run_invariant-without-run: rows of a run that is not there.
-- Parameters: none. Columns: n bigint.
SELECT count(*) AS n FROM main.run_invariant ANTI JOIN main.run USING (run_key)
