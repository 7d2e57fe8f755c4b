-- equivalence/manifest_pair: what is recorded of the making of two runs, field by field.
-- Parameters: $a, $b bigint (run_key). Columns: field text, run_key bigint, value text (canonical JSON), source text,
--   absence text. Facts that lie in other tables stand in for a field that the manifest does not name: the base, the
--   harness, and the reused tokens of each call, where every call reports them.
with given as (
    select field, run_key, value, source, absence from manifest_field where run_key in ($a, $b)
),
found as (
    select 'base.commit' as field, r.run_key, to_json(coalesce(r.base_commit, t.base_commit, p.base_commit))::text as value
    from run r
    left join run_tree t using (run_key)
    left join patch p using (run_key)
    where r.run_key in ($a, $b) and coalesce(r.base_commit, t.base_commit, p.base_commit) is not null
    union all
    select 'harness.name', run_key, to_json(agent)::text from run where run_key in ($a, $b) and agent is not null
    union all
    select 'harness.version', run_key, to_json(agent_version)::text
    from run where run_key in ($a, $b) and agent_version is not null
    union all
    select 'tokenizer.sha256', run_key, to_json(tokenizer)::text
    from run where run_key in ($a, $b) and tokenizer is not null
    union all
    select 'reuse.cached_tokens', u.run_key, to_json(list(u.cached_tokens order by u.seq))::text
    from call_usage u
    join run r using (run_key)
    where u.run_key in ($a, $b)
    group by u.run_key, r.n_steps
    having count(u.cached_tokens) = r.n_steps and bool_and(u.source not in ('timing', 'log'))
)
select field, run_key, value, source, absence from given
union all
select f.field, f.run_key, f.value, case when f.field like 'reuse.%' then 'measured' else 'declared' end, null
from found f
anti join (select field, run_key from given where value is not null or absence = 'n/a') g using (field, run_key)
order by field, run_key, value is null
