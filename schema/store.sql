-- Schema of store.duckdb, version 3. Written by `make schema`; never read at run time.

CREATE TABLE "meta" (
    "key" VARCHAR NOT NULL,
    "value" VARCHAR NOT NULL,
    PRIMARY KEY ("key")
);
COMMENT ON TABLE "meta" IS 'Facts of the store itself: application id, schema version, program that made it.';
COMMENT ON COLUMN "meta"."key" IS 'Name of the fact.';
COMMENT ON COLUMN "meta"."value" IS 'Its value as text.';

CREATE TABLE "source" (
    "source_sha256" BLOB NOT NULL USING COMPRESSION uncompressed,
    "settings_sha256" BLOB NOT NULL USING COMPRESSION uncompressed,
    "path" VARCHAR NOT NULL,
    "format" VARCHAR NOT NULL,
    "n_bytes" BIGINT NOT NULL,
    "status" VARCHAR NOT NULL,
    "reason" VARCHAR,
    "n_runs" BIGINT NOT NULL,
    "n_events" BIGINT NOT NULL,
    "batch" BIGINT NOT NULL,
    "settings" VARCHAR NOT NULL,
    PRIMARY KEY ("source_sha256", "settings_sha256")
);
COMMENT ON TABLE "source" IS 'One ingested source; its bytes lie in `sources/` by sha256.';
COMMENT ON COLUMN "source"."source_sha256" IS 'sha256 of the source''s bytes (of a directory: of its manifest of files).';
COMMENT ON COLUMN "source"."settings_sha256" IS 'sha256 of the task, arm, repeat, suite and env that the user gave.';
COMMENT ON COLUMN "source"."path" IS 'Where it was read from, for display only.';
COMMENT ON COLUMN "source"."format" IS 'Reader that read it.';
COMMENT ON COLUMN "source"."n_bytes" IS 'Length, bytes.';
COMMENT ON COLUMN "source"."status" IS 'ingested or refused.';
COMMENT ON COLUMN "source"."reason" IS 'Why it was refused; NULL where it was not.';
COMMENT ON COLUMN "source"."n_runs" IS 'Runs that it added.';
COMMENT ON COLUMN "source"."n_events" IS 'Events that it added.';
COMMENT ON COLUMN "source"."batch" IS 'Ingest batch (one transaction) that wrote it.';
COMMENT ON COLUMN "source"."settings" IS 'The settings as canonical JSON.';

CREATE TABLE "run" (
    "run_key" BIGINT NOT NULL,
    "run_id" VARCHAR NOT NULL,
    "task" VARCHAR NOT NULL,
    "arm" VARCHAR NOT NULL,
    "repeat" VARCHAR NOT NULL,
    "kind" VARCHAR NOT NULL,
    "format" VARCHAR NOT NULL,
    "layout" VARCHAR NOT NULL,
    "agent" VARCHAR,
    "agent_version" VARCHAR,
    "model" VARCHAR,
    "native_id" VARCHAR,
    "parent_native_id" VARCHAR,
    "recorder" VARCHAR,
    "tokenizer" VARCHAR,
    "started" VARCHAR,
    "ended" VARCHAR,
    "end_reason" VARCHAR NOT NULL,
    "end_detail" VARCHAR,
    "complete" BOOLEAN NOT NULL,
    "incomplete_reason" VARCHAR,
    "has_trajectory" BOOLEAN NOT NULL,
    "n_events" BIGINT NOT NULL,
    "n_steps" BIGINT NOT NULL,
    "n_calls" BIGINT NOT NULL,
    "base_commit" VARCHAR,
    "repo" VARCHAR,
    "content_sha256" BLOB NOT NULL USING COMPRESSION uncompressed,
    "source_sha256" BLOB NOT NULL USING COMPRESSION uncompressed,
    "settings_sha256" BLOB NOT NULL USING COMPRESSION uncompressed,
    "last_chain" BLOB USING COMPRESSION uncompressed,
    "extra" VARCHAR,
    PRIMARY KEY ("run_key")
);
COMMENT ON TABLE "run" IS 'One attempt at a task.';
COMMENT ON COLUMN "run"."run_key" IS 'Small number of the run inside this store.';
COMMENT ON COLUMN "run"."run_id" IS 'Identity: 16 hex digits of sha256(task, arm, repeat, content), or the bundle''s own id.';
COMMENT ON COLUMN "run"."task" IS 'What was to be done.';
COMMENT ON COLUMN "run"."arm" IS 'Condition the run was made under.';
COMMENT ON COLUMN "run"."repeat" IS 'Ordinal within task and arm.';
COMMENT ON COLUMN "run"."kind" IS 'coding, tool-use or text.';
COMMENT ON COLUMN "run"."format" IS 'Reader that gave the trajectory, or the artifacts where there is none.';
COMMENT ON COLUMN "run"."layout" IS 'Family of sources whose tasks and environments mean the same.';
COMMENT ON COLUMN "run"."agent" IS 'Agent; NULL: unrecorded.';
COMMENT ON COLUMN "run"."agent_version" IS 'Version of the agent; NULL: unrecorded.';
COMMENT ON COLUMN "run"."model" IS 'Model as recorded; NULL: unrecorded.';
COMMENT ON COLUMN "run"."native_id" IS 'The tool''s own id of the run; NULL: none.';
COMMENT ON COLUMN "run"."parent_native_id" IS 'The tool''s own id of the parent run; NULL: none.';
COMMENT ON COLUMN "run"."recorder" IS 'Program and version that wrote the record; NULL: unrecorded.';
COMMENT ON COLUMN "run"."tokenizer" IS 'Digest of the tokenizer; NULL: unrecorded.';
COMMENT ON COLUMN "run"."started" IS 'Start as recorded; NULL: unrecorded.';
COMMENT ON COLUMN "run"."ended" IS 'End as recorded; NULL: unrecorded.';
COMMENT ON COLUMN "run"."end_reason" IS 'finished, limit, error, timeout, crash, cancelled, log_truncated or unrecorded.';
COMMENT ON COLUMN "run"."end_detail" IS 'The source''s own word for it; NULL: none.';
COMMENT ON COLUMN "run"."complete" IS 'False where a damaged record or a cut makes the record incomplete.';
COMMENT ON COLUMN "run"."incomplete_reason" IS 'Why it is incomplete; NULL where it is complete.';
COMMENT ON COLUMN "run"."has_trajectory" IS 'False for a run known only by its artifacts.';
COMMENT ON COLUMN "run"."n_events" IS 'Events.';
COMMENT ON COLUMN "run"."n_steps" IS 'Completions.';
COMMENT ON COLUMN "run"."n_calls" IS 'Tool calls.';
COMMENT ON COLUMN "run"."base_commit" IS 'Commit the task starts from, hex; NULL: unrecorded.';
COMMENT ON COLUMN "run"."repo" IS 'Repository as recorded; NULL: unrecorded.';
COMMENT ON COLUMN "run"."content_sha256" IS 'Identity of the run''s content.';
COMMENT ON COLUMN "run"."source_sha256" IS 'Source it came from.';
COMMENT ON COLUMN "run"."settings_sha256" IS 'Settings of that source.';
COMMENT ON COLUMN "run"."last_chain" IS 'Chain after the last event; NULL: no trajectory.';
COMMENT ON COLUMN "run"."extra" IS 'Unknown keys of the source, JSON; NULL: none.';

