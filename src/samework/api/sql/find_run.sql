-- api/find_run: runs that a word on the command line may mean, the exact ones first.
-- Parameters: $word text. Columns: rank integer (0 exact), run_key, run_id, task, arm, repeat.
with named as (
    select run_key, run_id, task, arm, repeat, task || ':' || arm || ':' || repeat as spelled
    from run
)
select case when run_id = $word or spelled = $word then 0 else 1 end as rank, run_key, run_id, task, arm, repeat
from named
where run_id = $word
   or spelled = $word
   or starts_with(run_id, $word)
   or starts_with(spelled, $word || ':')
order by rank, task, arm, repeat
limit 21
