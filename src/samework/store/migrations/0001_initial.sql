-- migrations/0001_initial: every table of schema version 1, in an empty database.
-- Parameters: none. Never edited once released; a change of `tables.py` comes with the next number.

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
