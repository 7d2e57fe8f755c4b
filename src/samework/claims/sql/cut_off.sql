-- claims/cut_off: of two runs, those that were cut off in the completion at a given place: it may not be whole.
-- Parameters: $a, $b bigint (run_key), $seq bigint. Columns: run_key bigint, end_reason text.
select r.run_key, r.end_reason
from run r
join event e on e.run_key = r.run_key and e.seq = $seq and e.kind = 'completion'
where r.run_key in ($a, $b) and r.end_reason in ('timeout', 'crash', 'cancelled', 'log_truncated')
  and not exists (from event x where x.run_key = r.run_key and x.seq > $seq and x.kind <> 'end')
order by r.run_key
