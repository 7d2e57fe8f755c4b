-- equivalence/censored_pairs: pairs of which one run was cut off and is, as far as it goes, a prefix of the other.
-- Parameters: $task text or NULL. Columns: a bigint, b bigint (a < b), step integer at which the record was cut.
-- Linear in events but for what it returns: one row for each run that a cut one may have gone on like.
with runs as (
    select run_key, task, end_reason in ('timeout', 'crash', 'cancelled', 'log_truncated') as cut
    from run where has_trajectory and ($task is null or task = $task)
),
last as (
    select e.run_key, r.task, max_by(e.chain, e.seq) as chain, max(e.step) as step
    from event e join runs r using (run_key)
    where r.cut and e.kind <> 'end'
    group by all
)
select least(l.run_key, e.run_key) as a, greatest(l.run_key, e.run_key) as b, min(l.step) as step
from last l
join event e on e.chain = l.chain and e.run_key <> l.run_key
join runs r on r.run_key = e.run_key and r.task = l.task
group by all
