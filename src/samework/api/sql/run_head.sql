-- api/run_head: what one run is and where it came from.
-- Parameters: $run_key integer. Columns: named below, one row.
select r.layout, s.path as source, r.agent, r.agent_version, r.model, r.recorder, r.started, r.ended, r.end_detail,
       r.incomplete_reason, r.has_trajectory, r.n_events, r.base_commit, r.repo
from run r
left join source s on s.source_sha256 = r.source_sha256 and s.settings_sha256 = r.settings_sha256
where r.run_key = $run_key
