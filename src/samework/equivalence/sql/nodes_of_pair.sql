-- equivalence/nodes_of_pair: tests of two runs whose recorded outcomes differ, and how many agree.
-- Parameters: $a bigint, $b bigint (run_key). Columns: node text, a text[], b text[], n_equal bigint.
-- a and b are sorted outcomes, empty where no report of that run names the test. Only suites that both runs have.
with reports as (
    select report_key, run_key, coalesce(suite, '') as suite, coalesce(env, '') as env
    from test_report where run_key in ($a, $b)
),
both_have as (
    select suite, env from reports group by all having count(distinct run_key) = 2
),
nodes as (
    select o.node,
           list_sort(coalesce(list(distinct o.outcome) filter (r.run_key = $a), [])) as a,
           list_sort(coalesce(list(distinct o.outcome) filter (r.run_key = $b), [])) as b
    from test_outcome o join reports r using (report_key) semi join both_have using (suite, env)
    group by o.node
)
select node, a, b, (select count(*) from nodes where a = b) as n_equal
from nodes where a <> b
order by node
