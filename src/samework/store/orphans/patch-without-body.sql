-- orphans/patch-without-body: patches whose text is not there.
-- Parameters: none. Columns: n bigint.
SELECT count(*) AS n
FROM (SELECT body FROM main.patch WHERE body IS NOT NULL) AS p ANTI JOIN main.body AS b ON p.body = b.sha256
