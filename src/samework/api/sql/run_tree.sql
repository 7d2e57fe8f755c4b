-- api/run_tree: the tree of one run.
-- Parameters: $run_key integer. Columns: oid, tcd (hex), policy, grade, null_reason, base_commit, n_files, flags.
-- A recorded patch that is empty beside a tree that is not its base's is said: the agent committed or staged its work.
select t.oid, lower(hex(t.tcd)) as tcd, t.policy, t.grade, t.null_reason, t.base_commit, t.n_files,
       case when p.is_empty and t.oid <> t.base_oid
            then to_json(list_append(t.flags::json::varchar[], 'empty_patch_contradicts_tree'))::varchar
            else t.flags end as flags
from run_tree as t left join patch as p using (run_key)
where t.run_key = $run_key
