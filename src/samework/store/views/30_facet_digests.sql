-- views/facet_digests: the canonical digest of each facet of each run. Two runs are the same on a facet where
-- `comparable` and `digest` are equal; a NULL digest is unknown, with its reason.
-- Example: SELECT facet, grade, count(*) FROM facet_digests GROUP BY ALL ORDER BY ALL
CREATE OR REPLACE VIEW facet_digests AS
SELECT
    r.run_id, r.task, r.arm, f.facet, lower(hex(f.digest)) AS digest, lower(hex(f.comparable)) AS comparable,
    f.null_reason, f.grade, f.vacuous, f.n_parts, f.n_masked_bytes, lower(hex(f.ruleset_id)) AS ruleset_id,
    s.name AS ruleset, f.run_key
FROM main.facet_digest AS f
JOIN main.run AS r USING (run_key)
LEFT JOIN main.ruleset AS s USING (ruleset_id)
