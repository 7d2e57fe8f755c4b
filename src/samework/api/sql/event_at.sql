-- api/event_at: the text of one event of a run, with what its tokens were.
-- Parameters: $run_key integer, $seq integer.
-- Columns: kind, text, reasoning, token_ids blob, margins blob, margin_unit; one row, none past the run's end.
select e.kind, b.text, r.text as reasoning, t.token_ids, t.margins, t.margin_unit
from event e
left join body b on b.sha256 = e.body
left join body r on r.sha256 = e.reasoning
left join token t on t.run_key = e.run_key and t.seq = e.seq
where e.run_key = $run_key and e.seq = $seq
