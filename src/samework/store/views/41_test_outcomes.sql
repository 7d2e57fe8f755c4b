-- views/test_outcomes: each outcome of each node in each report.
-- Example: SELECT node, outcome, count(*) FROM test_outcomes GROUP BY ALL ORDER BY ALL
CREATE OR REPLACE VIEW test_outcomes AS
SELECT t.run_id, t.task, t.arm, t.suite, t.env, o.node, o.outcome, t.complete, o.report_key, t.run_key
FROM main.test_outcome AS o
JOIN test_reports AS t USING (report_key)
