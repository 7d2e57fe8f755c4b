-- equivalence/pairs_of_cells: pairs of runs of which one tests in one cell and the other in another.
-- Parameters: $task, $group_key, $cell_a, $cell_b text. Reads the temp table cell_report. Columns: a bigint, b bigint.
select distinct least(x.run_key, y.run_key) as a, greatest(x.run_key, y.run_key) as b
from cell_report x
join cell_report y using (task, group_key)
where task = $task and group_key = $group_key and x.cell = $cell_a and y.cell = $cell_b and x.run_key <> y.run_key
