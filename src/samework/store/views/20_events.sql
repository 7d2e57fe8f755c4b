-- views/events: one row per event, digests as hex, without its text (join `bodies` on body).
-- Example: SELECT run_id, count(*) FROM events WHERE kind = 'completion' GROUP BY ALL
CREATE OR REPLACE VIEW events AS
SELECT
    r.run_id, r.task, r.arm, e.seq, e.step, e.kind,
    lower(hex(e.digest)) AS digest, lower(hex(e.prev)) AS prev, lower(hex(e.chain)) AS chain,
    lower(hex(e.action_sha256)) AS action_sha256, lower(hex(e.tokens_sha256)) AS tokens_sha256, e.n_tokens,
    lower(hex(e.prompt_sha256)) AS prompt_sha256, lower(hex(e.body)) AS body, lower(hex(e.reasoning)) AS reasoning,
    e.n_bytes, e.exit_status, e.call_seq, e.call_ordinal, e.workspace_tree, e.time, e.source_offset, e.run_key
FROM main.event AS e
JOIN main.run AS r USING (run_key)
