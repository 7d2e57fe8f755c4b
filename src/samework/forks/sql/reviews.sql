-- forks/reviews: current judgements of each reviewed pair of runs of one task, counted.
-- Parameters: $task text or NULL (all tasks). Columns: a bigint, b bigint (run_key, the smaller first), n_matters bigint,
--   n_no_matter bigint. A review that a later one supersedes counts no more.
select least(x.run_key, y.run_key) as a, greatest(x.run_key, y.run_key) as b,
       count(*) filter (v.judgement = 'matters') as n_matters,
       count(*) filter (v.judgement = 'no-matter') as n_no_matter
from review v
join run x on x.run_id = v.run_a
join run y on y.run_id = v.run_b and y.task = x.task and y.run_key <> x.run_key
where not exists (from review later where later.supersedes = v.review_key)
  and ($task is null or x.task = $task)
group by all
order by a, b
