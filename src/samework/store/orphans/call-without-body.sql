-- orphans/call-without-body: calls whose argument text is not there.
-- Parameters: none. Columns: n bigint.
SELECT count(*) AS n FROM main.call AS c ANTI JOIN main.body AS b ON c.arguments = b.sha256
