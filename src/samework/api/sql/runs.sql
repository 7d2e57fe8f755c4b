-- api/runs: every run with the grade of its evidence, facet by facet.
-- Parameters: $task text, $arm text (NULL: all), $run_key integer (NULL: all).
-- Columns: run columns of `samework runs`, then one grade per facet ('none' where there is no evidence).
with digests as (
    select run_key,
           max(grade) filter (where facet = 'completion_tokens' and digest is not null and comparable is not null)
               as completion,
           max(grade) filter (where facet = 'prompt_tokens' and digest is not null) as prompt,
           max(grade) filter (where facet = 'text' and digest is not null) as text,
           max(grade) filter (where facet = 'actions' and digest is not null) as actions,
           max(grade) filter (where facet = 'observations' and digest is not null) as observations
    from facet_digest
    group by run_key
), reports as (
    select run_key,
           bool_or(n_nodes > 0) as has_nodes,
           bool_or(n_nodes > 0 and suite is not null and env is not null) as is_placed
    from test_report
    group by run_key
), grades as (
    select distinct run_key, true as has_outcome from run_outcome
), predicates as (
    select distinct run_key, true as has_invariant from run_invariant where value is not null
)
select r.run_key, r.run_id, r.task, r.arm, r.repeat, r.format, r.complete, r.kind, r.end_reason, r.n_steps, r.n_calls,
       d.completion, d.prompt, d.text, d.actions, d.observations,
       case when p.status in ('parsed', 'empty', 'no_ids') then p.grade end as patch,
       case when t.oid is not null or t.tcd is not null then t.grade
            when p.status in ('parsed', 'empty') then if(p.base_commit is null, 'asserted', 'derived') end as tree,
       case when s.is_placed then 'direct' when s.has_nodes then 'asserted' end as tests,
       if(g.has_outcome, 'asserted', null) as outcome,
       if(i.has_invariant, 'asserted', null) as invariants
from run r
left join digests d using (run_key)
left join patch p using (run_key)
left join run_tree t using (run_key)
left join reports s using (run_key)
left join grades g using (run_key)
left join predicates i using (run_key)
where ($task is null or r.task = $task)
  and ($arm is null or r.arm = $arm)
  and ($run_key is null or r.run_key = $run_key)
order by r.task, r.arm, try_cast(r.repeat as bigint) nulls last, r.repeat, r.run_id
