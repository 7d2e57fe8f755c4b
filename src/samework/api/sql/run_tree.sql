-- api/run_tree: the tree of one run.
-- Parameters: $run_key integer. Columns: oid, tcd (hex), policy, grade, null_reason, base_commit, n_files, flags.
select oid, lower(hex(tcd)) as tcd, policy, grade, null_reason, base_commit, n_files, flags
from run_tree
where run_key = $run_key
