-- equivalence/signatures: per run, each component and plain facet as a pair (comparable, value); comparable NULL: cannot be.
-- Parameters: $task text or NULL, $strict boolean. Reads the temp tables trajectory_form, tree_form, run_test. Columns:
--   run_key bigint, run_id, task, arm, kind text, tests_conflict boolean, and two a component (equivalence/components.py).
with outcomes as (
    select run_key,
           string_agg(name, ',' order by name) as outcome_c,
           string_agg(name || '=' || value, ',' order by name) as outcome
    from run_outcome
    group by run_key
),
invariants as (
    select run_key,
           string_agg(name, ',' order by name) as inv_c,
           string_agg(name || '=' || value, ',' order by name) as inv,
           bool_or(value is null) as inv_unknown
    from run_invariant
    group by run_key
)
select r.run_key, r.run_id, r.task, r.arm, r.kind, coalesce(s.conflicting, false) as tests_conflict,
       coalesce(i.inv_unknown, false) as invariant_unknown,
       t.tok_c, t.tok, t.comp_c, t.comp, t.ref_c, t.ref, t.cnt_c, t.cnt,
       f.oid_c, f.oid, f.tcd_c, f.tcd, f.oida_c, f.oida, f.pat_c, f.pat, f.pata_c, f.pata,
       case when not s.unnamed and not s.assumed and s.any_complete then s.keys end as tst_c, s.digest as tst,
       case when not s.unnamed and s.assumed and s.any_complete and not $strict then s.keys end as tsta_c,
       s.digest as tsta,
       case when s.each_ran then true end as ran_c, true as ran,
       case when t.text is not null then t.text_c end as text_c, t.text,
       case when t.actions is not null then t.actions_c end as actions_c, t.actions,
       case when t.observations is not null then t.observations_c end as observations_c, t.observations,
       case when p.patch_sha256 is not null then true end as patch_c, p.patch_sha256 as patch,
       o.outcome_c, o.outcome,
       case when not i.inv_unknown then i.inv_c end as invariants_c, i.inv as invariants
from run r
join trajectory_form t using (run_key)
join tree_form f using (run_key)
left join run_test s using (run_key)
left join outcomes o using (run_key)
left join invariants i using (run_key)
left join patch p using (run_key)
where $task is null or r.task = $task
