-- queries/known_reports: test reports that are stored, by run and content.
-- Parameters: none. Columns: run_key bigint, report_sha256 blob.
SELECT run_key, report_sha256
FROM main.test_report
