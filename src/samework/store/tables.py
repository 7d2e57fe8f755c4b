"""Every table and column of the store, named once. DDL, JSON Schema and the reference page are generated from here.

Digests are 32-byte sha256 BLOBs; views show them as hex. A NULL always has a reason beside it or in its comment.
No foreign keys (DuckDB cannot update a referenced parent); orphans are found by query.
"""

from __future__ import annotations

from sqlmodel import Field, SQLModel


class Meta(SQLModel, table=True):
    """Facts of the store itself: application id, schema version, program that made it."""

    __tablename__ = "meta"
    key: str = Field(primary_key=True, description="Name of the fact.")
    value: str = Field(description="Its value as text.")


class SourceRow(SQLModel, table=True):
    """One ingested source; its bytes lie in `sources/` by sha256."""

    __tablename__ = "source"
    source_sha256: bytes = Field(
        primary_key=True, description="sha256 of the source's bytes (of a directory: of its manifest of files)."
    )
    settings_sha256: bytes = Field(
        primary_key=True, description="sha256 of the task, arm, repeat, suite and env that the user gave."
    )
    path: str = Field(description="Where it was read from, for display only.")
    format: str = Field(description="Reader that read it.")
    n_bytes: int = Field(description="Length, bytes.")
    status: str = Field(description="ingested or refused.")
    reason: str | None = Field(default=None, description="Why it was refused; NULL where it was not.")
    n_runs: int = Field(default=0, description="Runs that it added.")
    n_events: int = Field(default=0, description="Events that it added.")
    batch: int = Field(description="Ingest batch (one transaction) that wrote it.")
    settings: str = Field(default="{}", description="The settings as canonical JSON.")


class RunRow(SQLModel, table=True):
    """One attempt at a task."""

    __tablename__ = "run"
    run_key: int = Field(primary_key=True, description="Small number of the run inside this store.")
    run_id: str = Field(
        description="Identity: 16 hex digits of sha256(task, arm, repeat, content), or the bundle's own id."
    )
    task: str = Field(description="What was to be done.")
    arm: str = Field(description="Condition the run was made under.")
    repeat: str = Field(description="Ordinal within task and arm.")
    kind: str = Field(description="coding, tool-use or text.")
    format: str = Field(description="Reader that gave the trajectory, or the artifacts where there is none.")
    layout: str = Field(description="Family of sources whose tasks and environments mean the same.")
    agent: str | None = Field(default=None, description="Agent; NULL: unrecorded.")
    agent_version: str | None = Field(default=None, description="Version of the agent; NULL: unrecorded.")
    model: str | None = Field(default=None, description="Model as recorded; NULL: unrecorded.")
    native_id: str | None = Field(default=None, description="The tool's own id of the run; NULL: none.")
    parent_native_id: str | None = Field(default=None, description="The tool's own id of the parent run; NULL: none.")
    recorder: str | None = Field(
        default=None, description="Program and version that wrote the record; NULL: unrecorded."
    )
    tokenizer: str | None = Field(default=None, description="Digest of the tokenizer; NULL: unrecorded.")
    started: str | None = Field(default=None, description="Start as recorded; NULL: unrecorded.")
    ended: str | None = Field(default=None, description="End as recorded; NULL: unrecorded.")
    end_reason: str = Field(
        description="finished, limit, error, timeout, crash, cancelled, log_truncated or unrecorded."
    )
    end_detail: str | None = Field(default=None, description="The source's own word for it; NULL: none.")
    complete: bool = Field(description="False where a damaged record or a cut makes the record incomplete.")
    incomplete_reason: str | None = Field(default=None, description="Why it is incomplete; NULL where it is complete.")
    has_trajectory: bool = Field(description="False for a run known only by its artifacts.")
    n_events: int = Field(description="Events.")
    n_steps: int = Field(description="Completions.")
    n_calls: int = Field(description="Tool calls.")
    base_commit: str | None = Field(default=None, description="Commit the task starts from, hex; NULL: unrecorded.")
    repo: str | None = Field(default=None, description="Repository as recorded; NULL: unrecorded.")
    content_sha256: bytes = Field(description="Identity of the run's content.")
    source_sha256: bytes = Field(description="Source it came from.")
    settings_sha256: bytes = Field(description="Settings of that source.")
    last_chain: bytes | None = Field(default=None, description="Chain after the last event; NULL: no trajectory.")
    extra: str | None = Field(default=None, description="Unknown keys of the source, JSON; NULL: none.")


