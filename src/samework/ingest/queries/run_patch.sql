-- queries/run_patch: the patch of a run as it is stored, with the digest of its recorded bytes.
-- Parameters: $run_key bigint. Columns: body blob, text text.
SELECT p.body, b.text
FROM main.patch AS p
JOIN main.body AS b ON b.sha256 = p.body
WHERE p.run_key = $run_key
