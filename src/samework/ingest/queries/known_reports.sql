-- queries/known_reports: test reports that are stored, by run, content, suite and environment.
-- Parameters: none. Columns: run_key bigint, report_sha256 blob, suite text, env text.
SELECT run_key, report_sha256, suite, env
FROM main.test_report
