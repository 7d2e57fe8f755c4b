-- views/manifest_diff: fields of two runs, given by run_id: equal, differs, or not_comparable where one side is missing.
-- Example: SELECT * FROM manifest_diff('0123456789abcdef', 'fedcba9876543210') WHERE state <> 'equal'
CREATE OR REPLACE MACRO manifest_diff(a_run, b_run) AS TABLE
SELECT
    field,
    CASE
        WHEN (a.value IS NULL AND a.absence IS DISTINCT FROM 'n/a') OR (b.value IS NULL AND b.absence IS DISTINCT FROM 'n/a')
            THEN 'not_comparable'
        WHEN a.value IS NOT DISTINCT FROM b.value THEN 'equal'
        ELSE 'differs'
    END AS state,
    a.value AS a, b.value AS b, a.source AS a_source, b.source AS b_source,
    CASE WHEN a.value IS NULL THEN coalesce(a.absence, 'unrecorded') END AS a_absence,
    CASE WHEN b.value IS NULL THEN coalesce(b.absence, 'unrecorded') END AS b_absence
FROM (SELECT * FROM manifest_fields WHERE run_id = a_run) AS a
FULL JOIN (SELECT * FROM manifest_fields WHERE run_id = b_run) AS b USING (field)
ORDER BY field
