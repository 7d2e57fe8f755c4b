-- api/scan_fields: short texts beside the trajectories, with the name that they stand under.
-- Parameters: none. Columns: run_id text, part text, name text, text text.
-- part is manifest (name: the field), outcome, other (keys that no reader knows) or review (name: the other run). All
--   but the reason of a review are JSON.
with field as (
    select run_key, 'manifest' as part, field as name, value as text from manifest_field
    union all
    select run_key, 'outcome', name, value from run_outcome
    union all
    select run_key, 'other', null, extra from run
    union all
    select r.run_key, 'review', v.run_b, v.reason from review as v join run as r on r.run_id = v.run_a
)
select r.run_id, f.part, f.name, f.text
from field as f join run as r using (run_key)
where f.text is not null
order by r.task, r.arm, r.repeat, r.run_id, f.part, f.name
