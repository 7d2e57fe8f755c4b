-- views/reviews: what reviewers said of pairs; `is_current` is false where a later review of theirs supersedes it.
-- Example: SELECT run_a, run_b, judgement FROM reviews WHERE is_current
CREATE OR REPLACE VIEW reviews AS
SELECT
    r.review_key, r.run_a, r.run_b, r.reviewer, r.blind, r.judgement, r.reason, r.written, r.supersedes,
    NOT EXISTS (SELECT 1 FROM main.review AS later WHERE later.supersedes = r.review_key) AS is_current
FROM main.review AS r
