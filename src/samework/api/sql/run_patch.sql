-- api/run_patch: the patch of one run with the paths it changes.
-- Parameters: $run_key integer. Columns: status, grade, n_paths, reason, base_commit, repairs, paths (text[]).
select p.status, p.grade, p.n_paths, p.reason, p.base_commit, p.repairs,
       (select list(q.change || ' ' || q.path order by q.path) from patch_path q where q.run_key = p.run_key) as paths
from patch p
where p.run_key = $run_key
