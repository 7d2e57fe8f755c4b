-- named/weak-evidence: runs whose class would rest on weak evidence: an asserted tree, assumed tests, an incomplete record.
-- Parameters: none. Columns: run_id text, task text, arm text, tree_grade text, tests text, complete boolean, why text.
WITH facts AS (
    SELECT
        r.run_id, r.task, r.arm, r.complete, r.incomplete_reason,
        CASE
            WHEN x.tree IS NOT NULL THEN x.grade
            WHEN p.status IN ('parsed', 'empty') THEN p.grade
            ELSE 'none'
        END AS tree_grade,
        coalesce(x.null_reason, p.reason, 'no tree or patch is recorded') AS no_tree,
        CASE
            WHEN t.n IS NULL THEN 'none'
            WHEN t.n_complete = 0 THEN 'incomplete'
            WHEN t.assumed THEN 'assumed'
            ELSE 'recorded'
        END AS tests
    FROM runs AS r
    LEFT JOIN trees AS x USING (run_key)
    LEFT JOIN patches AS p USING (run_key)
    LEFT JOIN (
        SELECT
            run_key, count(*) AS n, count(*) FILTER (WHERE complete) AS n_complete,
            bool_or(suite IS NULL OR env IS NULL) AS assumed
        FROM test_reports
        GROUP BY run_key
    ) AS t USING (run_key)
)
SELECT
    run_id, task, arm, tree_grade, tests, complete,
    concat_ws('; ',
        CASE tree_grade WHEN 'none' THEN no_tree WHEN 'asserted' THEN 'the tree is only asserted' END,
        CASE tests
            WHEN 'none' THEN 'no test report'
            WHEN 'incomplete' THEN 'no complete test report'
            WHEN 'assumed' THEN 'suite or environment assumed'
        END,
        CASE WHEN NOT complete THEN coalesce(incomplete_reason, 'the record is incomplete') END
    ) AS why
FROM facts
WHERE NOT complete OR tree_grade IN ('none', 'asserted') OR tests <> 'recorded'
ORDER BY task, arm, run_id
