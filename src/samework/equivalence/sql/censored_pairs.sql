-- equivalence/censored_pairs: pairs of which one run was cut off and is, as far as it goes, a prefix of the other.
-- Parameters: $task text or NULL. Columns: a bigint, b bigint (a < b), step integer at which the record was cut.
-- Linear in events but for what it returns: one row for each run that a cut one may have gone on like. That may be from
-- after its last event, from within it, or, where the run has none, from the start.
with runs as (
    select run_key, task, tokenizer, end_reason in ('timeout', 'crash', 'cancelled', 'log_truncated') as cut
    from run where has_trajectory and ($task is null or task = $task)
),
last as (
    select r.run_key, r.task, r.tokenizer, max(e.seq) as seq, coalesce(max(e.step), 0) as step
    from runs r
    left join event e on e.run_key = r.run_key and e.kind <> 'end'
    where r.cut
    group by all
),
cut_event as (
    select l.task, l.tokenizer, e.* from last l join event e on e.run_key = l.run_key and e.seq = l.seq
),
-- The cut run's last event beside one that comes after the same events in another run.
beside as (
    select c.run_key, c.seq, c.step, e.run_key as other, c.kind, c.body, c.reasoning, e.body as other_body,
           e.reasoning as other_reasoning, case when c.tokenizer = r.tokenizer then r.tokenizer end as tokenizer,
           c.exit_status is null or c.exit_status is not distinct from e.exit_status as same_status
    from cut_event c
    join event e on e.prev is not distinct from c.prev and e.seq = c.seq and e.kind = c.kind and e.chain <> c.chain
    join runs r on r.run_key = e.run_key and r.task = c.task
    where e.run_key <> c.run_key
),
calls as (
    select c.run_key, c.ordinal, c.name, c.canonical_sha256, c.arguments, count(*) over (partition by c.run_key) as n
    from call c semi join cut_event e on e.run_key = c.run_key and e.seq = c.seq
),
called as (
    select b.run_key, b.other, any_value(c.n) as n,
           count(*) filter (
               o.canonical_sha256 = c.canonical_sha256
               or (c.ordinal = c.n - 1 and o.name = c.name and starts_with(y.text, x.text))
           ) as n_alike
    from beside b
    join calls c on c.run_key = b.run_key
    left join call o on o.run_key = b.other and o.seq = b.seq and o.ordinal = c.ordinal
    left join body x on x.sha256 = c.arguments
    left join body y on y.sha256 = o.arguments
    group by all
),
within as (
    select b.run_key, b.other, b.step
    from beside b
    left join called c on c.run_key = b.run_key and c.other = b.other
    left join token t on t.run_key = b.run_key and t.seq = b.seq and b.tokenizer is not null
    left join token u on u.run_key = b.other and u.seq = b.seq
    left join body x on x.sha256 = b.body
    left join body y on y.sha256 = b.other_body
    left join body v on v.sha256 = b.reasoning
    left join body w on w.sha256 = b.other_reasoning
    where case when octet_length(t.token_ids) < octet_length(u.token_ids)
               then starts_with(hex(u.token_ids), hex(t.token_ids))
               when octet_length(t.token_ids) > octet_length(u.token_ids) then false
               when c.n is not null
               then c.n_alike = c.n and b.body is not distinct from b.other_body
                   and b.reasoning is not distinct from b.other_reasoning
               when b.body is not null
               then b.same_status and starts_with(coalesce(y.text, ''), x.text)
                   and b.reasoning is not distinct from b.other_reasoning
               else b.same_status and starts_with(coalesce(w.text, ''), coalesce(v.text, '')) end
),
found as (
    select c.run_key, e.run_key as other, c.step
    from cut_event c
    join event e on e.chain = c.chain
    join runs r on r.run_key = e.run_key and r.task = c.task
    union all
    select run_key, other, step from within
    union all
    select l.run_key, r.run_key as other, 0 from last l join runs r on r.task = l.task where l.seq is null
)
select least(run_key, other) as a, greatest(run_key, other) as b, min(step) as step
from found
where run_key <> other
group by all
