-- equivalence/nodes_of_pair: tests of two runs of a task, in the suites and environments in which both were tested.
-- Parameters: $a bigint, $b bigint (run_key). Reads the temp table cell_report (see cells). Columns: suite text, env text,
--   node text, a text[], b text[] (sorted; empty where no report names the test), flaky boolean, open boolean.
-- a and b are of the cells that the runs are tested in, as the verdict is. flaky: set aside in the whole group, by the
-- rule of cell_digests. open: one side lacks the test and has no complete report, so that its absence says nothing.
-- Collectors that passed are taken from the tests below them, as refuting_nodes does.
with cells as (
    select group_key, cell, max(run_key = $a) as is_a, max(run_key = $b) as is_b,
           count(distinct report_key) filter (complete) as n_complete
    from cell_report
    where group_key is not null
    group by all
),
groups as (
    select group_key from cells group by all having bool_or(is_a) and bool_or(is_b)
),
reports as (
    select distinct group_key, cell, report_key, complete from cell_report semi join groups using (group_key)
),
recorded as (
    select r.group_key, r.cell, r.report_key, r.complete, t.suite, t.env, o.node, o.outcome
    from reports r
    join test_report t using (report_key)
    join test_outcome o using (report_key)
),
collectors as (
    select distinct group_key, node, split_part(node, '::', 1) as path,
           left(node, length(node) - length('<collection>')) as start
    from recorded where ends_with(node, '::<collection>')
),
nodes as (
    select *, false as implied from recorded
    union all
    select distinct r.* replace (c.node as node, 'passed' as outcome), true as implied
    from recorded r
    join collectors c on c.group_key = r.group_key and c.path = split_part(r.node, '::', 1)
    where starts_with(r.node, c.start) and not regexp_matches(r.node, '::<(collection|file|suite|package)>$')
),
sets as (
    select n.group_key, n.cell, n.node, any_value(n.suite) as suite, any_value(n.env) as env,
           list_sort(list(distinct n.outcome)) as outcomes,
           not bool_or(n.implied) and bool_and(n.complete)
               and count(distinct n.report_key) < any_value(c.n_complete) as sometimes_missing
    from nodes n
    join cells c using (group_key, cell)
    group by all
),
flaky as (
    select distinct group_key, node from sets where len(outcomes) > 1 or sometimes_missing
),
sides as (
    select s.group_key, s.node, any_value(s.suite) as suite, any_value(s.env) as env,
           coalesce(any_value(s.outcomes) filter (c.is_a), []) as a,
           coalesce(any_value(s.outcomes) filter (c.is_b), []) as b
    from sets s
    join cells c using (group_key, cell)
    where c.is_a or c.is_b
    group by all
)
select s.suite, s.env, s.node, s.a, s.b,
       f.node is not null as flaky,
       (len(s.a) = 0 and ca.n_complete = 0) or (len(s.b) = 0 and cb.n_complete = 0) as open
from sides s
join cells ca on ca.group_key = s.group_key and ca.is_a
join cells cb on cb.group_key = s.group_key and cb.is_b
left join flaky f on f.group_key = s.group_key and f.node = s.node
order by s.node, s.group_key
