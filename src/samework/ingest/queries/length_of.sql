-- queries/length_of: how many events a run has.
-- Parameters: $key bigint. Columns: n_events bigint.
SELECT n_events FROM main.run WHERE run_key = $key
