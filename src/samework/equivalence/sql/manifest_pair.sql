-- equivalence/manifest_pair: what is recorded of the making of two runs, field by field.
-- Parameters: $a, $b bigint (run_key). Columns: field text, run_key bigint, value text (canonical JSON), source text,
--   absence text. Facts that lie in other tables stand in for a field that the manifest does not name: the base and the
--   harness.
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
)
select field, run_key, value, source, absence from given
union all
select f.field, f.run_key, f.value, 'declared', null
from found f
anti join (select field, run_key from given where value is not null or absence = 'n/a') g using (field, run_key)
order by field, run_key, value is null
