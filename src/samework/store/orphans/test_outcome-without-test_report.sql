-- orphans/test_outcome-without-test_report: outcomes of a report that is not there.
-- Parameters: none. Columns: n bigint.
SELECT count(*) AS n FROM main.test_outcome ANTI JOIN main.test_report USING (report_key)
