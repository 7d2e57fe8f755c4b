-- equivalence/calls_reuse: reused tokens of each model call of two runs, as the server counted them for the call.
-- Parameters: $a, $b bigint (run_key). Columns: run_key bigint, cached list of bigint (NULL where a call tells of none).
select e.run_key, list(u.cached_tokens order by e.seq) as cached
from event e
left join call_usage u on u.run_key = e.run_key and u.seq = e.seq and u.source not in ('timing', 'log')
where e.run_key in ($a, $b) and e.kind = 'completion'
group by e.run_key
