-- equivalence/overlapping_cells: without quarantine, pairs of unequal cells in which no node refutes: undecided.
-- Parameters: none. Reads the temp tables cell_report and cell_digest. Columns: task text, group_key text, cell_a text,
--   cell_b text. Only groups with a cell that disagrees with itself are read.
with groups as (
    select distinct task, group_key from cell_digest where conflicting
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
cells as (
    select d.task, d.group_key, d.cell, d.digest, d.conflicting from cell_digest d semi join groups using (task, group_key)
),
pairs as (
    select a.task, a.group_key, a.cell as cell_a, b.cell as cell_b
    from cells a join cells b using (task, group_key)
    where a.cell < b.cell and a.digest <> b.digest and (a.conflicting or b.conflicting)
),
refuted as (
    select distinct p.* from pairs p
    join sets a on a.task = p.task and a.group_key = p.group_key and a.cell = p.cell_a
    left join sets b on b.task = p.task and b.group_key = p.group_key and b.cell = p.cell_b and b.node = a.node
    where b.node is null or not list_has_any(a.outcomes, b.outcomes)
    union
    select distinct p.* from pairs p
    join sets b on b.task = p.task and b.group_key = p.group_key and b.cell = p.cell_b
    anti join sets a on a.task = p.task and a.group_key = p.group_key and a.cell = p.cell_a and a.node = b.node
)
select * from pairs anti join refuted using (task, group_key, cell_a, cell_b)
