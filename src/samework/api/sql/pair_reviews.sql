-- api/pair_reviews: what reviewers said of one pair of runs, the oldest first.
-- Parameters: $a text, $b text: run_ids, the smaller first. Columns: number bigint, reviewer, judgement, reason text,
--   blind boolean, written text, supersedes bigint, is_current boolean: no later review supersedes it.
select v.review_key as number, v.reviewer, v.judgement, v.reason, v.blind, v.written, v.supersedes,
       not exists (from review later where later.supersedes = v.review_key) as is_current
from review v
where v.run_a = $a and v.run_b = $b
order by v.review_key
