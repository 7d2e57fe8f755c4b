-- equivalence/trajectory_forms: per run, what its trajectory can be compared by.
-- Parameters: $task text or NULL. Columns: run_key bigint, usable boolean, tok_c blob, tok blob, comp_c blob, comp blob,
--   ref_c blob, ref blob, text blob, actions blob, observations blob.
-- Prompt ids that nobody recorded are implied only by a recorded template that is recorded to read no clock, and equal
--   text of all that the model saw.
-- A run whose record is incomplete is compared by none of these.
with runs as (
    select run_key, complete and has_trajectory as usable from run where $task is null or task = $task
),
facets as (
    select f.run_key,
           any_value(digest) filter (facet = 'completion_tokens') as completion,
           any_value(comparable) filter (facet = 'completion_tokens') as completion_c,
           any_value(digest) filter (facet = 'prompt_tokens') as prompt,
           any_value(comparable) filter (facet = 'prompt_tokens') as prompt_c,
           any_value(digest) filter (facet = 'refuter') as ref,
           any_value(comparable) filter (facet = 'refuter') as ref_c,
           any_value(digest) filter (facet = 'text') as text,
           any_value(digest) filter (facet = 'actions') as actions,
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
)
select r.run_key, r.usable,
       case when not r.usable or f.completion_c is null then null
            when f.prompt_c is not null then f.completion_c || f.prompt_c
            when t.template is not null
            then f.completion_c || f.prompt || encode('implied by template ' || t.template) end as tok_c,
       case when f.prompt_c is not null then f.completion || f.prompt else f.completion end as tok,
       case when r.usable then f.completion_c end as comp_c, f.completion as comp,
       case when r.usable then f.ref_c end as ref_c, f.ref,
       case when r.usable then f.text end as text,
       case when r.usable then f.actions end as actions,
       case when r.usable then f.observations end as observations
from runs r
left join facets f using (run_key)
left join templates t using (run_key)
