-- equivalence/refuting_nodes: pairs of cells of which one has no complete report, refuted by a node that both saw.
-- Parameters: $strict boolean (only where suite and environment are recorded). Reads the temp tables cell_report and
--   cell_digest. Columns: task text, group_key text, cell_a text, cell_b text, node text (one of them), assumed boolean.
-- No report lists collectors that passed: a node WHERE::<collection> of the group passed in each cell that lists a test
-- WHERE::... of it. One that broke in some report and passed in another of its cell is flaky, as any node is.
with open_cells as (
    select task, group_key, cell from cell_digest
    where not any_complete and not ($strict and starts_with(group_key, 'a|'))
),
groups as (
    select distinct task, group_key from open_cells
),
recorded as (
    select distinct c.task, c.group_key, c.cell, o.node, o.outcome
    from cell_report c
    semi join groups g on g.task = c.task and g.group_key = c.group_key
    join test_outcome o using (report_key)
),
collectors as (
    select distinct task, group_key, node, split_part(node, '::', 1) as path,
           left(node, length(node) - length('<collection>')) as start
    from recorded where ends_with(node, '::<collection>')
),
nodes as (
    select * from recorded
    union
    select r.task, r.group_key, r.cell, c.node, 'passed' as outcome
    from recorded r
    join collectors c
      on c.task = r.task and c.group_key = r.group_key and c.path = split_part(r.node, '::', 1)
    where starts_with(r.node, c.start) and not regexp_matches(r.node, '::<(collection|file|suite|package)>$')
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
select a.task, a.group_key, a.cell as cell_a, b.cell as cell_b, min(a.node) as node,
       starts_with(a.group_key, 'a|') as assumed
from kept a
semi join open_cells o on o.task = a.task and o.group_key = a.group_key and o.cell = a.cell
join kept b on b.task = a.task and b.group_key = a.group_key and b.node = a.node and b.cell <> a.cell
where not list_has_any(a.outcomes, b.outcomes)
group by all
