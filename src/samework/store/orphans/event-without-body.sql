-- orphans/event-without-body: events whose text or reasoning is not there.
-- Parameters: none. Columns: n bigint.
SELECT count(*) AS n
FROM (
    SELECT body AS sha256 FROM main.event WHERE body IS NOT NULL
    UNION ALL
    SELECT reasoning FROM main.event WHERE reasoning IS NOT NULL
)
ANTI JOIN main.body USING (sha256)
