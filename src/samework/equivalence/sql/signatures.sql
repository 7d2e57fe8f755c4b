-- equivalence/signatures: per run, the codes of each component (-1: cannot be compared) and of the plain facets.
-- Parameters: $task text or NULL, $strict boolean. Reads the temp tables trajectory_form, tree_form, cell_report,
--   cell_digest. Columns: see model of equivalence/signatures.py; codes are dense ranks over the tasks read.
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
           sum(d.n_executed) as n_executed, sum(d.n_failing) as n_failing,
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
       case when t.tok_c is null then -1 else dense_rank() over (order by t.tok_c) end as tok_c,
       dense_rank() over (order by t.tok_c, t.tok) as tok,
       case when t.comp_c is null then -1 else dense_rank() over (order by t.comp_c) end as comp_c,
       dense_rank() over (order by t.comp_c, t.comp) as comp,
       case when t.ref_c is null then -1 else dense_rank() over (order by t.ref_c) end as ref_c,
       dense_rank() over (order by t.ref_c, t.ref) as ref,
       case when f.oid_c is null then -1 else dense_rank() over (order by f.oid_c) end as oid_c,
       dense_rank() over (order by f.oid_c, f.oid) as oid,
       case when f.tcd_c is null then -1 else dense_rank() over (order by f.tcd_c) end as tcd_c,
       dense_rank() over (order by f.tcd_c, f.tcd) as tcd,
       case when f.pat_c is null then -1 else dense_rank() over (order by f.pat_c) end as pat_c,
       dense_rank() over (order by f.pat_c, f.pat) as pat,
       case when f.pata_c is null then -1 else dense_rank() over (order by f.pata_c) end as pata_c,
       dense_rank() over (order by f.pata_c, f.pata) as pata,
       case when s.keys is null or s.unnamed or s.assumed or not s.any_complete then -1
            else dense_rank() over (order by s.keys) end as tst_c,
       dense_rank() over (order by s.keys, s.digest) as tst,
       case when s.keys is null or s.unnamed or not s.assumed or not s.any_complete or $strict then -1
            else dense_rank() over (order by s.keys) end as tsta_c,
       dense_rank() over (order by s.keys, s.digest) as tsta,
       case when coalesce(s.n_executed, 0) >= 1 then 1 else -1 end as ran_c,
       1 as ran,
       case when t.text is null then -1 else 1 end as text_c,
       dense_rank() over (order by t.text) as text,
       case when t.actions is null then -1 else 1 end as actions_c,
       dense_rank() over (order by t.actions) as actions,
       case when t.observations is null then -1 else 1 end as observations_c,
       dense_rank() over (order by t.observations) as observations,
       case when p.patch_sha256 is null then -1 else 1 end as patch_c,
       dense_rank() over (order by p.patch_sha256) as patch,
       case when o.outcome_c is null then -1 else dense_rank() over (order by o.outcome_c) end as outcome_c,
       dense_rank() over (order by o.outcome_c, o.outcome) as outcome,
       case when i.inv_c is null then -1 else dense_rank() over (order by i.inv_c) end as invariants_c,
       dense_rank() over (order by i.inv_c, i.inv) as invariants
from runs r
join trajectory_form t using (run_key)
join tree_form f using (run_key)
left join run_tests s using (run_key)
left join outcomes o using (run_key)
left join invariants i using (run_key)
left join patches p using (run_key)
