-- forks/steps_of_pair: the completions of two runs in order, and the tree that each run left, with numbers for equal values.
-- Parameters: $a, $b bigint (run_key). Columns: run_key bigint, is_end boolean (the tree left; no completion),
--   has_workspace boolean, workspace bigint (tree before the completion), has_call boolean, action bigint (the turn's calls).
with states as (
    select run_key, seq, false as is_end, workspace_tree as tree, action_sha256 as calls
    from event
    where run_key in ($a, $b) and kind = 'completion'
    union all
    select run_key, null, true, oid, null from run_tree where run_key in ($a, $b) and oid is not null and scope = ''
)
select run_key, is_end, tree is not null as has_workspace, dense_rank() over (order by tree) as workspace,
       calls is not null as has_call, dense_rank() over (order by calls) as action
from states
order by run_key, seq nulls last