CREATE TABLE "event" (
    "run_key" BIGINT NOT NULL,
    "seq" BIGINT NOT NULL,
    "step" BIGINT NOT NULL,
    "kind" VARCHAR NOT NULL,
    "digest" BLOB NOT NULL USING COMPRESSION uncompressed,
    "prev" BLOB USING COMPRESSION uncompressed,
    "chain" BLOB NOT NULL USING COMPRESSION uncompressed,
    "action_sha256" BLOB USING COMPRESSION uncompressed,
    "tokens_sha256" BLOB USING COMPRESSION uncompressed,
    "n_tokens" BIGINT,
    "prompt_sha256" BLOB USING COMPRESSION uncompressed,
    "body" BLOB USING COMPRESSION uncompressed,
    "reasoning" BLOB USING COMPRESSION uncompressed,
    "n_bytes" BIGINT NOT NULL,
    "exit_status" BIGINT,
    "call_seq" BIGINT,
    "call_ordinal" BIGINT,
    "workspace_tree" VARCHAR,
    "time" VARCHAR,
    "source_offset" BIGINT
);
COMMENT ON TABLE "event" IS 'One event of a trajectory: digests and small facts, no bodies of text.';
COMMENT ON COLUMN "event"."run_key" IS 'Run.';
COMMENT ON COLUMN "event"."seq" IS 'Ordinal in the run, from 0.';
COMMENT ON COLUMN "event"."step" IS 'Completions up to and including this event; 0 before the first.';
COMMENT ON COLUMN "event"."kind" IS 'system, tools, user, context_edit, completion, observation or end.';
COMMENT ON COLUMN "event"."digest" IS 'sha256 of the canonical, masked event.';
COMMENT ON COLUMN "event"."prev" IS 'Chain before this event; NULL at the first.';
COMMENT ON COLUMN "event"."chain" IS 'sha256(prev, kind, digest): equal chains are equal prefixes.';
COMMENT ON COLUMN "event"."action_sha256" IS 'Digest of the turn''s canonical calls; NULL where it has none.';
COMMENT ON COLUMN "event"."tokens_sha256" IS 'Digest of the completion''s token ids; NULL: unrecorded.';
COMMENT ON COLUMN "event"."n_tokens" IS 'Completion tokens; NULL: unrecorded.';
COMMENT ON COLUMN "event"."prompt_sha256" IS 'Digest of the prompt''s token ids; NULL: unrecorded.';
COMMENT ON COLUMN "event"."body" IS 'Key of the text in `body`; NULL: no text.';
COMMENT ON COLUMN "event"."reasoning" IS 'Key of the reasoning in `body`; NULL: none recorded.';
COMMENT ON COLUMN "event"."n_bytes" IS 'Length of the text, bytes of UTF-8.';
COMMENT ON COLUMN "event"."exit_status" IS 'Exit status of the observed call; NULL: unrecorded.';
COMMENT ON COLUMN "event"."call_seq" IS 'seq of the completion whose call an observation answers; NULL: not linked.';
COMMENT ON COLUMN "event"."call_ordinal" IS 'Ordinal of that call in its completion; NULL: not linked.';
COMMENT ON COLUMN "event"."workspace_tree" IS 'Tree oid of the workspace before the event, hex; NULL: unrecorded.';
COMMENT ON COLUMN "event"."time" IS 'Time as recorded; NULL: unrecorded.';
COMMENT ON COLUMN "event"."source_offset" IS 'Byte offset of the record in its source; NULL: unknown.';

CREATE TABLE "body" (
    "sha256" BLOB NOT NULL USING COMPRESSION uncompressed,
    "text" VARCHAR NOT NULL USING COMPRESSION zstd
);
COMMENT ON TABLE "body" IS 'Bodies of text by content.';
COMMENT ON COLUMN "body"."sha256" IS 'sha256 of the text''s raw bytes.';
COMMENT ON COLUMN "body"."text" IS 'The text; lone surrogates shown as U+FFFD (raw bytes stay in `sources/`).';

CREATE TABLE "call" (
    "run_key" BIGINT NOT NULL,
    "seq" BIGINT NOT NULL,
    "ordinal" BIGINT NOT NULL,
    "name" VARCHAR NOT NULL,
    "call_id" VARCHAR,
    "arguments" BLOB NOT NULL USING COMPRESSION uncompressed,
    "canonical" VARCHAR NOT NULL,
    "canonical_sha256" BLOB NOT NULL USING COMPRESSION uncompressed,
    "exact" BOOLEAN NOT NULL,
    "observed" BOOLEAN NOT NULL
);
COMMENT ON TABLE "call" IS 'One tool call.';
COMMENT ON COLUMN "call"."run_key" IS 'Run.';
COMMENT ON COLUMN "call"."seq" IS 'seq of the completion.';
COMMENT ON COLUMN "call"."ordinal" IS 'Ordinal in its completion, from 0.';
COMMENT ON COLUMN "call"."name" IS 'Tool name.';
COMMENT ON COLUMN "call"."call_id" IS 'Provider''s id, never identity; NULL: none.';
COMMENT ON COLUMN "call"."arguments" IS 'Key in `body` of the argument text as recorded.';
COMMENT ON COLUMN "call"."canonical" IS 'Canonical, masked arguments (RFC 8785), or `raw:` and the text; cut to 4096 characters.';
COMMENT ON COLUMN "call"."canonical_sha256" IS 'sha256 of the whole canonical form with the tool''s name.';
COMMENT ON COLUMN "call"."exact" IS 'True where the argument text is byte for byte the model''s.';
COMMENT ON COLUMN "call"."observed" IS 'True where a result was recorded.';

CREATE TABLE "call_usage" (
    "run_key" BIGINT NOT NULL,
    "seq" BIGINT NOT NULL,
    "prompt_tokens" BIGINT,
    "cached_tokens" BIGINT,
    "cache_write_tokens" BIGINT,
    "completion_tokens" BIGINT,
    "reasoning_tokens" BIGINT,
    "source" VARCHAR NOT NULL
);
COMMENT ON TABLE "call_usage" IS 'Token counts that a server reported for one model call. NULL is unrecorded, never zero.';
COMMENT ON COLUMN "call_usage"."run_key" IS 'Run.';
COMMENT ON COLUMN "call_usage"."seq" IS 'seq of the completion.';
COMMENT ON COLUMN "call_usage"."prompt_tokens" IS 'Prompt tokens, cached ones included.';
COMMENT ON COLUMN "call_usage"."cached_tokens" IS 'Of these, reused from a cache.';
COMMENT ON COLUMN "call_usage"."cache_write_tokens" IS 'Written to a cache.';
COMMENT ON COLUMN "call_usage"."completion_tokens" IS 'Completion tokens, reasoning included.';
COMMENT ON COLUMN "call_usage"."reasoning_tokens" IS 'Of these, reasoning.';
COMMENT ON COLUMN "call_usage"."source" IS 'response, metrics_delta, log, timing.';

CREATE TABLE "token" (
    "run_key" BIGINT NOT NULL,
    "seq" BIGINT NOT NULL,
    "token_ids" BLOB USING COMPRESSION uncompressed,
    "margins" BLOB USING COMPRESSION uncompressed,
    "margin_unit" VARCHAR
);
COMMENT ON TABLE "token" IS 'Token ids and margins of a completion, kept apart from the hot tables.';
COMMENT ON COLUMN "token"."run_key" IS 'Run.';
COMMENT ON COLUMN "token"."seq" IS 'seq of the completion.';
COMMENT ON COLUMN "token"."token_ids" IS 'Completion ids, int32 little-endian; NULL: unrecorded.';
COMMENT ON COLUMN "token"."margins" IS 'Top-1 minus top-2 per token, float64 little-endian; NULL: unrecorded.';
COMMENT ON COLUMN "token"."margin_unit" IS 'nats or logits; NULL where margins are.';

