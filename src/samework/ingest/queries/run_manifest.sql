-- queries/run_manifest: what is recorded in a run's manifest.
-- Parameters: $run_key bigint. Columns: field text, value text.
SELECT field, value
FROM main.manifest_field
WHERE run_key = $run_key
