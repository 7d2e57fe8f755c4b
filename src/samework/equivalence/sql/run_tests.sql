-- equivalence/run_tests: per run, the cells that its reports belong to, as one comparable whole.
-- A run has one tree, so one cell in each group: each group comes once.
-- Reads the temp tables cell_report and cell_digest. Columns: run_key bigint, keys text (suites and environments), unnamed,
--   assumed boolean, digest text, any_complete boolean, each_ran boolean (in each group), n_executed, n_failing, n_reports,
--   n_quarantined bigint, conflicting boolean.
select r.run_key,
       array_to_string(list_sort(list(r.group_key) filter (r.group_key is not null)), '&') as keys,
       bool_or(r.group_key is null) as unnamed,
       bool_or(r.assumed) as assumed,
       array_to_string(
           list_sort(list(r.group_key || '=' || d.digest) filter (d.digest is not null)), '&'
       ) as digest,
       bool_and(d.any_complete) as any_complete,
       bool_and(d.n_executed >= 1) as each_ran, sum(d.n_executed)::bigint as n_executed, sum(d.n_failing)::bigint as n_failing,
       max(d.n_reports) as n_reports, max(d.n_quarantined) as n_quarantined, bool_or(d.conflicting) as conflicting
from (select distinct run_key, group_key, assumed, task, cell from cell_report) r
left join cell_digest d using (task, group_key, cell)
group by r.run_key
