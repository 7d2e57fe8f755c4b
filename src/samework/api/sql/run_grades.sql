-- api/run_grades: outcomes and invariants of one run.
-- Parameters: $run_key integer. Columns: kind text (outcome or invariant), name, value (JSON text or NULL).
select 'outcome' as kind, name, value from run_outcome where run_key = $run_key
union all
select 'invariant', name, cast(value as varchar) from run_invariant where run_key = $run_key
order by kind, name
