-- views/runs: one row per run, digests as hex.
-- Example: SELECT task, arm, count(*) FROM runs GROUP BY ALL ORDER BY ALL
CREATE OR REPLACE VIEW runs AS
SELECT
    run_id, task, arm, repeat, kind, format, layout, agent, agent_version, model, native_id, parent_native_id,
    recorder, tokenizer, started, ended, end_reason, end_detail, complete, incomplete_reason, has_trajectory,
    n_events, n_steps, n_calls, base_commit, repo,
    lower(hex(content_sha256)) AS content_sha256, lower(hex(source_sha256)) AS source_sha256, run_key
FROM main.run
