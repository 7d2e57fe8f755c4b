-- api/scan_places: where the given texts stand in the runs.
-- Parameters: $texts blob[]. Columns: sha256 blob, run_id text, part text, seq integer, name text, record_offset bigint.
-- part is the event's kind, reasoning, arguments (name: the tool) or patch.
with place as (
    select body as sha256, run_key, kind as part, seq, null as name, source_offset from event
    union all
    select reasoning, run_key, 'reasoning', seq, null, source_offset from event
    union all
    select c.arguments, c.run_key, 'arguments', c.seq, c.name, e.source_offset
    from call as c left join event as e using (run_key, seq)
    union all
    select body, run_key, 'patch', null, null, null from patch
)
select p.sha256, r.run_id, p.part, p.seq, p.name, p.source_offset as record_offset
from place as p join run as r using (run_key)
where p.sha256 in (select unnest($texts::blob[]))
order by r.task, r.arm, r.repeat, r.run_id, p.seq nulls last, p.part, p.name