CREATE TABLE "token_rank" (
    "run_key" BIGINT NOT NULL,
    "seq" BIGINT NOT NULL,
    "ids" BLOB USING COMPRESSION uncompressed,
    "texts" VARCHAR
);
COMMENT ON TABLE "token_rank" IS 'The two most likely tokens at each place of a completion, where the source ranks them.';
COMMENT ON COLUMN "token_rank"."run_key" IS 'Run.';
COMMENT ON COLUMN "token_rank"."seq" IS 'seq of the completion.';
COMMENT ON COLUMN "token_rank"."ids" IS 'Pairs of ids, likeliest first, int32 little-endian, -1: unrecorded; NULL: none.';
COMMENT ON COLUMN "token_rank"."texts" IS 'JSON: per token of the prose its text and the two likeliest texts, or null; NULL: none.';

CREATE TABLE "facet_digest" (
    "run_key" BIGINT NOT NULL,
    "facet" VARCHAR NOT NULL,
    "ruleset_id" BLOB NOT NULL USING COMPRESSION uncompressed,
    "digest" BLOB USING COMPRESSION uncompressed,
    "comparable" BLOB USING COMPRESSION uncompressed,
    "null_reason" VARCHAR,
    "grade" VARCHAR NOT NULL,
    "vacuous" BOOLEAN NOT NULL,
    "n_parts" BIGINT NOT NULL,
    "n_masked_bytes" BIGINT NOT NULL
);
COMMENT ON TABLE "facet_digest" IS 'One canonical digest of one facet of one run.';
COMMENT ON COLUMN "facet_digest"."run_key" IS 'Run.';
COMMENT ON COLUMN "facet_digest"."facet" IS 'completion_tokens, prompt_tokens, text, prose, refuter, counts, raw_text, actions, observations.';
COMMENT ON COLUMN "facet_digest"."ruleset_id" IS 'Declared rules under which it was made.';
COMMENT ON COLUMN "facet_digest"."digest" IS 'The digest; NULL: no evidence.';
COMMENT ON COLUMN "facet_digest"."comparable" IS 'Runs are comparable on this facet iff this is equal and not NULL.';
COMMENT ON COLUMN "facet_digest"."null_reason" IS 'Why the digest is NULL.';
COMMENT ON COLUMN "facet_digest"."grade" IS 'Evidence grade.';
COMMENT ON COLUMN "facet_digest"."vacuous" IS 'True where equality would be agreement about nothing.';
COMMENT ON COLUMN "facet_digest"."n_parts" IS 'Parts digested: calls, completions, observations.';
COMMENT ON COLUMN "facet_digest"."n_masked_bytes" IS 'Bytes replaced by masks.';

CREATE TABLE "ruleset" (
    "ruleset_id" BLOB NOT NULL USING COMPRESSION uncompressed,
    "facet" VARCHAR NOT NULL,
    "name" VARCHAR NOT NULL,
    "rules" VARCHAR NOT NULL,
    PRIMARY KEY ("ruleset_id")
);
COMMENT ON TABLE "ruleset" IS 'Declared rules, stored whole.';
COMMENT ON COLUMN "ruleset"."ruleset_id" IS 'sha256 of the rules'' canonical JSON.';
COMMENT ON COLUMN "ruleset"."facet" IS 'Facet that they are for.';
COMMENT ON COLUMN "ruleset"."name" IS 'Short name.';
COMMENT ON COLUMN "ruleset"."rules" IS 'The rules, canonical JSON.';

CREATE TABLE "run_tree" (
    "run_key" BIGINT NOT NULL,
    "oid" VARCHAR,
    "object_format" VARCHAR,
    "tcd" BLOB USING COMPRESSION uncompressed,
    "base_oid" VARCHAR,
    "base_commit" VARCHAR,
    "policy" VARCHAR NOT NULL,
    "scope" VARCHAR NOT NULL,
    "grade" VARCHAR NOT NULL,
    "null_reason" VARCHAR,
    "n_files" BIGINT,
    "n_ignored" BIGINT,
    "ignored_sha256" BLOB USING COMPRESSION uncompressed,
    "flags" VARCHAR NOT NULL,
    PRIMARY KEY ("run_key")
);
COMMENT ON TABLE "run_tree" IS 'The tree a run left.';
COMMENT ON COLUMN "run_tree"."run_key" IS 'Run.';
COMMENT ON COLUMN "run_tree"."oid" IS 'Git tree oid, hex; NULL: not computed.';
COMMENT ON COLUMN "run_tree"."object_format" IS 'sha1 or sha256; NULL without oid.';
COMMENT ON COLUMN "run_tree"."tcd" IS 'Tree content digest: sha256 over sorted (mode, path, sha256(blob)); NULL: blobs not held.';
COMMENT ON COLUMN "run_tree"."base_oid" IS 'Tree oid of the base; NULL: unknown.';
COMMENT ON COLUMN "run_tree"."base_commit" IS 'Base commit, hex; NULL: unknown.';
COMMENT ON COLUMN "run_tree"."policy" IS 'worktree, commit, patch or asserted: how the tree was taken.';
COMMENT ON COLUMN "run_tree"."scope" IS 'Declared ignore globs, joined by newline.';
COMMENT ON COLUMN "run_tree"."grade" IS 'direct, derived or asserted; none where oid and tcd are NULL.';
COMMENT ON COLUMN "run_tree"."null_reason" IS 'Why there is no tree, with Git''s own words.';
COMMENT ON COLUMN "run_tree"."n_files" IS 'Files in the tree; NULL: unknown.';
COMMENT ON COLUMN "run_tree"."n_ignored" IS 'Ignored files left out; NULL: unknown.';
COMMENT ON COLUMN "run_tree"."ignored_sha256" IS 'Digest of the ignored paths; NULL: unknown.';
COMMENT ON COLUMN "run_tree"."flags" IS 'Findings as a JSON list of slugs (ignore_rules_changed, base_differs, no_work ...).';

CREATE TABLE "patch" (
    "run_key" BIGINT NOT NULL,
    "body" BLOB USING COMPRESSION uncompressed,
    "patch_sha256" BLOB USING COMPRESSION uncompressed,
    "is_empty" BOOLEAN NOT NULL,
    "base_commit" VARCHAR,
    "status" VARCHAR NOT NULL,
    "reason" VARCHAR,
    "repairs" VARCHAR NOT NULL,
    "n_paths" BIGINT NOT NULL,
    "min_id_digits" BIGINT,
    "grade" VARCHAR NOT NULL,
    PRIMARY KEY ("run_key")
);
COMMENT ON TABLE "patch" IS 'The patch a run submitted.';
COMMENT ON COLUMN "patch"."run_key" IS 'Run.';
COMMENT ON COLUMN "patch"."body" IS 'Key of the patch in `body`; NULL: none recorded.';
COMMENT ON COLUMN "patch"."patch_sha256" IS 'sha256 of its bytes after the declared repairs; NULL: none recorded.';
COMMENT ON COLUMN "patch"."is_empty" IS 'True for a recorded, empty patch.';
COMMENT ON COLUMN "patch"."base_commit" IS 'Commit it applies to, hex; NULL: unrecorded.';
COMMENT ON COLUMN "patch"."status" IS 'parsed, empty, absent, damaged or no_ids.';
COMMENT ON COLUMN "patch"."reason" IS 'Why it cannot stand for a tree; NULL where it can.';
COMMENT ON COLUMN "patch"."repairs" IS 'Repairs made before parsing, JSON list of slugs.';
COMMENT ON COLUMN "patch"."n_paths" IS 'Paths it changes.';
COMMENT ON COLUMN "patch"."min_id_digits" IS 'Shortest blob id in it, hex digits; NULL: no ids.';
COMMENT ON COLUMN "patch"."grade" IS 'Evidence grade.';

