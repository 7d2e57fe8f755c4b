-- claims/own_fields: what the manifest of one run records.
-- Parameters: $run_key bigint. Columns: field text, value text (canonical JSON, or n/a where it does not apply).
select field, coalesce(value, 'n/a') as value
from manifest_field
where run_key = $run_key and (value is not null or absence = 'n/a')
order by field
