-- orphans/run-without-source: runs of a source that is not there.
-- Parameters: none. Columns: n bigint.
SELECT count(*) AS n FROM main.run ANTI JOIN main.source USING (source_sha256, settings_sha256)
