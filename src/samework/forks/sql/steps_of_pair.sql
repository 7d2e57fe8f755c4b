-- forks/steps_of_pair: the completions of two runs, with the workspace tree before each and the digest of its calls.
-- Parameters: $a, $b bigint (run_key). Columns: run_key bigint, step bigint, workspace text, action blob.
select run_key, step, workspace_tree as workspace, action_sha256 as action
from event
where run_key in ($a, $b) and kind = 'completion'
order by run_key, seq
