-- queries/held_trees: trees of which every blob was read when they were taken, and the bases they were taken against.
-- Columns: tree text.
SELECT oid AS tree FROM main.run_tree WHERE tcd IS NOT NULL AND oid IS NOT NULL
UNION
SELECT base_oid FROM main.run_tree WHERE tcd IS NOT NULL AND base_oid IS NOT NULL
ORDER BY tree
