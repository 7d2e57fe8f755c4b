-- api/run_manifest: manifest fields of one run.
-- Parameters: $run_key integer. Columns: field, value (JSON), source, absence, origin.
select field, value, source, absence, origin
from manifest_field
where run_key = $run_key
order by field
