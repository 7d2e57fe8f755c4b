-- forks/graph_runs: runs of one task that have a trajectory.
-- Parameters: $task text. Columns: run_id text, arm text, n_events bigint, n_steps bigint.
select run_id, arm, n_events, n_steps from run where task = $task and has_trajectory order by run_id
