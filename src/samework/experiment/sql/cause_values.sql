-- experiment/cause_values: what the manifests of given runs record, field by field.
-- Parameters: $run_keys list of bigint. Columns: run_key bigint, field text, value text (canonical JSON, NULL where absent),
--   absence text. The base, the harness and the tokenizer stand in where the manifest does not name them. What a server
--   counted per call is left out: it follows from the way that a run took.
with members as (
    select unnest($run_keys::bigint[]) as run_key
),
given as (
    select m.run_key, m.field, m.value, m.absence from manifest_field m semi join members using (run_key)
),
found as (
    select r.run_key, 'base.commit' as field, to_json(coalesce(r.base_commit, t.base_commit, p.base_commit))::text as value
    from run r
    semi join members using (run_key)
    left join run_tree t using (run_key)
    left join patch p using (run_key)
    where coalesce(r.base_commit, t.base_commit, p.base_commit) is not null
    union all
    select r.run_key, x.field, to_json(x.value)::text
    from run r
    semi join members using (run_key),
    lateral (select unnest(['harness.name', 'harness.version', 'tokenizer.sha256']) as field,
                    unnest([r.agent, r.agent_version, r.tokenizer]) as value) x
    where x.value is not null
)
select run_key, field, value, absence from given
union all
select f.run_key, f.field, f.value, null
from found f
anti join (select run_key, field from given where value is not null or absence = 'n/a') g using (run_key, field)
order by run_key, field, value is null