class EventRow(SQLModel, table=True):
    """One event of a trajectory: digests and small facts, no bodies of text."""

    __tablename__ = "event"
    run_key: int = Field(primary_key=True, description="Run.")
    seq: int = Field(primary_key=True, description="Ordinal in the run, from 0.")
    step: int = Field(description="Completions up to and including this event; 0 before the first.")
    kind: str = Field(description="system, tools, user, context_edit, completion, observation or end.")
    digest: bytes = Field(description="sha256 of the canonical, masked event.")
    prev: bytes | None = Field(default=None, description="Chain before this event; NULL at the first.")
    chain: bytes = Field(description="sha256(prev, kind, digest): equal chains are equal prefixes.")
    action_sha256: bytes | None = Field(
        default=None, description="Digest of the turn's canonical calls; NULL where it has none."
    )
    tokens_sha256: bytes | None = Field(
        default=None, description="Digest of the completion's token ids; NULL: unrecorded."
    )
    n_tokens: int | None = Field(default=None, description="Completion tokens; NULL: unrecorded.")
    prompt_sha256: bytes | None = Field(default=None, description="Digest of the prompt's token ids; NULL: unrecorded.")
    body: bytes | None = Field(default=None, description="Key of the text in `body`; NULL: no text.")
    reasoning: bytes | None = Field(default=None, description="Key of the reasoning in `body`; NULL: none recorded.")
    n_bytes: int = Field(description="Length of the text, bytes of UTF-8.")
    exit_status: int | None = Field(default=None, description="Exit status of the observed call; NULL: unrecorded.")
    call_seq: int | None = Field(
        default=None, description="seq of the completion whose call an observation answers; NULL: not linked."
    )
    call_ordinal: int | None = Field(
        default=None, description="Ordinal of that call in its completion; NULL: not linked."
    )
    workspace_tree: str | None = Field(
        default=None, description="Tree oid of the workspace before the event, hex; NULL: unrecorded."
    )
    time: str | None = Field(default=None, description="Time as recorded; NULL: unrecorded.")
    source_offset: int | None = Field(
        default=None, description="Byte offset of the record in its source; NULL: unknown."
    )


class BodyRow(SQLModel, table=True):
    """Bodies of text by content."""

    __tablename__ = "body"
    sha256: bytes = Field(primary_key=True, description="sha256 of the text's raw bytes.")
    text: str = Field(description="The text; lone surrogates shown as U+FFFD (raw bytes stay in `sources/`).")


class CallRow(SQLModel, table=True):
    """One tool call."""

    __tablename__ = "call"
    run_key: int = Field(primary_key=True, description="Run.")
    seq: int = Field(primary_key=True, description="seq of the completion.")
    ordinal: int = Field(primary_key=True, description="Ordinal in its completion, from 0.")
    name: str = Field(description="Tool name.")
    call_id: str | None = Field(default=None, description="Provider's id, never identity; NULL: none.")
    arguments: bytes = Field(description="Key in `body` of the argument text as recorded.")
    canonical: str = Field(
        description="Canonical, masked arguments (RFC 8785), or `raw:` and the text; cut to 4096 characters."
    )
    canonical_sha256: bytes = Field(description="sha256 of the whole canonical form with the tool's name.")
    exact: bool = Field(description="True where the argument text is byte for byte the model's.")
    observed: bool = Field(description="True where a result was recorded.")


class UsageRow(SQLModel, table=True):
    """Token counts that a server reported for one model call. NULL is unrecorded, never zero."""

    __tablename__ = "call_usage"
    run_key: int = Field(primary_key=True, description="Run.")
    seq: int = Field(primary_key=True, description="seq of the completion.")
    prompt_tokens: int | None = Field(default=None, description="Prompt tokens, cached ones included.")
    cached_tokens: int | None = Field(default=None, description="Of these, reused from a cache.")
    cache_write_tokens: int | None = Field(default=None, description="Written to a cache.")
    completion_tokens: int | None = Field(default=None, description="Completion tokens, reasoning included.")
    reasoning_tokens: int | None = Field(default=None, description="Of these, reasoning.")
    source: str = Field(description="response, metrics_delta, log, timing.")


