-- forks/pair_members: the events of two runs at one place. A run that ended itself there without an event of its own
--   takes part with its end.
-- Parameters: $a, $b bigint (run_key), $seq bigint. Columns: as forks/branch_members.
with runs as (
    select run_key, task, end_reason, end_reason in ('finished', 'limit', 'error') as ended, n_events, n_steps, last_chain
    from run where run_key in ($a, $b) and has_trajectory
),
silent_ends as (
    select * from runs r
    where r.ended and r.n_events = $seq
      and not exists (from event e where e.run_key = r.run_key and e.seq = r.n_events - 1 and e.kind = 'end')
)
select r.task, e.prev, e.run_key, e.seq, e.step, e.kind,
       case when e.kind = 'end' then encode(r.end_reason) else e.chain end as branch,
       e.action_sha256 as action, e.tokens_sha256 as tokens, e.prompt_sha256 as prompt, e.body, e.reasoning,
       e.workspace_tree as workspace, e.call_seq, e.source_offset
from event e
join runs r using (run_key)
where e.run_key in ($a, $b) and e.seq = $seq and (e.kind <> 'end' or r.ended)
union all
select s.task, s.last_chain, s.run_key, s.n_events, s.n_steps, 'end', encode(s.end_reason),
       null, null, null, null, null, null, null, null
from silent_ends s
