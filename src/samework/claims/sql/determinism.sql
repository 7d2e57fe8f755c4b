-- claims/determinism: requests that were made with caches cold and with caches warm, by one engine with one model on one
--   hardware, and whether their tokens came out the same.
-- Parameters: $fields, $values lists of text of one length (canonical JSON or n/a), $words list of text (first words of the
--   fields of engine, hardware and model), $asked list of text (first words of the fields of request and load),
--   $never list of text. Columns: n_items bigint (tasks with runs of both states), n_differing bigint (requests, of
--   whichever state, whose tokens differ).
-- Only measured counts of reused tokens tell a state; only greedy or seeded requests are asked to repeat themselves.
with wanted as (
    select unnest($fields::text[]) as field, unnest($values::text[]) as value
),
recorded as (
    select m.run_key, m.field, m.source, case when m.absence = 'n/a' then 'n/a' else m.value end as value,
           split_part(replace(m.field, '_', '.'), '.', 1) as word
    from manifest_field m
    where (m.value is not null or m.absence = 'n/a') and not ends_with(m.field, '_requested')
      and not list_contains($never::text[], m.field)
),
alike as (
    select m.run_key
    from recorded m
    left join wanted w on w.field = m.field and w.value = m.value
    where list_contains($words::text[], m.word)
    group by m.run_key
    having count(w.field) = len($fields::text[]) and count(*) = len($fields::text[])
),
requests as (
    select m.run_key, string_agg(m.field || '=' || m.value, chr(10) order by m.field) as request,
           bool_or(m.field = 'sampling.temperature' and try_cast(m.value as double) = 0)
               or bool_or(m.field = 'sampling.seed' and m.value <> 'n/a') as is_settled
    from recorded m
    semi join alike using (run_key)
    where list_contains($asked::text[], m.word)
    group by m.run_key
),
counted as (
    select u.run_key, sum(u.cached_tokens) as n_reused,
           count(u.cached_tokens) = r.n_steps and bool_and(u.source not in ('timing', 'log')) as is_whole
    from call_usage u
    join run r using (run_key)
    semi join alike using (run_key)
    group by u.run_key, r.n_steps
),
declared as (
    select m.run_key,
           max(coalesce(try_cast(m.value as double), list_sum(try_cast(m.value as double[])))) as n_reused
    from recorded m
    join run r using (run_key)
    semi join alike using (run_key)
    where m.field in ('reuse.cached_tokens', 'reuse_cached_tokens') and m.source = 'measured'
      and coalesce(list_aggregate(try_cast(m.value as double[]), 'count') = r.n_steps, true)  -- NULL is not counted
    group by m.run_key
),
placed as (
    select r.task, q.request, f.comparable, f.digest,
           case when c.is_whole or d.n_reused is not null then greatest(c.n_reused, d.n_reused) end as n_reused
    from run r
    join requests q using (run_key)
    join facet_digest f on f.run_key = r.run_key and f.facet = 'completion_tokens' and f.digest is not null
        and f.comparable is not null
    left join counted c on c.run_key = r.run_key
    left join declared d on d.run_key = r.run_key
    where r.complete and q.is_settled
      and r.end_reason not in ('timeout', 'crash', 'cancelled', 'log_truncated')
),
grouped as (
    select task, request, comparable, count(distinct digest) > 1 as differs,
           bool_or(n_reused = 0) and bool_or(n_reused > 0) as both_states
    from placed
    group by all
)
select count(distinct task) filter (both_states) as n_items, count(*) filter (differs) as n_differing from grouped
