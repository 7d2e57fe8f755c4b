-- views/defects: byte ranges that could not be read, and findings about sources.
-- Example: SELECT path, source_offset, reason FROM defects ORDER BY ALL
CREATE OR REPLACE VIEW defects AS
SELECT
    d.path, d.source_offset, d.n_bytes, d.code, d.reason, r.run_id, lower(hex(d.source_sha256)) AS source_sha256, d.run_key
FROM main.defect AS d
LEFT JOIN main.run AS r USING (run_key)
