-- queries/events_after: whether anything but the end of a run comes after its first events.
-- Parameters: $key bigint, $n_events bigint. Columns: went_on boolean.
SELECT count(*) > 0 FROM main.event WHERE run_key = $key AND seq >= $n_events AND kind <> 'end'
