-- views/run_digests: one row per run, one text per facet, `comparable:digest`; NULL is unknown. Only equality of digests is
-- here: what refutes without a digest, flaky tests and cut-off runs are judged by `samework compare`. A patch that another
-- patch of the task contradicts gives no tree.
-- Example: SELECT task, count(DISTINCT tests) FROM run_digests GROUP BY task
CREATE OR REPLACE VIEW run_digests AS
WITH facets AS (
    SELECT
        run_key,
        max(hex(comparable) || ':' || hex(digest)) FILTER (WHERE facet = 'tokens') AS tokens,
        max(hex(comparable) || ':' || hex(digest)) FILTER (WHERE facet = 'text') AS text,
        max(hex(comparable) || ':' || hex(digest)) FILTER (WHERE facet = 'actions') AS actions,
        max(hex(comparable) || ':' || hex(digest)) FILTER (WHERE facet = 'observations') AS observations
    FROM main.facet_digest
    GROUP BY run_key
), standing AS (
    SELECT
        p.run_key, r.task, coalesce(nullif(coalesce(p.base_commit, r.base_commit), ''), nullif(r.layout, '')) AS base,
        min(coalesce(p.min_id_digits, 40)) OVER (PARTITION BY r.task) AS n_digits
    FROM main.patch AS p
    JOIN main.run AS r USING (run_key)
    WHERE p.status IN ('parsed', 'empty') AND coalesce(p.min_id_digits, 40) >= 7
), stated AS (
    SELECT
        s.run_key, s.task, s.base, q.path, coalesce(left(q.blob_id, s.n_digits), q.mode, '') AS outcome,
        coalesce(left(e.before_id, s.n_digits), '') AS source, e.change_sha256 AS edit,
        if(q.change = 'add', '', left(e.before_id, s.n_digits)) AS before
    FROM standing AS s
    JOIN main.patch_path AS q USING (run_key)
    JOIN main.patch_edit AS e USING (run_key, path)
), contested AS (
    SELECT unnest(list(run_key)) AS run_key FROM stated
    GROUP BY task, base, path, outcome HAVING min(before) <> max(before)
    UNION ALL
    SELECT unnest(list(run_key)) FROM stated
    GROUP BY task, path, outcome, source HAVING min(edit) <> max(edit)
    UNION ALL
    SELECT unnest(list(run_key)) FROM stated WHERE edit IS NOT NULL
    GROUP BY task, path, source, edit HAVING min(outcome) <> max(outcome)
), paths AS (
    SELECT
        s.run_key, s.base,
        md5(coalesce(string_agg(
            concat_ws(chr(9), q.path, coalesce(q.mode, '-'), coalesce(left(q.blob_id, s.n_digits), '-')), chr(10)
            ORDER BY q.path
        ), '')) AS post
    FROM standing AS s
    LEFT JOIN main.patch_path AS q USING (run_key)
    WHERE s.run_key NOT IN (SELECT run_key FROM contested)
    GROUP BY s.run_key, s.base
), reports AS (
    SELECT
        run_key, concat_ws(chr(9), suite, coalesce(env, 'layout:' || layout)) AS suite,
        concat_ws(chr(9), suite, coalesce(env, 'layout:' || layout), hex(map_sha256)) AS map
    FROM main.test_report
    WHERE complete AND n_executed > 0 AND NOT has_conflict AND suite IS NOT NULL
), tests AS (
    SELECT
        run_key, md5(string_agg(DISTINCT suite, chr(10) ORDER BY suite)) AS suites,
        md5(string_agg(DISTINCT map, chr(10) ORDER BY map)) AS maps
    FROM reports
    GROUP BY run_key
), grades AS (
    SELECT
        run_key,
        md5(string_agg(name, chr(10) ORDER BY name)) || ':' || string_agg(value, chr(10) ORDER BY name) AS outcome
    FROM main.run_outcome
    GROUP BY run_key
)
SELECT
    r.run_id, r.task, r.arm, r.kind, f.tokens, f.text, f.actions, f.observations,
    'sha256:' || lower(hex(p.patch_sha256)) AS patch,
    CASE
        WHEN t.oid IS NOT NULL THEN t.object_format || ':' || t.oid
        WHEN t.tcd IS NOT NULL THEN 'tcd:' || lower(hex(t.tcd))
        WHEN d.base IS NOT NULL THEN 'patch-' || d.base || ':' || d.post
    END AS tree,
    s.suites || ':' || s.maps AS tests, g.outcome, r.run_key
FROM main.run AS r
LEFT JOIN facets AS f USING (run_key)
LEFT JOIN main.patch AS p USING (run_key)
LEFT JOIN main.run_tree AS t USING (run_key)
LEFT JOIN paths AS d USING (run_key)
LEFT JOIN tests AS s USING (run_key)
LEFT JOIN grades AS g USING (run_key)
