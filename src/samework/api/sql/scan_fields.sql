-- api/scan_fields: short texts beside the trajectories, with the name that they stand under.
-- Parameters: none. Columns: run_id text, part text, name text, text text.
-- part is manifest (name: the field), outcome or other (keys that no reader knows, JSON).
with field as (
    select run_key, 'manifest' as part, field as name, value as text from manifest_field
    union all
    select run_key, 'outcome', name, value from run_outcome
    union all
    select run_key, 'other', null, extra from run
)
select r.run_id, f.part, f.name, f.text
from field as f join run as r using (run_key)
where f.text is not null
order by r.task, r.arm, r.repeat, r.run_id, f.part, f.name
