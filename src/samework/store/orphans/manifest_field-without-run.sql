-- orphans/manifest_field-without-run: rows of a run that is not there.
-- Parameters: none. Columns: n bigint.
SELECT count(*) AS n FROM main.manifest_field ANTI JOIN main.run USING (run_key)
