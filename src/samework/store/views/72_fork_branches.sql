-- views/fork_branches: which run took which way out of each branch node, and into how many trees and tests the way led.
-- `samework query` and `Store.sql` put the engine's own answer here; with another program, equality of digests decides
-- alone.
-- Example: SELECT branch, tool, arguments, count(*) AS n_runs FROM fork_branches WHERE task = 'demo-task' GROUP BY ALL
CREATE OR REPLACE VIEW fork_branches AS
SELECT
    f.task, f.node, f.branch, f.run_id, f.tool, f.arguments, left(b.text, 120) AS excerpt, f.tree_classes, f.tests_classes
FROM (
    SELECT task, node, branch, unnest(runs) AS run_id, tool, arguments, body, tree_classes, tests_classes FROM fork_ends
) AS f
LEFT JOIN main.body AS b ON b.sha256 = f.body
