-- api/rulesets: the declared rules of the store.
-- Parameters: none. Columns: ruleset (hex id), facet, name, rules (canonical JSON).
select lower(hex(ruleset_id)) as ruleset, facet, name, rules
from ruleset
order by facet, name
