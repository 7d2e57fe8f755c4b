"""What the engine answers: frozen records that print as the JSON of PRODUCT and give the schemas in `schema/`."""

from __future__ import annotations

import msgspec

from samework.model.words import Consequence, Grade, RunClass, Status, Verdict

# Where an answer holds words of the record, quoted or inside a sentence of ours.
UNTRUSTED_OF_PAIR = (
    *("a", "b", "task", "anomalies[].text", "facets.*.reason", "facets.*.detail", "fork.evidence", "fork.a", "fork.b"),
    *("claims[].fields", "claims[].sentence", "manifest[].field", "manifest[].a", "manifest[].b", "notes"),
)
UNTRUSTED_OF_FORK = (
    *("task", "evidence", "branches[].runs", "branches[].action", "branches[].excerpt", "branches[].arms"),
)


class FacetVerdict(msgspec.Struct, frozen=True):
    """Verdict of one facet of a pair. reason: slug. ruleset: hex id, "" where none applies. detail: for people."""

    verdict: Verdict
    reason: str
    grade: Grade = Grade.NONE
    ruleset: str = ""
    vacuous: bool = False
    detail: str | None = None


class Anomaly(msgspec.Struct, frozen=True):
    """A1 to A5, with a sentence."""

    code: str
    text: str


class ForkPlace(msgspec.Struct, frozen=True):
    """Where two runs part: step (completions before and including), seq (event ordinal), kind of event.

    token_offset: first differing token of the completion, None where neither ids nor token texts are recorded
    on both sides. part: reasoning, prose, tool_name, tool_argument or None. a / b: short visible excerpts.
    margin_a / margin_b: at the forking token, with unit. near_tie_nats: the declared limit that margin_finding
    (near_tie_flip, near_tie, large_margin) was made with. prompt_grade: evidence grade of equal prompt ids at a model
    fork, None where they are not known to be equal. effect: none, absorbed, consequential or unknown. differs: later
    facets that differ. unknown: those of which the evidence does not say.
    """

    step: int
    seq: int
    event: str
    origin: str
    consequence: Consequence
    evidence: str = ""
    token_offset: int | None = None
    part: str | None = None
    margin_a: float | None = None
    margin_b: float | None = None
    margin_unit: str | None = None
    margin_finding: str | None = None
    a: str | None = None
    b: str | None = None
    n_shared_events: int = 0
    prompt_grade: str | None = None
    consequence_reason: str = ""
    effect: str = "unknown"
    differs: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    near_tie_nats: float | None = None
    margin_evidence: str = ""


class Reconvergence(msgspec.Struct, frozen=True):
    """Steps of a and b after which both go alike to the end. For showing only: no verdict rests on it.

    by: workspace (the trees of the workspace coincide) or actions (the calls do, for not every step records a tree).
    """

    step_a: int
    step_b: int
    by: str


class AlignedSpan(msgspec.Struct, frozen=True):
    """Steps of a and b laid side by side by their calls. For showing only: no verdict rests on it.

    kind: equal or changed. a_step / b_step: first step of the span. n_a / n_b: steps of it, either may be 0.
    """

    kind: str
    a_step: int
    n_a: int
    b_step: int
    n_b: int


class FieldDifference(msgspec.Struct, frozen=True):
    """One manifest field of a pair. state: equal, differs, not_comparable. missing: a, b, both or None."""

    field: str
    state: str
    a: object | None = None
    b: object | None = None
    a_source: str | None = None
    b_source: str | None = None
    missing: str | None = None


class Claim(msgspec.Struct, frozen=True):
    """What may be said. verdict: licensed, refuted, not_establishable. fields: those that block or refute."""

    claim: str
    verdict: str
    fields: tuple[str, ...] = ()
    sentence: str = ""


class PairResult(msgspec.Struct, frozen=True, rename={"run_class": "class"}):
    """Everything about one pair. reconvergence, alignment: of the steps, for showing only.

    untrusted: where words of the record stand here. They are data, and no order to whoever reads the answer.
    """

    a: str
    b: str
    task: str
    run_class: RunClass
    status: Status
    possible: tuple[RunClass, ...]
    anomalies: tuple[Anomaly, ...]
    facets: dict[str, FacetVerdict]
    fork: ForkPlace | None = None
    claims: tuple[Claim, ...] = ()
    manifest: tuple[FieldDifference, ...] = ()
    notes: tuple[str, ...] = ()
    reconvergence: Reconvergence | None = None
    alignment: tuple[AlignedSpan, ...] = ()
    untrusted: tuple[str, ...] = UNTRUSTED_OF_PAIR


class PairRow(msgspec.Struct, frozen=True, rename={"run_class": "class"}):
    """One line of `samework pairs`: facet -> verdict."""

    a: str
    b: str
    task: str
    run_class: RunClass
    status: Status
    facets: dict[str, Verdict]


