-- named/missing-manifest-fields: manifest fields that some runs record and others lack, with the reasons of absence.
-- Parameters: none. Columns: field text, n_recorded bigint, n_missing bigint, absences text[].
SELECT
    field, count(value) AS n_recorded, (SELECT count(*) FROM runs) - count(value) AS n_missing,
    coalesce(list(DISTINCT absence ORDER BY absence) FILTER (WHERE absence IS NOT NULL), []) AS absences
FROM manifest_fields
GROUP BY field
HAVING count(value) < (SELECT count(*) FROM runs)
ORDER BY n_missing DESC, field
