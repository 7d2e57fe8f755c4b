-- views/test_reports: one row per test report.
-- Example: SELECT run_id, n_executed, n_failing FROM test_reports WHERE complete
CREATE OR REPLACE VIEW test_reports AS
SELECT
    r.run_id, r.task, r.arm, t.report_key, t.format, t.suite, t.env, t.layout, t.runner, t.exit_code, t.complete,
    t.incomplete_reason, t.n_nodes, t.n_executed, t.n_failing, t.has_conflict,
    lower(hex(t.map_sha256)) AS map_sha256, t.findings, t.run_key
FROM main.test_report AS t
JOIN main.run AS r USING (run_key)
