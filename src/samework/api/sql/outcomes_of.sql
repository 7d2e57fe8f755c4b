-- api/outcomes_of: outcomes of each test node over the reports of one run.
-- Parameters: $run_key integer. Columns: node, outcomes text[] sorted.
select o.node, list(distinct o.outcome order by o.outcome) as outcomes
from test_report t
join test_outcome o using (report_key)
where t.run_key = $run_key
group by o.node
order by o.node
