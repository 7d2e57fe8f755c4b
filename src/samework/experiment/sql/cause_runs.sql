-- experiment/cause_runs: when given runs started.
-- Parameters: $run_keys list of bigint. Columns: run_key bigint, started text (as recorded, NULL: unrecorded).
select run_key, started from run semi join (select unnest($run_keys::bigint[]) as run_key) using (run_key)
