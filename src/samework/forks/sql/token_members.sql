-- forks/token_members: completions that read the same and are made of different tokens, with every run that wrote them.
-- Parameters: $task text or NULL (all tasks). Columns: as forks/branch_members, but prev is the chain that the runs
--   share with this completion included, and branch is the digest of the token ids.
-- Digests compare within one known tokenizer and one way of digesting (ids held, or a producer's digest).
with runs as (
    select run_key, task, tokenizer from run
    where has_trajectory and tokenizer is not null and ($task is null or task = $task)
),
split as (
    select r.task, r.tokenizer, e.chain, e.n_tokens is null as by_producer
    from event e
    join runs r using (run_key)
    where e.tokens_sha256 is not null
    group by all
    having min(e.tokens_sha256) <> max(e.tokens_sha256)
)
select s.task, s.chain as prev, e.run_key, e.seq, e.step, e.kind, e.tokens_sha256 as branch,
       e.action_sha256 as action, e.tokens_sha256 as tokens, e.prompt_sha256 as prompt, e.body, e.reasoning,
       e.workspace_tree as workspace, e.call_seq, e.source_offset
from event e
join runs r using (run_key)
join split s on s.task = r.task and s.chain = e.chain and s.tokenizer = r.tokenizer and s.by_producer = (e.n_tokens is null)
where e.tokens_sha256 is not null
