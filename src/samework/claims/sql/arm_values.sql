-- claims/arm_values: what each of two arms records, field by field, over the whole store.
-- Parameters: $a, $b text (arms). Columns: field text, arm text, n_recorded bigint, n_runs bigint, n_values bigint,
--   value text (canonical JSON or n/a; the one value where n_values is 1).
with runs as (
    select r.run_key, r.arm, r.agent, r.agent_version, r.tokenizer from run r where r.arm in ($a, $b)
),
sizes as (
    select arm, count(*) as n_runs from runs group by arm
),
given as (
    select r.arm, r.run_key, m.field, case when m.absence = 'n/a' then 'n/a' else m.value end as value
    from manifest_field m
    join runs r using (run_key)
    where m.value is not null or m.absence = 'n/a'
),
found as (
    select r.arm, r.run_key, x.field, to_json(x.value)::text as value
    from runs r,
    lateral (select unnest(['harness.name', 'harness.version', 'tokenizer.sha256']) as field,
                    unnest([r.agent, r.agent_version, r.tokenizer]) as value) x
    where x.value is not null
),
every as (
    from given
    union all by name
    select f.* from found f anti join given g using (run_key, field)
)
select e.field, e.arm, count(*) as n_recorded, any_value(s.n_runs) as n_runs, count(distinct e.value) as n_values,
       min(e.value) as value
from every e
join sizes s using (arm)
group by e.field, e.arm
order by e.field, e.arm
