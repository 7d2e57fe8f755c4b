-- experiment/experiment_cells: cells (tree, suite, environment) that several reports graded, and tests that flip in them.
-- Parameters: none. Reads the temp tables placed_run and cell_report. Columns: task text, cell text, n_reports bigint,
--   nodes text[] (tests with more than one outcome in the cell; a test absent from a complete report is one).
with reports as (
    select distinct c.task, c.group_key, c.cell, c.report_key, c.complete
    from cell_report c
    semi join placed_run using (run_key)
    where c.group_key is not null
),
repeated as (
    select task, group_key, cell, count(*) as n_reports, count(*) filter (complete) as n_complete
    from reports
    group by all
    having count(*) > 1
),
seen as (
    select r.task, r.group_key, r.cell, o.node, count(distinct o.outcome) as n_outcomes,
           count(distinct r.report_key) filter (r.complete) as n_in_complete
    from reports r
    semi join repeated using (task, group_key, cell)
    join test_outcome o using (report_key)
    group by all
),
flipping as (
    select s.task, s.group_key, s.cell, list(s.node order by s.node) as nodes
    from seen s
    join repeated p using (task, group_key, cell)
    where s.n_outcomes > 1 or s.n_in_complete < p.n_complete
    group by all
)
select p.task, p.group_key || '|' || p.cell as cell, p.n_reports, coalesce(f.nodes, []) as nodes
from repeated p
left join flipping f using (task, group_key, cell)
order by p.task, p.group_key, p.cell
