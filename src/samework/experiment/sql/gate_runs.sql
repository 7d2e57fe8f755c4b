-- experiment/gate_runs: runs of each of two arms, task by task; tasks that neither ran are left out.
-- Parameters: $baseline, $candidate text. Reads the temp table signature. Columns: task text, n_baseline bigint,
--   n_candidate bigint, conflicting boolean: in some cell of these runs one test had two outcomes.
select task, count(*) filter (where arm = $baseline) as n_baseline,
       count(*) filter (where arm = $candidate) as n_candidate, bool_or(tests_conflict) as conflicting
from signature
where arm in ($baseline, $candidate)
group by task
order by task