CREATE TABLE "patch_path" (
    "run_key" BIGINT NOT NULL,
    "path" VARCHAR NOT NULL,
    "mode" VARCHAR,
    "blob_id" VARCHAR,
    "change" VARCHAR NOT NULL
);
COMMENT ON TABLE "patch_path" IS 'One path that a patch changes, with its post-image.';
COMMENT ON COLUMN "patch_path"."run_key" IS 'Run.';
COMMENT ON COLUMN "patch_path"."path" IS 'Path after the change (before it, for a deletion); bytes shown as UTF-8, others escaped.';
COMMENT ON COLUMN "patch_path"."mode" IS 'Mode after the change, octal; NULL: deleted, or unchanged and not stated.';
COMMENT ON COLUMN "patch_path"."blob_id" IS 'Post-image blob id as written, maybe abbreviated; NULL: deleted or mode only.';
COMMENT ON COLUMN "patch_path"."change" IS 'add, modify, delete, mode.';

CREATE TABLE "patch_edit" (
    "run_key" BIGINT NOT NULL,
    "path" VARCHAR NOT NULL,
    "before_id" VARCHAR,
    "change_sha256" BLOB USING COMPRESSION uncompressed
);
COMMENT ON TABLE "patch_edit" IS 'What a patch says of the content of a path besides its post-image, against which the ids are held.';
COMMENT ON COLUMN "patch_edit"."run_key" IS 'Run.';
COMMENT ON COLUMN "patch_edit"."path" IS 'Path, as in `patch_path`.';
COMMENT ON COLUMN "patch_edit"."before_id" IS 'Blob id from which the change starts, as written; NULL: new, or none stated.';
COMMENT ON COLUMN "patch_edit"."change_sha256" IS 'Digest of the changed lines and their places; NULL: not stated.';

CREATE TABLE "test_report" (
    "report_key" BIGINT NOT NULL,
    "run_key" BIGINT NOT NULL,
    "report_sha256" BLOB NOT NULL USING COMPRESSION uncompressed,
    "format" VARCHAR NOT NULL,
    "suite" VARCHAR,
    "env" VARCHAR,
    "layout" VARCHAR NOT NULL,
    "runner" VARCHAR,
    "exit_code" BIGINT,
    "complete" BOOLEAN NOT NULL,
    "incomplete_reason" VARCHAR,
    "n_nodes" BIGINT NOT NULL,
    "n_executed" BIGINT NOT NULL,
    "n_failing" BIGINT NOT NULL,
    "has_conflict" BOOLEAN NOT NULL,
    "map_sha256" BLOB NOT NULL USING COMPRESSION uncompressed,
    "findings" VARCHAR NOT NULL,
    PRIMARY KEY ("report_key")
);
COMMENT ON TABLE "test_report" IS 'One test report of one run; outcomes belong to the cell (tree, suite, env).';
COMMENT ON COLUMN "test_report"."report_key" IS 'Small number of the report inside this store.';
COMMENT ON COLUMN "test_report"."run_key" IS 'Run whose tree was tested.';
COMMENT ON COLUMN "test_report"."report_sha256" IS 'Identity of the report''s content.';
COMMENT ON COLUMN "test_report"."format" IS 'Reader that read it.';
COMMENT ON COLUMN "test_report"."suite" IS 'Suite: name or digest; NULL: unrecorded.';
COMMENT ON COLUMN "test_report"."env" IS 'Environment: name or digest; NULL: unrecorded.';
COMMENT ON COLUMN "test_report"."layout" IS 'Layout it was found in; stands for an unrecorded environment where assumed.';
COMMENT ON COLUMN "test_report"."runner" IS 'Test runner and version; NULL: unrecorded.';
COMMENT ON COLUMN "test_report"."exit_code" IS 'Exit code of the runner; NULL: unrecorded.';
COMMENT ON COLUMN "test_report"."complete" IS 'True where an absent node means missing.';
COMMENT ON COLUMN "test_report"."incomplete_reason" IS 'Why it is not complete.';
COMMENT ON COLUMN "test_report"."n_nodes" IS 'Distinct nodes.';
COMMENT ON COLUMN "test_report"."n_executed" IS 'Nodes that really ran.';
COMMENT ON COLUMN "test_report"."n_failing" IS 'Nodes failed or in error.';
COMMENT ON COLUMN "test_report"."has_conflict" IS 'True where one node has two outcomes in this report.';
COMMENT ON COLUMN "test_report"."map_sha256" IS 'Digest of the sorted (node, outcome) pairs.';
COMMENT ON COLUMN "test_report"."findings" IS 'Oddities of the report, JSON list of sentences.';

CREATE TABLE "test_outcome" (
    "report_key" BIGINT NOT NULL,
    "node" VARCHAR NOT NULL,
    "outcome" VARCHAR NOT NULL
);
COMMENT ON TABLE "test_outcome" IS 'One outcome of one node in one report.';
COMMENT ON COLUMN "test_outcome"."report_key" IS 'Report.';
COMMENT ON COLUMN "test_outcome"."node" IS 'Test id; `path::<collection>` for a collector.';
COMMENT ON COLUMN "test_outcome"."outcome" IS 'passed, failed, error, skipped, xfailed or xpassed.';

CREATE TABLE "run_outcome" (
    "run_key" BIGINT NOT NULL,
    "name" VARCHAR NOT NULL,
    "value" VARCHAR NOT NULL,
    PRIMARY KEY ("run_key", "name")
);
COMMENT ON TABLE "run_outcome" IS 'A grader''s recorded verdict or score of a run (facet outcome).';
COMMENT ON COLUMN "run_outcome"."run_key" IS 'Run.';
COMMENT ON COLUMN "run_outcome"."name" IS 'resolved, reward ...';
COMMENT ON COLUMN "run_outcome"."value" IS 'The value as canonical JSON.';

CREATE TABLE "run_invariant" (
    "run_key" BIGINT NOT NULL,
    "name" VARCHAR NOT NULL,
    "value" BOOLEAN,
    PRIMARY KEY ("run_key", "name")
);
COMMENT ON TABLE "run_invariant" IS 'A declared predicate and its result for a run.';
COMMENT ON COLUMN "run_invariant"."run_key" IS 'Run.';
COMMENT ON COLUMN "run_invariant"."name" IS 'Predicate.';
COMMENT ON COLUMN "run_invariant"."value" IS 'Result; NULL: unknown.';

CREATE TABLE "manifest_field" (
    "run_key" BIGINT NOT NULL,
    "field" VARCHAR NOT NULL,
    "value" VARCHAR,
    "source" VARCHAR,
    "absence" VARCHAR,
    "origin" VARCHAR
);
COMMENT ON TABLE "manifest_field" IS 'One field of a run''s manifest.';
COMMENT ON COLUMN "manifest_field"."run_key" IS 'Run.';
COMMENT ON COLUMN "manifest_field"."field" IS 'Dotted name.';
COMMENT ON COLUMN "manifest_field"."value" IS 'Canonical JSON; NULL: absent.';
COMMENT ON COLUMN "manifest_field"."source" IS 'measured, declared or defaulted; NULL where absent.';
COMMENT ON COLUMN "manifest_field"."absence" IS 'unrecorded, redacted, unobservable or n/a; NULL where present.';
COMMENT ON COLUMN "manifest_field"."origin" IS 'Where the value was read, in words; NULL: not said.';

