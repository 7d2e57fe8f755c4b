-- experiment/experiment_outcomes: what graders recorded of the placed runs.
-- Parameters: none. Reads the temp table placed_run. Columns: run_key bigint, name text, value text (canonical JSON).
select o.run_key, o.name, o.value from run_outcome o semi join placed_run using (run_key) order by o.run_key, o.name
