-- equivalence/quarantined_nodes: tests of one task with more than one outcome in one cell, by the rule of cell_digests: to
-- be missing from a complete report beside others is an outcome.
-- Parameters: $task text. Reads the temp table cell_report. Columns: node text.
with reports as (
    select distinct group_key, cell, report_key, complete
    from cell_report where task = $task and group_key is not null
),
cells as (
    select group_key, cell, count(*) filter (complete) as n_complete from reports group by all
)
select distinct node
from (
    select r.group_key, r.cell, o.node
    from reports r
    join cells c using (group_key, cell)
    join test_outcome o using (report_key)
    group by all
    having count(distinct o.outcome) > 1
        or (bool_and(r.complete) and count(distinct r.report_key) < any_value(c.n_complete))
)
order by node
