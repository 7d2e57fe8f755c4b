-- experiment/funnel_idle: the rows of `signature` with one more facet, equal for two runs of which neither made a call.
-- Reads the temp table signature and the view trajectory_fact. Columns: those of signature, idle_c boolean, idle boolean.
select s.*, case when s.actions_c is not null and t.actions_vacuous then true end as idle_c, true as idle
from signature s
join trajectory_fact t using (run_key)
