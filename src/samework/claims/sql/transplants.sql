-- claims/transplants: arms whose serving state came from one of two arms and was put into the other.
-- Parameters: $a, $b text (arms). Columns: arm text, donor text, recipient text.
-- The donor: `state.donor`, or `reuse.how_made` = "transplant from ARM". The recipient: `state.recipient`, or `cache.path` =
-- "DONOR-into-RECIPIENT". An arm whose runs do not all say the same is no intervention.
with said as (
    select r.arm, r.run_key,
           max(json_extract_string(m.value, '$')) filter (m.field = 'state.donor') as donor,
           max(json_extract_string(m.value, '$')) filter (m.field = 'state.recipient') as recipient,
           max(json_extract_string(m.value, '$')) filter (m.field = 'reuse.how_made') as how_made,
           max(json_extract_string(m.value, '$')) filter (m.field = 'cache.path') as path
    from run r
    left join manifest_field m on m.run_key = r.run_key and m.value is not null
        and m.field in ('state.donor', 'state.recipient', 'reuse.how_made', 'cache.path')
    where r.arm not in ($a, $b)
    group by r.arm, r.run_key
),
moved as (
    select arm,
           coalesce(donor, case when starts_with(how_made, 'transplant from ') then substr(how_made, 17) end) as donor,
           recipient, path
    from said
),
named as (
    select arm, donor,
           coalesce(recipient, case when starts_with(path, donor || '-into-')
                                    then substr(path, length(donor) + 7) end) as recipient
    from moved
)
select arm, min(donor) as donor, min(recipient) as recipient
from named
group by arm
having count(donor) = count(*) and count(recipient) = count(*) and count(distinct donor) = 1 and count(distinct recipient) = 1
   and ((min(donor) = $a and min(recipient) = $b) or (min(donor) = $b and min(recipient) = $a))
order by arm
