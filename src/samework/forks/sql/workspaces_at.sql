-- forks/workspaces_at: the workspace tree recorded at given events.
-- Parameters: $run_keys, $seqs lists of bigint, of one length. Columns: run_key bigint, seq bigint, workspace text.
with places as (
    select unnest($run_keys::bigint[]) as run_key, unnest($seqs::bigint[]) as seq
)
select e.run_key, e.seq, e.workspace_tree as workspace
from event e
semi join places using (run_key, seq)
where e.workspace_tree is not null
