-- forks/calls_at: tool calls of given completions.
-- Parameters: $run_keys, $seqs lists of bigint, of one length. Columns: run_key bigint, seq bigint, ordinal bigint,
--   name text, canonical text, canonical_sha256 blob.
with places as (
    select unnest($run_keys::bigint[]) as run_key, unnest($seqs::bigint[]) as seq
)
select c.run_key, c.seq, c.ordinal, c.name, c.canonical, c.canonical_sha256
from call c
semi join places using (run_key, seq)
order by c.run_key, c.seq, c.ordinal