CREATE TABLE "defect" (
    "defect_key" BIGINT NOT NULL,
    "source_sha256" BLOB NOT NULL USING COMPRESSION uncompressed,
    "settings_sha256" BLOB NOT NULL USING COMPRESSION uncompressed,
    "run_key" BIGINT,
    "path" VARCHAR NOT NULL,
    "source_offset" BIGINT NOT NULL,
    "n_bytes" BIGINT NOT NULL,
    "code" VARCHAR NOT NULL,
    "reason" VARCHAR NOT NULL,
    PRIMARY KEY ("defect_key")
);
COMMENT ON TABLE "defect" IS 'A byte range of a source that could not be read, or a finding about it.';
COMMENT ON COLUMN "defect"."defect_key" IS 'Ordinal inside this store.';
COMMENT ON COLUMN "defect"."source_sha256" IS 'Source.';
COMMENT ON COLUMN "defect"."settings_sha256" IS 'Settings of the source.';
COMMENT ON COLUMN "defect"."run_key" IS 'Run that it taints; NULL: none.';
COMMENT ON COLUMN "defect"."path" IS 'File, for display.';
COMMENT ON COLUMN "defect"."source_offset" IS 'Byte offset.';
COMMENT ON COLUMN "defect"."n_bytes" IS 'Length, bytes; 0: unknown.';
COMMENT ON COLUMN "defect"."code" IS 'Slug.';
COMMENT ON COLUMN "defect"."reason" IS 'Sentence.';

CREATE TABLE "ingest_ledger" (
    "batch" BIGINT NOT NULL,
    "table_name" VARCHAR NOT NULL,
    "n_rows" BIGINT NOT NULL,
    "rows_digest" BLOB NOT NULL USING COMPRESSION uncompressed,
    "written" VARCHAR NOT NULL,
    PRIMARY KEY ("batch", "table_name")
);
COMMENT ON TABLE "ingest_ledger" IS 'What one batch wrote to one table, with a digest that `verify` recomputes.';
COMMENT ON COLUMN "ingest_ledger"."batch" IS 'Batch: one transaction.';
COMMENT ON COLUMN "ingest_ledger"."table_name" IS 'Table.';
COMMENT ON COLUMN "ingest_ledger"."n_rows" IS 'Rows written.';
COMMENT ON COLUMN "ingest_ledger"."rows_digest" IS 'Sum (order-free) of the rows'' hashes; see store/ledger.';
COMMENT ON COLUMN "ingest_ledger"."written" IS 'UTC time of the batch.';

CREATE TABLE "review" (
    "review_key" BIGINT NOT NULL,
    "run_a" VARCHAR NOT NULL,
    "run_b" VARCHAR NOT NULL,
    "reviewer" VARCHAR NOT NULL,
    "blind" BOOLEAN NOT NULL,
    "judgement" VARCHAR NOT NULL,
    "reason" VARCHAR NOT NULL,
    "written" VARCHAR NOT NULL,
    "supersedes" BIGINT,
    PRIMARY KEY ("review_key")
);
COMMENT ON TABLE "review" IS 'A reviewer''s judgement of a pair; append-only.';
COMMENT ON COLUMN "review"."review_key" IS 'Ordinal.';
COMMENT ON COLUMN "review"."run_a" IS 'run_id of one run, the smaller.';
COMMENT ON COLUMN "review"."run_b" IS 'run_id of the other.';
COMMENT ON COLUMN "review"."reviewer" IS 'Who.';
COMMENT ON COLUMN "review"."blind" IS 'True where the arms were hidden.';
COMMENT ON COLUMN "review"."judgement" IS 'matters, no-matter or unsure.';
COMMENT ON COLUMN "review"."reason" IS 'Why.';
COMMENT ON COLUMN "review"."written" IS 'UTC time.';
COMMENT ON COLUMN "review"."supersedes" IS 'review_key that it replaces; NULL: none.';

-- views/runs: one row per run, digests as hex.
-- Example: SELECT task, arm, count(*) FROM runs GROUP BY ALL ORDER BY ALL
CREATE OR REPLACE VIEW runs AS
SELECT
    run_id, task, arm, repeat, kind, format, layout, agent, agent_version, model, native_id, parent_native_id,
    recorder, tokenizer, started, ended, end_reason, end_detail, complete, incomplete_reason, has_trajectory,
    n_events, n_steps, n_calls, base_commit, repo,
    lower(hex(content_sha256)) AS content_sha256, lower(hex(source_sha256)) AS source_sha256, run_key
FROM main.run;

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
JOIN main.run AS r USING (run_key);

-- views/bodies: texts by the sha256 of their bytes. Untrusted: written by models, tools and users.
-- Example: SELECT b.text FROM events AS e JOIN bodies AS b ON b.sha256 = e.body WHERE e.kind = 'user' LIMIT 3
CREATE OR REPLACE VIEW bodies AS
SELECT lower(hex(sha256)) AS sha256, text
FROM main.body;

-- views/tool_calls: one row per tool call, with its canonical arguments.
-- Example: SELECT name, count(*) AS n FROM tool_calls GROUP BY name ORDER BY n DESC
CREATE OR REPLACE VIEW tool_calls AS
SELECT
    r.run_id, r.task, r.arm, c.seq, e.step, c.ordinal, c.name, c.call_id, c.canonical,
    lower(hex(c.canonical_sha256)) AS canonical_sha256, lower(hex(c.arguments)) AS arguments, c.exact, c.observed,
    c.run_key
FROM main.call AS c
JOIN main.run AS r USING (run_key)
JOIN main.event AS e ON e.run_key = c.run_key AND e.seq = c.seq;

-- views/observations: one row per tool result as the model saw it, with the call that it answers.
-- Example: SELECT tool, count(*) FROM observations WHERE exit_status <> 0 GROUP BY tool
CREATE OR REPLACE VIEW observations AS
SELECT
    r.run_id, r.task, r.arm, e.seq, e.step, e.call_seq, e.call_ordinal, c.name AS tool, e.exit_status, e.n_bytes,
    lower(hex(e.digest)) AS digest, lower(hex(e.body)) AS body, e.run_key
FROM main.event AS e
JOIN main.run AS r USING (run_key)
LEFT JOIN main.call AS c ON c.run_key = e.run_key AND c.seq = e.call_seq AND c.ordinal = e.call_ordinal
WHERE e.kind = 'observation';

-- views/facet_digests: the canonical digest of each facet of each run. Two runs are the same on a facet where
-- `comparable` and `digest` are equal; a NULL digest is unknown, with its reason.
-- Example: SELECT facet, grade, count(*) FROM facet_digests GROUP BY ALL ORDER BY ALL
CREATE OR REPLACE VIEW facet_digests AS
SELECT
    r.run_id, r.task, r.arm, f.facet, lower(hex(f.digest)) AS digest, lower(hex(f.comparable)) AS comparable,
    f.null_reason, f.grade, f.vacuous, f.n_parts, f.n_masked_bytes, lower(hex(f.ruleset_id)) AS ruleset_id,
    s.name AS ruleset, f.run_key