class TokenRow(SQLModel, table=True):
    """Token ids and margins of a completion, kept apart from the hot tables."""

    __tablename__ = "token"
    run_key: int = Field(primary_key=True, description="Run.")
    seq: int = Field(primary_key=True, description="seq of the completion.")
    token_ids: bytes | None = Field(default=None, description="Completion ids, int32 little-endian; NULL: unrecorded.")
    margins: bytes | None = Field(
        default=None, description="Top-1 minus top-2 per token, float64 little-endian; NULL: unrecorded."
    )
    margin_unit: str | None = Field(default=None, description="nats or logits; NULL where margins are.")


class TokenRankRow(SQLModel, table=True):
    """The two most likely tokens at each place of a completion, where the source ranks them."""

    __tablename__ = "token_rank"
    run_key: int = Field(primary_key=True, description="Run.")
    seq: int = Field(primary_key=True, description="seq of the completion.")
    ids: bytes | None = Field(
        default=None, description="Pairs of ids, likeliest first, int32 little-endian, -1: unrecorded; NULL: none."
    )
    texts: str | None = Field(
        default=None,
        description="JSON: per token of the prose its text and the two likeliest texts, or null; NULL: none.",
    )


class FacetRow(SQLModel, table=True):
    """One canonical digest of one facet of one run."""

    __tablename__ = "facet_digest"
    run_key: int = Field(primary_key=True, description="Run.")
    facet: str = Field(
        primary_key=True,
        description="completion_tokens, prompt_tokens, text, prose, refuter, counts, raw_text, actions, observations.",
    )
    ruleset_id: bytes = Field(primary_key=True, description="Declared rules under which it was made.")
    digest: bytes | None = Field(default=None, description="The digest; NULL: no evidence.")
    comparable: bytes | None = Field(
        default=None, description="Runs are comparable on this facet iff this is equal and not NULL."
    )
    null_reason: str | None = Field(default=None, description="Why the digest is NULL.")
    grade: str = Field(description="Evidence grade.")
    vacuous: bool = Field(default=False, description="True where equality would be agreement about nothing.")
    n_parts: int = Field(default=0, description="Parts digested: calls, completions, observations.")
    n_masked_bytes: int = Field(default=0, description="Bytes replaced by masks.")


class RulesetRow(SQLModel, table=True):
    """Declared rules, stored whole."""

    __tablename__ = "ruleset"
    ruleset_id: bytes = Field(primary_key=True, description="sha256 of the rules' canonical JSON.")
    facet: str = Field(description="Facet that they are for.")
    name: str = Field(description="Short name.")
    rules: str = Field(description="The rules, canonical JSON.")


class TreeRow(SQLModel, table=True):
    """The tree a run left."""

    __tablename__ = "run_tree"
    run_key: int = Field(primary_key=True, description="Run.")
    oid: str | None = Field(default=None, description="Git tree oid, hex; NULL: not computed.")
    object_format: str | None = Field(default=None, description="sha1 or sha256; NULL without oid.")
    tcd: bytes | None = Field(
        default=None,
        description="Tree content digest: sha256 over sorted (mode, path, sha256(blob)); NULL: blobs not held.",
    )
    base_oid: str | None = Field(default=None, description="Tree oid of the base; NULL: unknown.")
    base_commit: str | None = Field(default=None, description="Base commit, hex; NULL: unknown.")
    policy: str = Field(description="worktree, commit, patch or asserted: how the tree was taken.")
    scope: str = Field(default="", description="Declared ignore globs, joined by newline.")
    grade: str = Field(description="direct, derived or asserted; none where oid and tcd are NULL.")
    null_reason: str | None = Field(default=None, description="Why there is no tree, with Git's own words.")
    n_files: int | None = Field(default=None, description="Files in the tree; NULL: unknown.")
    n_ignored: int | None = Field(default=None, description="Ignored files left out; NULL: unknown.")
    ignored_sha256: bytes | None = Field(default=None, description="Digest of the ignored paths; NULL: unknown.")
    flags: str = Field(
        default="[]", description="Findings as a JSON list of slugs (ignore_rules_changed, base_differs, no_work ...)."
    )


