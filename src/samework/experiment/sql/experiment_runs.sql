-- experiment/experiment_runs: the runs that an experiment may place, with the value of one field of their manifests.
-- Parameters: $task text or NULL, $field text or NULL. Columns: run_key bigint, run_id text, task text, arm text,
--   started text (as recorded, NULL: unrecorded), value text (canonical JSON, NULL where absent), absence text.
select r.run_key, r.run_id, r.task, r.arm, r.started, m.value, m.absence
from run r
left join manifest_field m on m.run_key = r.run_key and m.field = $field
where $task is null or r.task = $task
order by r.task, r.arm, r.run_id
