-- queries/reports_of: test reports of a run.
-- Parameters: $key bigint. Columns: report_key bigint.
SELECT report_key FROM main.test_report WHERE run_key = $key
