-- equivalence/cell_digests: one digest per cell, flaky nodes of the whole group left out.
-- Parameters: $strict boolean (no quarantine). Reads the temp table `cell_report` (see cells). Columns: task text,
--   group_key text, cell text, digest text, n_reports bigint, any_complete boolean, n_executed bigint, n_failing bigint,
--   conflicting boolean, n_quarantined bigint.
-- Nodes are read only for groups in which some cell disagrees with itself; elsewhere the reports' own map digests serve.
with cells as (
    select task, group_key, cell,
           count(*) as n_reports, bool_or(complete) as any_complete, count(*) filter (complete) as n_complete,
           max(n_executed) as n_executed, max(n_failing) as n_failing,
           count(distinct map_sha256) > 1 or bool_or(has_conflict) as conflicting,
           any_value(map_sha256) as map_sha256
    from (select distinct task, group_key, cell, report_key, complete, map_sha256, n_executed, n_failing, has_conflict
          from cell_report where group_key is not null)
    group by all
),
unsettled as (
    select distinct task, group_key from cells where conflicting
),
nodes as (
    select distinct c.task, c.group_key, c.cell, c.report_key, c.complete, o.node, o.outcome
    from cell_report c
    semi join unsettled u on u.task = c.task and u.group_key = c.group_key
    join test_outcome o using (report_key)
),
sets as (
    select n.task, n.group_key, n.cell, n.node,
           list_sort(list_distinct(list(n.outcome)
               || case when count(distinct n.report_key) filter (n.complete) < any_value(c.n_complete)
                            and any_value(c.n_complete) > 0 and bool_and(n.complete)
                       then ['missing'] else [] end)) as outcomes
    from nodes n
    join cells c using (task, group_key, cell)
    group by all
),
flaky as (
    select distinct task, group_key, node from sets where len(outcomes) > 1 and not $strict
),
kept as (
    select s.* from sets s anti join flaky f using (task, group_key, node)
),
settled as (
    select task, group_key, cell,
           sha256(string_agg(
               octet_length(encode(node)) || ':' || node || '=' || array_to_string(outcomes, ','), chr(10) order by node
           )) as digest,
           count(*) filter (
               len(list_intersect(outcomes, ['passed', 'failed', 'error', 'xfailed', 'xpassed'])) > 0
               and not regexp_matches(node, '::<(collection|file|suite|package)>$')
           ) as n_executed,
           count(*) filter (len(list_intersect(outcomes, ['failed', 'error'])) > 0) as n_failing
    from kept
    group by all
),
quarantined as (
    select task, group_key, count(*) as n from flaky group by all
)
select c.task, c.group_key, c.cell,
       case when u.task is null then lower(hex(c.map_sha256)) else coalesce(s.digest, sha256('')) end as digest,
       c.n_reports, c.any_complete,
       case when u.task is null then c.n_executed else coalesce(s.n_executed, 0) end as n_executed,
       case when u.task is null then c.n_failing else coalesce(s.n_failing, 0) end as n_failing,
       c.conflicting,
       coalesce(q.n, 0) as n_quarantined
from cells c
left join unsettled u using (task, group_key)
left join settled s using (task, group_key, cell)
left join quarantined q using (task, group_key)
