-- views/digest_verdict: verdict of two texts of `run_digests`: what stands before the first colon must be equal for them to
-- be comparable at all.
-- Example: SELECT digest_verdict('sha1:a', 'sha1:b')
CREATE OR REPLACE MACRO digest_verdict(one, other) AS
CASE
    WHEN one IS NULL OR other IS NULL OR split_part(one, ':', 1) <> split_part(other, ':', 1) THEN 'unknown'
    WHEN one = other THEN 'same'
    ELSE 'different'
END
