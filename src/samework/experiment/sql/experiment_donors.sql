-- experiment/experiment_donors: runs whose manifest names the arm that their serving state came from.
-- Parameters: $task text or NULL. Columns: arm text, field text, value text (canonical JSON), n_runs bigint.
select r.arm, m.field, m.value, count(*) as n_runs
from run r
join manifest_field m using (run_key)
where m.field in ('state.donor', 'state.recipient', 'reuse.how_made', 'cache.path') and m.value is not null
  and ($task is null or r.task = $task)
group by all
order by r.arm, m.field, m.value
