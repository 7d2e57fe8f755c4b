-- api/run_reports: test reports of one run.
-- Parameters: $run_key integer.
-- Columns: format, suite, env, complete, n_nodes, n_executed, n_failing, incomplete_reason, findings (JSON list).
select format, suite, env, complete, n_nodes, n_executed, n_failing, incomplete_reason, findings
from test_report
where run_key = $run_key
order by report_key
