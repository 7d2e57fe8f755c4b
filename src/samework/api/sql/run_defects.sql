-- api/run_defects: places of a run's source that could not be read.
-- Parameters: $run_key integer. Columns: path, source_offset, code, reason.
select d.path, d.source_offset, d.code, d.reason
from defect d
where d.run_key = $run_key
order by d.path, d.source_offset
