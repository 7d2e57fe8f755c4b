-- forks/branch_members: every run at every prefix of its task after which runs went different ways.
-- Parameters: $task text or NULL (all tasks). Columns: task text, prev blob (NULL at the first event), run_key bigint,
--   seq bigint, step bigint, kind text, branch blob (the chain after the event; for an end, its reason), action blob,
--   tokens blob, prompt blob, body blob, reasoning blob, workspace text, call_seq bigint, source_offset bigint.
-- A run that ended itself takes part with its end, recorded as an event or not; one that was cut off does not.
-- One pass over events finds the nodes, a second one fetches who was there.
with runs as (
    select run_key, task, end_reason, end_reason in ('finished', 'limit', 'error') as ended, last_chain, n_events, n_steps
    from run
    where has_trajectory and ($task is null or task = $task)
),
silent_ends as (
    select r.run_key, r.task, r.end_reason, r.last_chain, r.n_events, r.n_steps
    from runs r
    anti join (select run_key from event where kind = 'end') e using (run_key)
    where r.ended and r.last_chain is not null
),
parted as (
    select r.task, e.prev
    from event e
    join runs r using (run_key)
    group by all
    having min(e.chain) <> max(e.chain)
),
left_behind as (
    select distinct s.task, s.last_chain as prev
    from silent_ends s
    join event e on e.prev = s.last_chain
    join runs r on r.run_key = e.run_key and r.task = s.task
    union
    select task, last_chain as prev from silent_ends group by all having min(end_reason) <> max(end_reason)
),
nodes as (
    select task, prev from parted
    union
    select task, prev from left_behind
)
select n.task, n.prev, e.run_key, e.seq, e.step, e.kind,
       case when e.kind = 'end' then encode(r.end_reason) else e.chain end as branch,
       e.action_sha256 as action, e.tokens_sha256 as tokens, e.prompt_sha256 as prompt, e.body, e.reasoning,
       e.workspace_tree as workspace, e.call_seq, e.source_offset
from event e
join runs r using (run_key)
join nodes n on n.task = r.task and n.prev is not distinct from e.prev
where e.kind <> 'end' or r.ended
union all
select n.task, n.prev, s.run_key, s.n_events, s.n_steps, 'end', encode(s.end_reason),
       null, null, null, null, null, null, null, null
from silent_ends s
join nodes n on n.task = s.task and n.prev = s.last_chain
