-- views/sources: what was ingested, and what was refused and why.
-- Example: SELECT path, status, reason FROM sources WHERE status = 'refused'
CREATE OR REPLACE VIEW sources AS
SELECT
    path, format, n_bytes, status, reason, n_runs, n_events, batch, settings,
    lower(hex(source_sha256)) AS source_sha256, lower(hex(settings_sha256)) AS settings_sha256
FROM main.source