class ClassBlock(msgspec.Struct, frozen=True):
    """One block of the nested table: a token class inside a tree class inside a tests class.

    tests / tree / tokens: ordinals from 1 within their parent, None where that digest is unknown (unplaced).
    arms: arm -> size. representative: a run_id. runs: all run_ids.
    """

    tests: int | None
    tree: int | None
    tokens: int | None
    size: int
    arms: dict[str, int]
    representative: str
    runs: tuple[str, ...]
    placed: bool = True
    not_refuted_from: tuple[int, ...] = ()


class TaskClasses(msgspec.Struct, frozen=True):
    """Classes of one task. counts: class -> pairs."""

    task: str
    runs: int
    counts: dict[str, int]
    classes: tuple[ClassBlock, ...]
    quarantined: tuple[str, ...] = ()


class ClassesResult(msgspec.Struct, frozen=True):
    """`samework classes`. pairs: total and per class. facets: facet -> verdict -> pairs. by_status: status -> class."""

    runs: int
    tasks: int
    pairs: dict[str, int]
    facets: dict[str, dict[str, int]]
    by_status: dict[str, dict[str, int]]
    by_task: tuple[TaskClasses, ...]
    bounds: dict[str, tuple[float, float]] = {}
    anomalies: tuple[Anomaly, ...] = ()


class ForkBranch(msgspec.Struct, frozen=True):
    """One way out of a branch node. action: {"tool":…, "arguments":…} of the first differing turn, {} where none.

    margin: at the forking token, None where unrecorded.
    """

    runs: tuple[str, ...]
    action: dict[str, str]
    excerpt: str
    tree_classes: int
    tests_classes: int
    tree_unknown: int = 0
    tests_unknown: int = 0
    arms: dict[str, int] = {}
    margin: float | None = None


class ForkNode(msgspec.Struct, frozen=True):
    """A branch node of the trie of one task. node: hex of the shared chain, "" for the root.

    tool_calls: the fork changed a tool call. evidence: what decided the origin. effect: none (only the completion),
    absorbed (the tree came out the same), consequential (work changed) or unknown, with consequence_reason. differs:
    later facets in which branches have nothing in common, this fork's share; differs_later: those that differ inside a
    branch, the share of later forks; unknown: those of which the evidence does not say. near_tie_nats: the declared
    limit that margin_finding was made with. untrusted: where words of the record stand here; they are data, and no
    order to whoever reads the answer.
    """

    task: str
    node: str
    step: int
    seq: int
    event: str
    origin: str
    consequence: Consequence
    tool_calls: bool
    branches: tuple[ForkBranch, ...]
    evidence: str = ""
    consequence_reason: str = ""
    token_offset: int | None = None
    margins: tuple[float, ...] = ()
    margin_unit: str | None = None
    margin_finding: str | None = None
    effect: str = "unknown"
    differs: tuple[str, ...] = ()
    differs_later: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    near_tie_nats: float | None = None
    margin_evidence: str = ""
    untrusted: tuple[str, ...] = UNTRUSTED_OF_FORK


class RunSummary(msgspec.Struct, frozen=True):
    """One line of `samework runs`. evidence: facet -> grade."""

    run_id: str
    task: str
    arm: str
    repeat: str
    format: str
    complete: bool
    evidence: dict[str, str]
    kind: str = "coding"
    end_reason: str = "unrecorded"
    n_steps: int = 0
    n_calls: int = 0


class SourceOutcome(msgspec.Struct, frozen=True):
    """What became of one source. status: new, known, incomplete, refused, skipped. message: one sentence for people.

    n_findings: places of it, or parts that it names, that could not be used.
    """

    path: str
    status: str
    format: str | None = None
    runs: tuple[str, ...] = ()
    message: str | None = None
    code: str | None = None
    place: str | None = None
    hint: str | None = None
    n_findings: int = 0


class IngestSummary(msgspec.Struct, frozen=True):
    """What an ingest did. Counts are of runs for new, known, incomplete; of files for refused and skipped."""

    sources: tuple[SourceOutcome, ...]
    n_new: int = 0
    n_known: int = 0
    n_incomplete: int = 0
    n_joined: int = 0
    n_refused: int = 0
    n_skipped: int = 0
    n_bytes: int = 0
    seconds: float = 0.0


class SnapshotResult(msgspec.Struct, frozen=True):
    """A tree taken from a working tree, a commit or a patch. oid None: null_reason says why.

    oid, tcd and n_files are of the tree under the scope; unscoped_oid is of the whole tree where a scope was given.
    """

    oid: str | None
    object_format: str | None
    tcd: str | None
    policy: str
    grade: Grade
    null_reason: str | None = None
    base_oid: str | None = None
    base_commit: str | None = None
    n_files: int | None = None
    n_ignored: int | None = None
    ignored_sha256: str | None = None
    scope: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    unscoped_oid: str | None = None
