-- equivalence/signature_facts: signatures with all that a verdict's reason may need, for runs that are judged one by one.
-- Reads the temp tables signature, trajectory_form, tree_form and run_test, and the view trajectory_fact. Columns: those of RunSignature.
select s.*, r.repeat, r.format, r.layout, r.complete, r.incomplete_reason, r.end_reason, r.has_trajectory, r.n_steps,
       u.usable, u.ids_contradicted, t.has_prompt_ids, t.completion_reason, t.completion_grade, t.prompt_reason, t.prompt_grade,
       t.text_reason, t.actions_reason, t.observations_reason, t.actions_vacuous, t.observations_vacuous,
       f.tree_reason, f.tree_grade, f.patch_reason, f.patch_base, f.patch_contested, f.tree_flags, f.oid as tree_oid,
       p.status as patch_status, coalesce(p.is_empty, false) as patch_empty,
       c.keys as test_keys, coalesce(c.unnamed, false) as tests_unnamed, coalesce(c.assumed, false) as tests_assumed,
       coalesce(c.any_complete, false) as tests_complete, c.n_executed, c.n_failing, c.n_reports, c.n_quarantined,
       c.run_key is not null as has_tests
from signature s
join run r using (run_key)
join trajectory_form u using (run_key)
join trajectory_fact t using (run_key)
join tree_form f using (run_key)
left join patch p using (run_key)
left join run_test c using (run_key)