class PatchRow(SQLModel, table=True):
    """The patch a run submitted."""

    __tablename__ = "patch"
    run_key: int = Field(primary_key=True, description="Run.")
    body: bytes | None = Field(default=None, description="Key of the patch in `body`; NULL: none recorded.")
    patch_sha256: bytes | None = Field(
        default=None, description="sha256 of its bytes after the declared repairs; NULL: none recorded."
    )
    is_empty: bool = Field(default=False, description="True for a recorded, empty patch.")
    base_commit: str | None = Field(default=None, description="Commit it applies to, hex; NULL: unrecorded.")
    status: str = Field(description="parsed, empty, absent, damaged or no_ids.")
    reason: str | None = Field(default=None, description="Why it cannot stand for a tree; NULL where it can.")
    repairs: str = Field(default="[]", description="Repairs made before parsing, JSON list of slugs.")
    n_paths: int = Field(default=0, description="Paths it changes.")
    min_id_digits: int | None = Field(default=None, description="Shortest blob id in it, hex digits; NULL: no ids.")
    grade: str = Field(description="Evidence grade.")


class PatchPathRow(SQLModel, table=True):
    """One path that a patch changes, with its post-image."""

    __tablename__ = "patch_path"
    run_key: int = Field(primary_key=True, description="Run.")
    path: str = Field(
        primary_key=True,
        description="Path after the change (before it, for a deletion); bytes shown as UTF-8, others escaped.",
    )
    mode: str | None = Field(
        default=None, description="Mode after the change, octal; NULL: deleted, or unchanged and not stated."
    )
    blob_id: str | None = Field(
        default=None, description="Post-image blob id as written, maybe abbreviated; NULL: deleted or mode only."
    )
    change: str = Field(description="add, modify, delete, mode.")


class PatchEditRow(SQLModel, table=True):
    """What a patch says of the content of a path besides its post-image, against which the ids are held."""

    __tablename__ = "patch_edit"
    run_key: int = Field(primary_key=True, description="Run.")
    path: str = Field(primary_key=True, description="Path, as in `patch_path`.")
    before_id: str | None = Field(
        default=None, description="Blob id from which the change starts, as written; NULL: new, or none stated."
    )
    change_sha256: bytes | None = Field(
        default=None, description="Digest of the changed lines and their places; NULL: not stated."
    )


class ReportRow(SQLModel, table=True):
    """One test report of one run; outcomes belong to the cell (tree, suite, env)."""

    __tablename__ = "test_report"
    report_key: int = Field(primary_key=True, description="Small number of the report inside this store.")
    run_key: int = Field(description="Run whose tree was tested.")
    report_sha256: bytes = Field(description="Identity of the report's content.")
    format: str = Field(description="Reader that read it.")
    suite: str | None = Field(default=None, description="Suite: name or digest; NULL: unrecorded.")
    env: str | None = Field(default=None, description="Environment: name or digest; NULL: unrecorded.")
    layout: str = Field(description="Layout it was found in; stands for an unrecorded environment where assumed.")
    runner: str | None = Field(default=None, description="Test runner and version; NULL: unrecorded.")
    exit_code: int | None = Field(default=None, description="Exit code of the runner; NULL: unrecorded.")
    complete: bool = Field(description="True where an absent node means missing.")
    incomplete_reason: str | None = Field(default=None, description="Why it is not complete.")
    n_nodes: int = Field(description="Distinct nodes.")
    n_executed: int = Field(description="Nodes that really ran.")
    n_failing: int = Field(description="Nodes failed or in error.")
    has_conflict: bool = Field(description="True where one node has two outcomes in this report.")
    map_sha256: bytes = Field(description="Digest of the sorted (node, outcome) pairs.")
    findings: str = Field(default="[]", description="Oddities of the report, JSON list of sentences.")


