-- experiment/experiment_tests: whether all tests of a placed run passed; flaky ones of its group are left out.
-- Parameters: $strict boolean: take no unrecorded suite or environment. Reads the temp tables placed_run and run_test.
--   Columns: run_key bigint, passed boolean (NULL: the report is incomplete and shows no failure, or nothing ran).
select t.run_key,
       case when t.n_failing > 0 then false when t.any_complete and t.n_executed > 0 then true end as passed
from run_test t
semi join placed_run using (run_key)
where not t.unnamed and not (t.assumed and $strict)
order by t.run_key
