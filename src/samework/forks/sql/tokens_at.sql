-- forks/tokens_at: token ids, margins and the two likeliest tokens of given completions.
-- Parameters: $run_keys, $seqs lists of bigint, of one length. Columns: run_key bigint, seq bigint, token_ids blob,
--   margins blob, margin_unit text, ids blob (pairs), texts text (JSON).
with places as (
    select unnest($run_keys::bigint[]) as run_key, unnest($seqs::bigint[]) as seq
)
select t.run_key, t.seq, t.token_ids, t.margins, t.margin_unit, k.ids, k.texts
from token t
semi join places using (run_key, seq)
left join token_rank k using (run_key, seq)
