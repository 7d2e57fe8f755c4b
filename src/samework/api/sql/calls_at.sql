-- api/calls_at: tool calls of one completion, arguments in canonical form.
-- Parameters: $run_key integer, $seq integer. Columns: name, canonical.
select name, canonical
from call
where run_key = $run_key and seq = $seq
order by ordinal
