-- api/run_usage: token counts that servers reported for the calls of one run; sums over the calls that have them.
-- Parameters: $run_key integer.
-- Columns: n_calls, n_cached (calls whose reuse is recorded), prompt_tokens, cached_tokens, completion_tokens; one row.
select count(*) as n_calls, count(cached_tokens) as n_cached, sum(prompt_tokens)::bigint as prompt_tokens,
       sum(cached_tokens)::bigint as cached_tokens, sum(completion_tokens)::bigint as completion_tokens
from call_usage
where run_key = $run_key
