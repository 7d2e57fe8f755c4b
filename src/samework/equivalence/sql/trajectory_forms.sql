-- equivalence/trajectory_forms: per run, what its trajectory can be compared by.
-- Parameters: $task text or NULL. Columns: run_key bigint, task text, usable boolean, ids_contradicted boolean, tok_c, tok,
--   comp_c, comp, ref_c, ref, cnt_c, cnt, text_c, text, prose_c, prose, actions_c, actions, observations_c,
--   observations blob.
-- Prompt ids that nobody recorded are implied only by a recorded template that is recorded to read no clock, and equal
--   text of all that the model saw.
-- Digests made by other rules, before an upgrade that changed them, are not compared.
-- A run whose record is incomplete is compared by none of these. Ids that in some run of the task stand for another text,
-- by one recorder or as it came from the model, or for other counts, are contradicted: they make no run the same.
with runs as (
    select run_key, task, complete and has_trajectory as usable from run where $task is null or task = $task
),
facets as (
    select f.run_key,
           any_value(digest) filter (facet = 'completion_tokens') as completion,
           any_value(comparable || ruleset_id) filter (facet = 'completion_tokens') as completion_c,
           any_value(digest) filter (facet = 'prompt_tokens') as prompt,
           any_value(comparable || ruleset_id) filter (facet = 'prompt_tokens') as prompt_c,
           any_value(digest) filter (facet = 'refuter') as ref,
           any_value(comparable || ruleset_id) filter (facet = 'refuter') as ref_c,
           any_value(digest) filter (facet = 'counts') as cnt,
           any_value(comparable || ruleset_id) filter (facet = 'counts') as cnt_c,
           any_value(digest) filter (facet = 'raw_text') as raw_text,
           any_value(ruleset_id) filter (facet = 'text') as text_c,
           any_value(digest) filter (facet = 'text') as text,
           any_value(digest) filter (facet = 'prose') as prose,
           any_value(comparable || ruleset_id) filter (facet = 'prose') as prose_c,
           any_value(ruleset_id) filter (facet = 'actions') as actions_c,
           any_value(digest) filter (facet = 'actions') as actions,
           any_value(ruleset_id) filter (facet = 'observations') as observations_c,
           any_value(digest) filter (facet = 'observations') as observations
    from facet_digest f semi join runs using (run_key)
    group by f.run_key
),
templates as (
    select run_key, max(value) filter (field = 'template.sha256') as template
    from manifest_field
    where field in ('template.sha256', 'template.reads_clock')
    group by run_key
    having bool_or(field = 'template.reads_clock' and value = 'false')
),
told as (
    select r.task, f.completion_c, f.completion, unnest([
               {'kind': f.ref_c, 'told': f.ref},
               {'kind': f.cnt_c, 'told': f.cnt},
               {'kind': case when f.raw_text is not null then f.completion_c end, 'told': f.raw_text}
           ], recursive := true)
    from facets f join runs r using (run_key)
    where r.usable and f.completion_c is not null
),
contradicted as (
    select distinct task, completion_c, completion
    from (select task, completion_c, completion, kind from told where kind is not null
          group by all having count(distinct told) > 1)
)
select r.run_key, r.task, r.usable, c.task is not null as ids_contradicted,
       case when not r.usable or f.completion_c is null or c.task is not null then null
            when f.prompt_c is not null then f.completion_c || f.prompt_c
            when t.template is not null
            then f.completion_c || f.prompt || encode('implied by template ' || t.template) end as tok_c,
       case when f.prompt_c is not null then f.completion || f.prompt else f.completion end as tok,
       case when r.usable then f.completion_c end as comp_c, f.completion as comp,
       case when r.usable then f.ref_c end as ref_c, f.ref,
       case when r.usable then f.cnt_c end as cnt_c, f.cnt,
       f.text_c, case when r.usable then f.text end as text,
       case when r.usable then f.prose_c end as prose_c, f.prose,
       f.actions_c, case when r.usable then f.actions end as actions,
       f.observations_c, case when r.usable then f.observations end as observations
from runs r
left join facets f using (run_key)
left join templates t using (run_key)
left join contradicted c on c.task = r.task and c.completion_c = f.completion_c and c.completion = f.completion
