-- claims/replays: runs made in the same way as a given one of their task, by whether their tokens are the same.
-- Parameters: $run_key bigint, $fields, $values lists of text of one length (canonical JSON or n/a), $words list of text
--   (first words of the fields that must be the same), $never list of text (fields that are not compared).
-- Columns: n_same bigint (this run included; ids held for prompts and completions), n_different bigint.
-- A run that records a further field of the kind, or lacks one, was not made in the same way as far as is known.
with one as (
    select * from run where run_key = $run_key
),
counted as (
    select run_key, list(cached_tokens order by seq) as reused from call_usage group by run_key
),
wanted as (
    select unnest($fields::text[]) as field, unnest($values::text[]) as value
),
alike as (
    select r.run_key
    from run r
    join one o on r.task = o.task and r.tokenizer is not distinct from o.tokenizer and r.agent is not distinct from o.agent
        and r.agent_version is not distinct from o.agent_version and r.base_commit is not distinct from o.base_commit
    left join counted c on c.run_key = r.run_key
    left join counted d on d.run_key = o.run_key
    left join manifest_field m on m.run_key = r.run_key and (m.value is not null or m.absence = 'n/a')
        and list_contains($words::text[], split_part(replace(m.field, '_', '.'), '.', 1))
        and not ends_with(m.field, '_requested') and not list_contains($never::text[], m.field)
    left join wanted w on w.field = m.field and w.value = case when m.absence = 'n/a' then 'n/a' else m.value end
    where r.complete and r.has_trajectory and c.reused is not distinct from d.reused
    group by r.run_key
    having count(w.field) = len($fields::text[]) and count(m.field) = len($fields::text[])
),
ids as (
    select f.run_key,
           any_value(f.comparable) filter (f.facet = 'completion_tokens') as completion_c,
           any_value(f.digest) filter (f.facet = 'completion_tokens') as completion,
           any_value(f.comparable) filter (f.facet = 'prompt_tokens') as prompt_c,
           any_value(f.digest) filter (f.facet = 'prompt_tokens') as prompt,
           count(distinct f.facet) filter (f.grade = 'direct') = 2 as is_direct
    from facet_digest f
    semi join alike using (run_key)
    where f.facet in ('completion_tokens', 'prompt_tokens')
    group by f.run_key
)
select count(*) filter (x.is_direct and x.completion_c = o.completion_c and x.completion = o.completion
                        and x.prompt_c = o.prompt_c and x.prompt = o.prompt) as n_same,
       count(*) filter ((x.completion_c = o.completion_c and x.completion <> o.completion)
                        or (x.prompt_c = o.prompt_c and x.prompt <> o.prompt)) as n_different
from ids x
cross join (select * from ids where run_key = $run_key) o
