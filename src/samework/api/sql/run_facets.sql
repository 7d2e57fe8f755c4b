-- api/run_facets: digests of one run with their rules.
-- Parameters: $run_key integer.
-- Columns: facet, ruleset (short name), has_digest, null_reason, grade, vacuous, n_parts, n_masked_bytes.
select f.facet, coalesce(r.name, '') as ruleset, f.digest is not null and f.comparable is not null as has_digest,
       f.null_reason, f.grade, f.vacuous, f.n_parts, f.n_masked_bytes
from facet_digest f
left join ruleset r using (ruleset_id)
where f.run_key = $run_key
order by f.facet
