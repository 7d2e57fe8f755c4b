-- equivalence/cells: reports pooled by cell (tree, suite, environment) of one task.
-- Parameters: $task text or NULL; reads the temp table `tree_form` (see tree_forms). Columns: run_key bigint, task text,
--   group_key text (suite and environment), assumed boolean, cell text, report_key bigint, complete boolean,
--   map_sha256 blob, n_executed integer, n_failing integer, has_conflict boolean.
-- Where nobody recorded the suite or the environment, runs of one layout with the same named suite share a group.
select r.run_key, r.task,
       case when t.suite is not null and t.env is not null
            then 'r|' || octet_length(encode(t.suite)) || ':' || t.suite || '|' || t.env
            when t.suite is not null and t.layout <> '' then 'a|' || t.layout || '|' || t.suite end as group_key,
       t.suite is null or t.env is null as assumed,
       case when f.oida_c is not null then 'oid|' || f.oida_c || '|' || f.oida
            when f.tcd_c is not null then 'tcd|' || f.tcd_c || '|' || hex(f.tcd)
            when f.pat_c is not null then 'pat|' || f.pat_c || '|' || f.pat
            when f.pata_c is not null then 'pata|' || f.pata_c || '|' || f.pata
            else 'run|' || r.run_key end as cell,
       t.report_key, t.complete, t.map_sha256, t.n_executed, t.n_failing, t.has_conflict
from test_report t
join run r using (run_key)
join tree_form f using (run_key)
where $task is null or r.task = $task
