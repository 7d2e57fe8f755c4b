-- queries/known_sources: every source that was ingested or refused.
-- Parameters: none. Columns: source_sha256 blob, settings_sha256 blob, status text.
SELECT source_sha256, settings_sha256, status
FROM main.source
