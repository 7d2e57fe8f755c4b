-- experiment/gate_vacuous_runs: per task, runs whose digest of a facet is one of nothing, such as of no calls.
-- Parameters: $arms text[] or NULL, $facet text, actions or observations. Reads the temp table signature and the view
--   trajectory_fact. Columns: task text, n_runs bigint.
select s.task, count(*) as n_runs
from signature s
join trajectory_fact t using (run_key)
where ($arms is null or list_contains($arms, s.arm))
  and case $facet when 'actions' then t.actions_vacuous and s.actions_c is not null
                  else t.observations_vacuous and s.observations_c is not null end
group by s.task
