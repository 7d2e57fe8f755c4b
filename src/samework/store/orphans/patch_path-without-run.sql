-- orphans/patch_path-without-run: rows of a run that is not there.
-- Parameters: none. Columns: n bigint.
SELECT count(*) AS n FROM main.patch_path ANTI JOIN main.run USING (run_key)
