-- equivalence/treeless_tasks: tasks whose runs are of a kind that leaves no tree, and left none.
-- Reads the temp table signature. Columns: task text.
select task from signature
group by task
having bool_and(kind in ('tool-use', 'text') and oid_c is null and tcd_c is null and oida_c is null and pat_c is null and pata_c is null)
