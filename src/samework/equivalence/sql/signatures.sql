-- equivalence/signatures: per run, each component and plain facet as a pair (comparable, value); comparable NULL: cannot be.
-- Parameters: $task text or NULL, $strict boolean. Reads the temp tables trajectory_form, tree_form, cell_report,
--   cell_digest. Columns: those of RunSignature in equivalence/signatures.py.
with runs as (
    select run_key, run_id, task, arm, repeat, kind, complete, incomplete_reason, end_reason, has_trajectory, layout,
           n_steps, format
    from run where $task is null or task = $task
),
run_tests as (
    select r.run_key,
           string_agg(distinct r.group_key, '&' order by r.group_key) as keys,
           bool_or(r.group_key is null) as unnamed,
           bool_or(r.assumed) as assumed,
           string_agg(distinct r.group_key || '=' || d.digest, '&' order by r.group_key || '=' || d.digest) as digest,
           bool_and(d.any_complete) as any_complete,
           sum(d.n_executed)::bigint as n_executed, sum(d.n_failing)::bigint as n_failing,
           max(d.n_reports) as n_reports, max(d.n_quarantined) as n_quarantined, bool_or(d.conflicting) as conflicting
    from (select distinct run_key, group_key, assumed, task, cell from cell_report) r
    left join cell_digest d using (task, group_key, cell)
    group by r.run_key
),
outcomes as (
    select run_key,
           string_agg(name, ',' order by name) as outcome_c,
           string_agg(name || '=' || value, ',' order by name) as outcome
    from run_outcome semi join runs using (run_key)
    group by run_key
),
invariants as (
    select run_key,
           string_agg(name, ',' order by name) as inv_c,
           string_agg(name || '=' || value, ',' order by name) as inv,
           bool_or(value is null) as inv_unknown
    from run_invariant semi join runs using (run_key)
    group by run_key
),
patches as (
    select run_key, patch_sha256, status as patch_status, is_empty as patch_empty from patch semi join runs using (run_key)
)
select r.*,
       t.* exclude (run_key, tok_c, tok, comp_c, comp, ref_c, ref, text, actions, observations),
       f.tree_reason, f.patch_reason, f.tree_flags, f.oid as tree_oid,
       p.patch_status, coalesce(p.patch_empty, false) as patch_empty,
       s.keys as test_keys, coalesce(s.unnamed, false) as tests_unnamed, coalesce(s.assumed, false) as tests_assumed,
       coalesce(s.any_complete, false) as tests_complete, s.n_executed, s.n_failing, s.n_reports, s.n_quarantined,
       coalesce(s.conflicting, false) as tests_conflict,
       s.run_key is not null as has_tests,
       coalesce(i.inv_unknown, false) as invariant_unknown,
       t.tok_c, t.tok, t.comp_c, t.comp, t.ref_c, t.ref,
       f.oid_c, f.oid, f.tcd_c, f.tcd, f.pat_c, f.pat, f.pata_c, f.pata,
       case when not s.unnamed and not s.assumed and s.any_complete then s.keys end as tst_c, s.digest as tst,
       case when not s.unnamed and s.assumed and s.any_complete and not $strict then s.keys end as tsta_c,
       s.digest as tsta,
       case when s.n_executed >= 1 then true end as ran_c, true as ran,
       case when t.text is not null then true end as text_c, t.text,
       case when t.actions is not null then true end as actions_c, t.actions,
       case when t.observations is not null then true end as observations_c, t.observations,
       case when p.patch_sha256 is not null then true end as patch_c, p.patch_sha256 as patch,
       o.outcome_c, o.outcome,
       case when not i.inv_unknown then i.inv_c end as invariants_c, i.inv as invariants
from runs r
join trajectory_form t using (run_key)
join tree_form f using (run_key)
left join run_tests s using (run_key)
left join outcomes o using (run_key)
left join invariants i using (run_key)
left join patches p using (run_key)
