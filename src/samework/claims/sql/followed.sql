-- claims/followed: task by task, whether runs with moved state wrote the tokens of the donor or of the recipient.
-- Parameters: $arm, $donor, $recipient text (arms). Columns: task text, follows_donor boolean.
-- Only tasks in which each of the three arms has one sequence of token ids throughout, and donor and recipient differ.
with ids as (
    select r.task, r.arm, f.comparable, f.digest
    from run r
    join facet_digest f on f.run_key = r.run_key and f.facet = 'completion_tokens' and f.digest is not null
        and f.comparable is not null
    where r.arm in ($arm, $donor, $recipient) and r.complete
      and r.end_reason not in ('timeout', 'crash', 'cancelled', 'log_truncated')
),
settled as (
    select task, arm, min(comparable) as comparable, min(digest) as digest
    from ids
    group by task, arm
    having count(distinct comparable) = 1 and count(distinct digest) = 1
)
select d.task, m.digest = d.digest as follows_donor
from settled d
join settled p on p.task = d.task and p.arm = $recipient and p.comparable = d.comparable and p.digest <> d.digest
join settled m on m.task = d.task and m.arm = $arm and m.comparable = d.comparable
where d.arm = $donor
order by d.task