class OutcomeRow(SQLModel, table=True):
    """One outcome of one node in one report."""

    __tablename__ = "test_outcome"
    report_key: int = Field(primary_key=True, description="Report.")
    node: str = Field(primary_key=True, description="Test id; `path::<collection>` for a collector.")
    outcome: str = Field(primary_key=True, description="passed, failed, error, skipped, xfailed or xpassed.")


class GradeRow(SQLModel, table=True):
    """A grader's recorded verdict or score of a run (facet outcome)."""

    __tablename__ = "run_outcome"
    run_key: int = Field(primary_key=True, description="Run.")
    name: str = Field(primary_key=True, description="resolved, reward ...")
    value: str = Field(description="The value as canonical JSON.")


class InvariantRow(SQLModel, table=True):
    """A declared predicate and its result for a run."""

    __tablename__ = "run_invariant"
    run_key: int = Field(primary_key=True, description="Run.")
    name: str = Field(primary_key=True, description="Predicate.")
    value: bool | None = Field(default=None, description="Result; NULL: unknown.")


class ManifestRow(SQLModel, table=True):
    """One field of a run's manifest."""

    __tablename__ = "manifest_field"
    run_key: int = Field(primary_key=True, description="Run.")
    field: str = Field(primary_key=True, description="Dotted name.")
    value: str | None = Field(default=None, description="Canonical JSON; NULL: absent.")
    source: str | None = Field(default=None, description="measured, declared or defaulted; NULL where absent.")
    absence: str | None = Field(
        default=None, description="unrecorded, redacted, unobservable or n/a; NULL where present."
    )
    origin: str | None = Field(default=None, description="Where the value was read, in words; NULL: not said.")


class DefectRow(SQLModel, table=True):
    """A byte range of a source that could not be read, or a finding about it."""

    __tablename__ = "defect"
    defect_key: int = Field(primary_key=True, description="Ordinal inside this store.")
    source_sha256: bytes = Field(description="Source.")
    settings_sha256: bytes = Field(description="Settings of the source.")
    run_key: int | None = Field(default=None, description="Run that it taints; NULL: none.")
    path: str = Field(description="File, for display.")
    source_offset: int = Field(description="Byte offset.")
    n_bytes: int = Field(description="Length, bytes; 0: unknown.")
    code: str = Field(description="Slug.")
    reason: str = Field(description="Sentence.")


class LedgerRow(SQLModel, table=True):
    """What one batch wrote to one table, with a digest that `verify` recomputes."""

    __tablename__ = "ingest_ledger"
    batch: int = Field(primary_key=True, description="Batch: one transaction.")
    table_name: str = Field(primary_key=True, description="Table.")
    n_rows: int = Field(description="Rows written.")
    rows_digest: bytes = Field(description="Sum (order-free) of the rows' hashes; see store/ledger.")
    written: str = Field(description="UTC time of the batch.")


class ReviewRow(SQLModel, table=True):
    """A reviewer's judgement of a pair; append-only."""

    __tablename__ = "review"
    review_key: int = Field(primary_key=True, description="Ordinal.")
    run_a: str = Field(description="run_id of one run, the smaller.")
    run_b: str = Field(description="run_id of the other.")
    reviewer: str = Field(description="Who.")
    blind: bool = Field(description="True where the arms were hidden.")
    judgement: str = Field(description="matters, no-matter or unsure.")
    reason: str = Field(description="Why.")
    written: str = Field(description="UTC time.")
    supersedes: int | None = Field(default=None, description="review_key that it replaces; NULL: none.")


TABLES: tuple[type[SQLModel], ...] = (
    Meta,
    SourceRow,
    RunRow,
    EventRow,
    BodyRow,
    CallRow,
    UsageRow,
    TokenRow,
    TokenRankRow,
    FacetRow,
    RulesetRow,
    TreeRow,
    PatchRow,
    PatchPathRow,
    PatchEditRow,
    ReportRow,
    OutcomeRow,
    GradeRow,
    InvariantRow,
    ManifestRow,
    DefectRow,
    LedgerRow,
    ReviewRow,
)