FROM main.facet_digest AS f
JOIN main.run AS r USING (run_key)
LEFT JOIN main.ruleset AS s USING (ruleset_id);

-- views/trees: the tree each run left. `tree` is the strongest name that it has: content digest, else oid.
-- Example: SELECT task, count(DISTINCT tree) AS n_trees FROM trees GROUP BY task
CREATE OR REPLACE VIEW trees AS
SELECT
    r.run_id, r.task, r.arm,
    CASE
        WHEN t.tcd IS NOT NULL THEN 'tcd:' || lower(hex(t.tcd))
        WHEN t.oid IS NOT NULL THEN t.object_format || ':' || t.oid
    END AS tree,
    t.oid, t.object_format, lower(hex(t.tcd)) AS tcd, t.base_oid, t.base_commit, t.policy, t.scope, t.grade,
    t.null_reason, t.n_files, t.n_ignored, t.flags, t.run_key
FROM main.run_tree AS t
JOIN main.run AS r USING (run_key);

-- views/tree_entries: paths by which a run's result differs from its base, as its patch names them. Whole trees lie in
-- `objects.git`; `samework compare` lists the files in which two of them differ.
-- Example: SELECT path, count(*) AS n_runs FROM tree_entries GROUP BY path ORDER BY n_runs DESC
CREATE OR REPLACE VIEW tree_entries AS
SELECT r.run_id, r.task, r.arm, p.path, p.mode, p.blob_id, p.change, p.run_key
FROM main.patch_path AS p
JOIN main.run AS r USING (run_key);

-- views/patches: the patch each run submitted.
-- Example: SELECT status, count(*) FROM patches GROUP BY status
CREATE OR REPLACE VIEW patches AS
SELECT
    r.run_id, r.task, r.arm, p.status, p.reason, p.is_empty, p.base_commit, p.n_paths, p.min_id_digits, p.repairs,
    p.grade, lower(hex(p.patch_sha256)) AS patch_sha256, lower(hex(p.body)) AS body, p.run_key
FROM main.patch AS p
JOIN main.run AS r USING (run_key);

-- views/test_reports: one row per test report.
-- Example: SELECT run_id, n_executed, n_failing FROM test_reports WHERE complete
CREATE OR REPLACE VIEW test_reports AS
SELECT
    r.run_id, r.task, r.arm, t.report_key, t.format, t.suite, t.env, t.layout, t.runner, t.exit_code, t.complete,
    t.incomplete_reason, t.n_nodes, t.n_executed, t.n_failing, t.has_conflict,
    lower(hex(t.map_sha256)) AS map_sha256, t.findings, t.run_key
FROM main.test_report AS t
JOIN main.run AS r USING (run_key);

-- views/test_outcomes: each outcome of each node in each report.
-- Example: SELECT node, outcome, count(*) FROM test_outcomes GROUP BY ALL ORDER BY ALL
CREATE OR REPLACE VIEW test_outcomes AS
SELECT t.run_id, t.task, t.arm, t.suite, t.env, o.node, o.outcome, t.complete, o.report_key, t.run_key
FROM main.test_outcome AS o
JOIN test_reports AS t USING (report_key);

-- views/cells: test reports pooled by (tree, suite, environment). Where the tree is unknown, a run is a cell of its own.
-- Example: SELECT * FROM cells WHERE n_maps > 1
CREATE OR REPLACE VIEW cells AS
SELECT
    t.task, coalesce(x.tree, 'run:' || t.run_id) AS cell, x.tree, t.suite, coalesce(t.env, 'layout:' || t.layout) AS env,
    t.env IS NULL OR t.suite IS NULL AS env_assumed,
    count(*) AS n_reports, count(*) FILTER (WHERE t.complete) AS n_complete,
    count(DISTINCT t.map_sha256) AS n_maps, bool_or(t.has_conflict) AS has_conflict,
    max(t.n_executed) AS n_executed, max(t.n_failing) AS n_failing,
    list(DISTINCT t.run_id ORDER BY t.run_id) AS runs
FROM test_reports AS t
LEFT JOIN trees AS x USING (run_key)
GROUP BY ALL;

-- views/outcomes: what graders recorded of a run, value as JSON.
-- Example: SELECT arm, value, count(*) FROM outcomes WHERE name = 'resolved' GROUP BY ALL
CREATE OR REPLACE VIEW outcomes AS
SELECT r.run_id, r.task, r.arm, o.name, o.value, o.run_key
FROM main.run_outcome AS o
JOIN main.run AS r USING (run_key);

-- views/manifest_fields: what produced each run, field by field; a value with its source, or the reason of its absence.
-- Example: SELECT field, value, count(*) FROM manifest_fields GROUP BY ALL ORDER BY ALL
CREATE OR REPLACE VIEW manifest_fields AS
SELECT r.run_id, r.task, r.arm, m.field, m.value, m.source, m.absence, m.origin, m.run_key
FROM main.manifest_field AS m
JOIN main.run AS r USING (run_key);

-- views/manifest_diff: fields of two runs, given by run_id: equal, differs, or not_comparable where one side is missing.
-- Example: SELECT * FROM manifest_diff('0123456789abcdef', 'fedcba9876543210') WHERE state <> 'equal'
CREATE OR REPLACE MACRO manifest_diff(a_run, b_run) AS TABLE
SELECT
    field,
    CASE
        WHEN (a.value IS NULL AND a.absence IS DISTINCT FROM 'n/a') OR (b.value IS NULL AND b.absence IS DISTINCT FROM 'n/a')
            THEN 'not_comparable'
        WHEN a.value IS NOT DISTINCT FROM b.value THEN 'equal'
        ELSE 'differs'
    END AS state,
    a.value AS a, b.value AS b, a.source AS a_source, b.source AS b_source,
    CASE WHEN a.value IS NULL THEN coalesce(a.absence, 'unrecorded') END AS a_absence,
    CASE WHEN b.value IS NULL THEN coalesce(b.absence, 'unrecorded') END AS b_absence
FROM (SELECT * FROM manifest_fields WHERE run_id = a_run) AS a
FULL JOIN (SELECT * FROM manifest_fields WHERE run_id = b_run) AS b USING (field)
ORDER BY field;

-- views/digest_verdict: verdict of two texts of `run_digests`: what stands before the first colon must be equal for them to
-- be comparable at all.
-- Example: SELECT digest_verdict('sha1:a', 'sha1:b')
CREATE OR REPLACE MACRO digest_verdict(one, other) AS
CASE
    WHEN one IS NULL OR other IS NULL OR split_part(one, ':', 1) <> split_part(other, ':', 1) THEN 'unknown'
    WHEN one = other THEN 'same'
    ELSE 'different'
END;

