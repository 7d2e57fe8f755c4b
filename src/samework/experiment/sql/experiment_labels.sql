-- experiment/experiment_labels: per run, small numbers that are equal within a task where a plain facet is equal.
-- Parameters: none. Reads the temp table signature and the view trajectory_fact. Columns: run_key bigint, text bigint,
--   actions bigint, outcome bigint (NULL where the run has none), vacuous boolean (no call was made).
select s.run_key,
       case when s.text_c is not null then dense_rank() over (partition by s.task order by s.text_c, s.text) end as text,
       case when s.actions_c is not null
            then dense_rank() over (partition by s.task order by s.actions_c, s.actions) end as actions,
       case when s.outcome_c is not null
            then dense_rank() over (partition by s.task order by s.outcome_c, s.outcome) end as outcome,
       t.actions_vacuous and s.actions_c is not null as vacuous
from signature s
join trajectory_fact t using (run_key)
