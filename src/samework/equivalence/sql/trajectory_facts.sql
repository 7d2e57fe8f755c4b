-- equivalence/trajectory_facts: per run, why a facet of its trajectory has no digest, at which grade it has one, and whether
--   its equality would be vacuous. Reads the temp table trajectory_form; a view, for only runs judged one by one need it.
-- Columns: run_key bigint, has_prompt_ids boolean, completion_reason, completion_grade, prompt_reason, prompt_grade,
--   text_reason, actions_reason, observations_reason text, actions_vacuous, observations_vacuous boolean.
select r.run_key,
       coalesce(bool_or(f.comparable is not null) filter (facet = 'prompt_tokens'), false) as has_prompt_ids,
       max(null_reason) filter (facet = 'completion_tokens') as completion_reason,
       max(grade) filter (facet = 'completion_tokens') as completion_grade,
       max(null_reason) filter (facet = 'prompt_tokens') as prompt_reason,
       max(grade) filter (facet = 'prompt_tokens') as prompt_grade,
       max(null_reason) filter (facet = 'text') as text_reason,
       max(null_reason) filter (facet = 'actions') as actions_reason,
       max(null_reason) filter (facet = 'observations') as observations_reason,
       coalesce(bool_or(vacuous) filter (facet = 'actions'), false) as actions_vacuous,
       coalesce(bool_or(vacuous) filter (facet = 'observations'), false) as observations_vacuous
from trajectory_form r
left join facet_digest f using (run_key)
group by r.run_key