-- views/run_digests: one row per run, one text per facet, `comparable:digest`; NULL is unknown. Only equality of digests is
-- here: what refutes without a digest, flaky tests and cut-off runs are judged by `samework compare`. A patch that another
-- patch of the task contradicts gives no tree.
-- Example: SELECT task, count(DISTINCT tests) FROM run_digests GROUP BY task
CREATE OR REPLACE VIEW run_digests AS
WITH facets AS (
    SELECT
        run_key,
        max(hex(comparable) || ':' || hex(digest)) FILTER (WHERE facet = 'tokens') AS tokens,
        max(hex(comparable) || ':' || hex(digest)) FILTER (WHERE facet = 'text') AS text,
        max(hex(comparable) || ':' || hex(digest)) FILTER (WHERE facet = 'actions') AS actions,
        max(hex(comparable) || ':' || hex(digest)) FILTER (WHERE facet = 'observations') AS observations
    FROM main.facet_digest
    GROUP BY run_key
), standing AS (
    SELECT
        p.run_key, r.task, coalesce(nullif(coalesce(p.base_commit, r.base_commit), ''), nullif(r.layout, '')) AS base,
        min(coalesce(p.min_id_digits, 40)) OVER (PARTITION BY r.task) AS n_digits
    FROM main.patch AS p
    JOIN main.run AS r USING (run_key)
    WHERE p.status IN ('parsed', 'empty') AND coalesce(p.min_id_digits, 40) >= 7
), stated AS (
    SELECT
        s.run_key, s.task, s.base, q.path, coalesce(left(q.blob_id, s.n_digits), q.mode, '') AS outcome,
        coalesce(left(e.before_id, s.n_digits), '') AS source, e.change_sha256 AS edit,
        if(q.change = 'add', '', left(e.before_id, s.n_digits)) AS before
    FROM standing AS s
    JOIN main.patch_path AS q USING (run_key)
    JOIN main.patch_edit AS e USING (run_key, path)
), contested AS (
    SELECT unnest(list(run_key)) AS run_key FROM stated
    GROUP BY task, base, path, outcome HAVING min(before) <> max(before)
    UNION ALL
    SELECT unnest(list(run_key)) FROM stated
    GROUP BY task, path, outcome, source HAVING min(edit) <> max(edit)
    UNION ALL
    SELECT unnest(list(run_key)) FROM stated WHERE edit IS NOT NULL
    GROUP BY task, path, source, edit HAVING min(outcome) <> max(outcome)
), paths AS (
    SELECT
        s.run_key, s.base,
        md5(coalesce(string_agg(
            concat_ws(chr(9), q.path, coalesce(q.mode, '-'), coalesce(left(q.blob_id, s.n_digits), '-')), chr(10)
            ORDER BY q.path
        ), '')) AS post
    FROM standing AS s
    LEFT JOIN main.patch_path AS q USING (run_key)
    WHERE s.run_key NOT IN (SELECT run_key FROM contested)
    GROUP BY s.run_key, s.base
), reports AS (
    SELECT
        run_key, concat_ws(chr(9), suite, coalesce(env, 'layout:' || layout)) AS suite,
        concat_ws(chr(9), suite, coalesce(env, 'layout:' || layout), hex(map_sha256)) AS map
    FROM main.test_report
    WHERE complete AND n_executed > 0 AND NOT has_conflict AND suite IS NOT NULL
), tests AS (
    SELECT
        run_key, md5(string_agg(DISTINCT suite, chr(10) ORDER BY suite)) AS suites,
        md5(string_agg(DISTINCT map, chr(10) ORDER BY map)) AS maps
    FROM reports
    GROUP BY run_key
), grades AS (
    SELECT
        run_key,
        md5(string_agg(name, chr(10) ORDER BY name)) || ':' || string_agg(value, chr(10) ORDER BY name) AS outcome
    FROM main.run_outcome
    GROUP BY run_key
)
SELECT
    r.run_id, r.task, r.arm, r.kind, f.tokens, f.text, f.actions, f.observations,
    'sha256:' || lower(hex(p.patch_sha256)) AS patch,
    CASE
        WHEN t.oid IS NOT NULL THEN t.object_format || ':' || t.oid
        WHEN t.tcd IS NOT NULL THEN 'tcd:' || lower(hex(t.tcd))
        WHEN d.base IS NOT NULL THEN 'patch-' || d.base || ':' || d.post
    END AS tree,
    s.suites || ':' || s.maps AS tests, g.outcome, r.run_key
FROM main.run AS r
LEFT JOIN facets AS f USING (run_key)
LEFT JOIN main.patch AS p USING (run_key)
LEFT JOIN main.run_tree AS t USING (run_key)
LEFT JOIN paths AS d USING (run_key)
LEFT JOIN tests AS s USING (run_key)
LEFT JOIN grades AS g USING (run_key);

-- views/classes: every run with its place in the nested classes of its task: tests, in them tree, in them tokens, numbered
-- within the task; NULL where the digest is unknown. `size` is of its block. `samework query` and `Store.sql`
-- put the engine's own answer here, with quarantine and refutation; with another program, equality of digests decides
-- alone.
-- Example: SELECT DISTINCT task, tests_class, tree_class, token_class, size FROM classes ORDER BY ALL
CREATE OR REPLACE VIEW classes AS
SELECT
    task,
    CASE WHEN tests IS NOT NULL THEN dense_rank() OVER (PARTITION BY task ORDER BY tests NULLS LAST) END AS tests_class,
    CASE WHEN tree IS NOT NULL
        THEN dense_rank() OVER (PARTITION BY task, tests ORDER BY tree NULLS LAST) END AS tree_class,
    CASE WHEN tokens IS NOT NULL
        THEN dense_rank() OVER (PARTITION BY task, tests, tree ORDER BY tokens NULLS LAST) END AS token_class,
    count(*) OVER (PARTITION BY task, tests, tree, tokens) AS size,
    run_id,
    min(run_id) OVER (PARTITION BY task, tests, tree, tokens) AS representative,
    tests IS NOT NULL AND tree IS NOT NULL AND tokens IS NOT NULL AS placed
FROM run_digests;

-- views/pairs: every pair of runs of a task with one verdict per facet and the class that equality of digests gives.
-- Refutations without a digest, quarantine and anomalies are judged by `samework pairs` and `samework compare`.
-- Example: SELECT class, count(*) FROM pairs('demo-task') GROUP BY class
CREATE OR REPLACE MACRO pairs(of_task) AS TABLE
WITH members AS (
    SELECT * FROM run_digests WHERE task = of_task
), verdicts AS (
    SELECT
        a.run_id AS a, b.run_id AS b, a.task,
        digest_verdict(a.tokens, b.tokens) AS tokens,
        digest_verdict(a.text, b.text) AS text,
        digest_verdict(a.actions, b.actions) AS actions,
        digest_verdict(a.observations, b.observations) AS observations,
        digest_verdict(a.patch, b.patch) AS patch,
        digest_verdict(a.tree, b.tree) AS tree,
        digest_verdict(a.tests, b.tests) AS tests,
        digest_verdict(a.outcome, b.outcome) AS outcome
    FROM members AS a
    JOIN members AS b ON a.run_id < b.run_id
)
SELECT
    *,
    CASE
        WHEN tree = 'same' AND tokens = 'same' THEN 'token-identical'
        WHEN tree = 'same' THEN 'tree-identical'
        WHEN tree = 'different' AND tests = 'same' THEN 'tests-identical'
        WHEN tests = 'different' AND (tree = 'different' OR tokens <> 'same') THEN 'divergent'
        WHEN tokens = 'same' AND tree = 'unknown' AND tests <> 'different' THEN 'token-identical'
        WHEN tree = 'unknown' AND tests = 'same' THEN 'tests-identical'
        ELSE 'unresolved'
    END AS class
FROM verdicts;

