-- equivalence/refuting_nodes: pairs of cells of which one has no complete report, refuted by a node that both saw.
-- Parameters: none. Reads the temp tables cell_report and cell_digest. Columns: task text, group_key text, cell_a text,
--   cell_b text, node text (one of them).
with open_cells as (
    select task, group_key, cell from cell_digest where not any_complete
),
groups as (
    select distinct task, group_key from open_cells
),
nodes as (
    select distinct c.task, c.group_key, c.cell, o.node, o.outcome
    from cell_report c
    semi join groups g on g.task = c.task and g.group_key = c.group_key
    join test_outcome o using (report_key)
),
sets as (
    select task, group_key, cell, node, list(outcome) as outcomes from nodes group by all
),
flaky as (
    select distinct task, group_key, node from sets where len(outcomes) > 1
),
kept as (
    select * from sets anti join flaky using (task, group_key, node)
)
select a.task, a.group_key, a.cell as cell_a, b.cell as cell_b, min(a.node) as node
from kept a
semi join open_cells o on o.task = a.task and o.group_key = a.group_key and o.cell = a.cell
join kept b on b.task = a.task and b.group_key = a.group_key and b.node = a.node and b.cell <> a.cell
where not list_has_any(a.outcomes, b.outcomes)
group by all
