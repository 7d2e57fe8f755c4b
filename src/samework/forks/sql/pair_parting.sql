-- forks/pair_parting: how far two runs go together: shared events, and where their token ids first differ among them.
-- Parameters: $a, $b bigint (run_key). Columns: n_shared bigint, token_seq bigint (NULL where ids do not differ or do not
--   compare). Equal chains are equal prefixes, so counting them is enough.
select count(*) as n_shared,
       min(x.seq) filter (x.tokens_sha256 <> y.tokens_sha256
                          and (x.n_tokens is null) = (y.n_tokens is null)
                          and p.tokenizer = q.tokenizer) as token_seq
from event x
join event y on y.seq = x.seq and y.chain = x.chain
join run p on p.run_key = x.run_key
join run q on q.run_key = y.run_key
where x.run_key = $a and y.run_key = $b
