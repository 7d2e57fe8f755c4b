-- orphans/test_report-without-run: rows of a run that is not there.
-- Parameters: none. Columns: n bigint.
SELECT count(*) AS n FROM main.test_report ANTI JOIN main.run USING (run_key)
