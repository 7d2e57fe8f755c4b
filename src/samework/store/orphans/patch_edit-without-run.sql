-- orphans/patch_edit-without-run: rows of a run that is not there.
-- Parameters: none. Columns: n bigint.
SELECT count(*) AS n FROM main.patch_edit ANTI JOIN main.run USING (run_key)
