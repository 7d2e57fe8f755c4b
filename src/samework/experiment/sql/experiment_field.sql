-- experiment/experiment_field: the value of one manifest field of each placed run that records it.
-- Parameters: $field text. Reads the temp table placed_run. Columns: run_key bigint, value text (canonical JSON).
select m.run_key, m.value from manifest_field m semi join placed_run using (run_key)
where m.field = $field and m.value is not null
