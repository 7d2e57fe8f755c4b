-- forks/runs_of_cells: runs whose tests belong to given cells. Reads the temp table cell_report.
-- Parameters: $tasks, $group_keys, $cells lists of text, of one length. Columns: run_key bigint, task text,
--   group_key text, cell text.
with given as (
    select unnest($tasks::text[]) as task, unnest($group_keys::text[]) as group_key, unnest($cells::text[]) as cell
)
select distinct c.run_key, c.task, c.group_key, c.cell
from cell_report c
semi join given using (task, group_key, cell)
