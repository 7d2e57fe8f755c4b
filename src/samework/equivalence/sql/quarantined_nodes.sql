-- equivalence/quarantined_nodes: tests of one task with more than one outcome in one cell.
-- Parameters: $task text. Reads the temp table cell_report. Columns: node text.
select distinct node
from (
    select c.group_key, c.cell, o.node
    from (select distinct group_key, cell, report_key from cell_report where task = $task and group_key is not null) c
    join test_outcome o using (report_key)
    group by all
    having count(distinct o.outcome) > 1
)
order by node
