-- forks/run_facts: what a fork's origin and consequence need to know of each run.
-- Parameters: $keys list of bigint (run_key) or NULL for all. Reads the temp table signature and the view trajectory_fact.
-- Columns: run_key bigint, run_id text, task text, arm text,
--   kind text, complete boolean, tokenizer text, damage_offset bigint, observations_cut boolean, prompt_grade text,
--   temperature text, temperature_requested text, seed text, seed_requested text (canonical JSON), then what the run
--   compares by: oid, tcd, pat, oida, pata (tree, strongest first), tst, tsta, ran (tests), actions, observations, outcome;
--   each with *_c, NULL where it cannot be compared.
with sampling as (
    select m.run_key,
           max(value) filter (field = 'sampling.temperature') as temperature,
           max(value) filter (field = 'sampling.temperature_requested') as temperature_requested,
           max(value) filter (field = 'sampling.seed') as seed,
           max(value) filter (field = 'sampling.seed_requested') as seed_requested
    from manifest_field m
    semi join signature using (run_key)
    where field in ('sampling.temperature', 'sampling.temperature_requested', 'sampling.seed', 'sampling.seed_requested')
    group by m.run_key
),
damage as (
    select run_key, min(source_offset) as damage_offset from defect where run_key is not null group by run_key
)
select s.run_key, s.run_id, s.task, s.arm, s.kind, r.complete, r.tokenizer, d.damage_offset,
       coalesce(t.observations_reason = 'recorder_truncated', false) as observations_cut, t.prompt_grade,
       p.temperature, p.temperature_requested, p.seed, p.seed_requested,
       s.oid_c, s.oid, s.tcd_c, s.tcd, s.oida_c, s.oida, s.pat_c, s.pat, s.pata_c, s.pata,
       s.tst_c, s.tst, s.tsta_c, s.tsta, s.ran_c, s.actions_c, s.actions, s.observations_c, s.observations,
       s.outcome_c, s.outcome
from signature s
join run r using (run_key)
join trajectory_fact t using (run_key)
left join sampling p using (run_key)
left join damage d using (run_key)
where $keys::bigint[] is null or list_contains($keys::bigint[], s.run_key)
