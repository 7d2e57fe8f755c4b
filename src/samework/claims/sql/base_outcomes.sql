-- claims/base_outcomes: whether the tests of two runs come out otherwise than those of the tree that they started from.
-- Parameters: $a, $b bigint (run_key). Columns: n_telling bigint (tests with no outcome in common), n_common bigint (tests
--   with outcomes on both sides), is_whole boolean (every report that is compared is complete; NULL: none is compared).
-- Only reports of one suite in one environment are compared. A run that left the base tree is the base's witness: its
-- tree is the pair's base tree, or it changed nothing from the pair's base commit.
with pair as (
    select r.run_key, r.task, t.base_oid, t.object_format, coalesce(t.base_commit, p.base_commit, r.base_commit) as base_commit
    from run r
    left join run_tree t using (run_key)
    left join patch p using (run_key)
    where r.run_key in ($a, $b)
),
witness as (
    select distinct x.run_key
    from run x
    left join run_tree t using (run_key)
    left join patch p using (run_key)
    join pair o on (t.oid = o.base_oid and t.object_format = o.object_format)
        or (x.task = o.task and coalesce(t.base_commit, p.base_commit, x.base_commit) = o.base_commit
            and (list_contains(try_cast(t.flags as text[]), 'no_work') or (t.oid is null and p.status = 'empty')))
),
reports as (
    select 'work' as side, t.report_key, t.suite, t.env, t.complete
    from test_report t join pair using (run_key)
    where t.suite is not null and t.env is not null
    union all
    select 'base', t.report_key, t.suite, t.env, t.complete
    from test_report t semi join witness using (run_key)
    where t.suite is not null and t.env is not null
),
shared as (
    select suite, env, bool_and(complete) as is_whole,
           bool_or(complete) filter (side = 'base') as has_base, bool_or(complete) filter (side = 'work') as has_work
    from reports
    group by suite, env
    having count(distinct side) = 2
),
nodes as (
    select s.suite, s.env, o.node,
           list(distinct o.outcome) filter (r.side = 'base') as base, list(distinct o.outcome) filter (r.side = 'work') as work,
           any_value(s.has_base) as has_base, any_value(s.has_work) as has_work
    from shared s
    join reports r using (suite, env)
    join test_outcome o using (report_key)
    group by all
),
known as (
    select coalesce(base, case when has_base then ['missing'] end) as base,
           coalesce(work, case when has_work then ['missing'] end) as work
    from nodes
)
select count(*) filter (not list_has_any(base, work)) as n_telling, count(*) filter (base is not null and work is not null) as n_common,
       (select bool_and(is_whole) from shared) as is_whole
from known