-- views/fork_ends: one row per branch of each branch node, with the digests of the trees, tests and actions in which its
-- runs ended. `node` is the chain that the runs share, '' at the root. By equality of digests alone.
-- Example: SELECT branch, tool, arguments, n_runs FROM fork_ends WHERE task = 'demo-task' ORDER BY step
CREATE OR REPLACE VIEW fork_ends AS
WITH ways AS (
    SELECT
        r.task, e.prev, e.chain, min(e.seq) AS seq, min(e.step) AS step, min(e.kind) AS event,
        any_value(e.action_sha256) AS action_sha256, any_value(e.body) AS body, min(e.run_key) AS first_key, count(*) AS n_runs,
        list(r.run_key) AS run_keys, list(r.run_id ORDER BY r.run_id) AS runs
    FROM main.event AS e
    JOIN main.run AS r USING (run_key)
    WHERE NOT (e.kind = 'end' AND r.end_reason IN ('timeout', 'crash', 'cancelled', 'log_truncated'))
    GROUP BY r.task, e.prev, e.chain
), parted AS (
    SELECT task, prev FROM ways GROUP BY task, prev HAVING count(*) > 1
), parting AS (
    SELECT w.* FROM ways AS w JOIN parted AS p ON p.task = w.task AND p.prev IS NOT DISTINCT FROM w.prev
), ends AS (
    SELECT
        m.task, m.prev, m.chain, list_sort(list(DISTINCT d.tree)) AS trees, list_sort(list(DISTINCT d.tests)) AS tests,
        list_sort(list(DISTINCT d.actions)) AS actions,
        count(*) FILTER (WHERE d.tree IS NULL) AS tree_unknown, count(*) FILTER (WHERE d.tests IS NULL) AS tests_unknown
    FROM (SELECT task, prev, chain, unnest(run_keys) AS run_key FROM parting) AS m
    JOIN run_digests AS d USING (run_key)
    GROUP BY m.task, m.prev, m.chain
)
SELECT
    w.task, coalesce(lower(hex(w.prev)), '') AS node,
    row_number() OVER (PARTITION BY w.task, w.prev ORDER BY w.n_runs DESC, w.chain) - 1 AS branch,
    w.step, w.seq, w.event, w.n_runs, w.runs, c.name AS tool, c.canonical AS arguments,
    lower(hex(w.action_sha256)) AS action_sha256, w.body, len(x.trees) AS tree_classes, len(x.tests) AS tests_classes,
    x.tree_unknown, x.tests_unknown, coalesce(x.trees, []) AS trees, coalesce(x.tests, []) AS tests,
    coalesce(x.actions, []) AS actions
FROM parting AS w
JOIN ends AS x ON x.task = w.task AND x.chain = w.chain AND x.prev IS NOT DISTINCT FROM w.prev
LEFT JOIN main.call AS c ON c.run_key = w.first_key AND c.seq = w.seq AND c.ordinal = 0;

-- views/forks: branch nodes: places after which runs of one task went different ways. origin: what differed first.
-- consequence: C0 completion only, C1 absorbed by the same tree, C2 other tree with same tests, C3 other tests, CU
-- unknown. effect: none, absorbed, consequential (work changed, though maybe not known whether tree or tests) or unknown.
-- `samework query` and `Store.sql` put the engine's own answer here; with another program, equality of digests decides
-- alone.
-- Example: SELECT step, event, origin, consequence, n_branches FROM forks WHERE tool_calls
CREATE OR REPLACE VIEW forks AS
WITH branches AS (
    SELECT
        *, tree_unknown = 0 AND tree_classes = 1 AS one_tree, tests_unknown = 0 AND tests_classes = 1 AS one_test
    FROM fork_ends
), nodes AS (
    SELECT
        task, node, min(step) AS step, min(seq) AS seq, list_sort(list(DISTINCT event)) AS events,
        count(*) AS n_branches,
        min(event) = 'completion' AND max(event) = 'completion'
            AND count(DISTINCT coalesce(action_sha256, '')) > 1 AS tool_calls,
        count(DISTINCT trees) FILTER (WHERE one_tree) > 1 AS tree_differs,
        bool_and(one_tree) AND count(DISTINCT trees) = 1 AS tree_same,
        count(DISTINCT tests) FILTER (WHERE one_test) > 1 AS tests_differ,
        bool_and(one_test) AND count(DISTINCT tests) = 1 AS tests_same,
        bool_and(len(actions) = 1) AND count(DISTINCT actions) = 1 AS actions_same
    FROM branches
    GROUP BY task, node
)
SELECT
    task, node, step, seq, array_to_string(events, '/') AS event,
    CASE
        WHEN len(events) > 1 AND list_contains(events, 'end') THEN 'termination'
        WHEN len(events) > 1 THEN 'harness'
        WHEN events[1] IN ('system', 'tools', 'user') THEN 'input'
        WHEN events[1] = 'context_edit' THEN 'harness'
        WHEN events[1] = 'end' THEN 'termination'
        WHEN events[1] = 'observation' THEN 'environment'
        ELSE 'model-or-template'
    END AS origin,
    CASE
        WHEN tree_same AND actions_same THEN 'C0'
        WHEN tree_same THEN 'C1'
        WHEN tests_differ THEN 'C3'
        WHEN tree_differs AND tests_same THEN 'C2'
        ELSE 'CU'
    END AS consequence,
    tool_calls, NULL::BIGINT AS token_offset, 'digests' AS evidence, n_branches,
    CASE
        WHEN tree_same AND actions_same THEN 'none'
        WHEN tree_same THEN 'absorbed'
        WHEN tree_differs OR tests_differ THEN 'consequential'
        ELSE 'unknown'
    END AS effect,
    'digests' AS consequence_reason
FROM nodes;

-- views/fork_branches: which run took which way out of each branch node, and into how many trees and tests the way led.
-- `samework query` and `Store.sql` put the engine's own answer here; with another program, equality of digests decides
-- alone.
-- Example: SELECT branch, tool, arguments, count(*) AS n_runs FROM fork_branches WHERE task = 'demo-task' GROUP BY ALL
CREATE OR REPLACE VIEW fork_branches AS
SELECT
    f.task, f.node, f.branch, f.run_id, f.tool, f.arguments, left(b.text, 120) AS excerpt, f.tree_classes, f.tests_classes
FROM (
    SELECT task, node, branch, unnest(runs) AS run_id, tool, arguments, body, tree_classes, tests_classes FROM fork_ends
) AS f
LEFT JOIN main.body AS b ON b.sha256 = f.body;

-- views/reviews: what reviewers said of pairs; `is_current` is false where a later review of theirs supersedes it.
-- Example: SELECT run_a, run_b, judgement FROM reviews WHERE is_current
CREATE OR REPLACE VIEW reviews AS
SELECT
    r.review_key, r.run_a, r.run_b, r.reviewer, r.blind, r.judgement, r.reason, r.written, r.supersedes,
    NOT EXISTS (SELECT 1 FROM main.review AS later WHERE later.supersedes = r.review_key) AS is_current
FROM main.review AS r;

-- views/sources: what was ingested, and what was refused and why.
-- Example: SELECT path, status, reason FROM sources WHERE status = 'refused'
CREATE OR REPLACE VIEW sources AS
SELECT
    path, format, n_bytes, status, reason, n_runs, n_events, batch, settings,
    lower(hex(source_sha256)) AS source_sha256, lower(hex(settings_sha256)) AS settings_sha256
FROM main.source;

-- views/defects: byte ranges that could not be read, and findings about sources.
-- Example: SELECT path, source_offset, reason FROM defects ORDER BY ALL
CREATE OR REPLACE VIEW defects AS
SELECT
    d.path, d.source_offset, d.n_bytes, d.code, d.reason, r.run_id, lower(hex(d.source_sha256)) AS source_sha256, d.run_key
FROM main.defect AS d
LEFT JOIN main.run AS r USING (run_key);
