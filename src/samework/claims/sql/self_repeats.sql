-- claims/self_repeats: per task and arm, pairs of runs that repeat each other and pairs that do not.
-- Parameters: $task text or NULL (all), $arms list of text or NULL (all). Columns: task text, arm text, n_runs bigint,
--   n_pairs bigint (whose sameness is known), n_disagreeing bigint, by_tokens boolean (else by what was said and done).
-- Runs that are incomplete or were cut off are no repeats. Counted from block sizes, never pair by pair.
with runs as (
    select run_key, task, arm, end_reason, last_chain, n_events
    from run
    where complete and has_trajectory and end_reason not in ('timeout', 'crash', 'cancelled', 'log_truncated')
      and ($task is null or task = $task) and ($arms::text[] is null or list_contains($arms::text[], arm))
),
ids as (
    select f.run_key, any_value(f.comparable) as comparable, any_value(f.digest) as digest
    from facet_digest f
    semi join runs using (run_key)
    where f.facet = 'completion_tokens' and f.comparable is not null and f.digest is not null
    group by f.run_key
),
-- What the run said and did up to its end; how an end is told in words is no part of it.
spoken as (
    select r.run_key, r.task, r.arm, r.end_reason, coalesce(e.prev, r.last_chain) as chain
    from runs r
    left join event e on e.run_key = r.run_key and e.seq = r.n_events - 1 and e.kind = 'end'
),
-- A run whose end nobody recorded, from where another one went on, may have been cut off there.
open_ended as (
    select distinct s.run_key
    from spoken s
    join event e on e.prev = s.chain and e.kind <> 'end'
    join runs r on r.run_key = e.run_key and r.task = s.task
    where s.end_reason = 'unrecorded'
),
token_blocks as (
    select r.task, r.arm, i.comparable, i.digest, count(*) as n
    from ids i join runs r using (run_key)
    group by all
),
token_kinds as (
    select task, arm, comparable, sum(n) as n, sum(n * (n - 1) // 2) as n_same from token_blocks group by all
),
by_tokens as (
    select task, arm, sum(n) as n_runs, sum(n * (n - 1) // 2) as n_pairs, sum(n * (n - 1) // 2 - n_same) as n_disagreeing
    from token_kinds
    group by all
),
chain_blocks as (
    select task, arm, chain, end_reason, count(*) as n
    from spoken
    anti join open_ended using (run_key)
    group by all
),
by_chain as (
    select task, arm, sum(n) as n_runs, sum(n) * (sum(n) - 1) // 2 as n_pairs,
           sum(n) * (sum(n) - 1) // 2 - sum(n * (n - 1) // 2) as n_disagreeing
    from chain_blocks
    group by all
)
select c.task, c.arm,
       (case when t.n_pairs > 0 then t.n_runs else c.n_runs end)::bigint as n_runs,
       (case when t.n_pairs > 0 then t.n_pairs else c.n_pairs end)::bigint as n_pairs,
       (case when t.n_pairs > 0 then t.n_disagreeing else c.n_disagreeing end)::bigint as n_disagreeing,
       coalesce(t.n_pairs > 0, false) as by_tokens
from by_chain c
left join by_tokens t using (task, arm)
order by c.task, c.arm
