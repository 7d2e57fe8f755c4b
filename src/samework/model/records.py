"""What a reader yields besides events: starts and ends of runs, artifacts, facts of the manifest, damage.

Order in a stream: `RunStart`, then anything, then `RunEnd`. A `SuiteReport`, `PatchRecord` or `OutcomeRecord` outside
a run carries its own `task` and is joined to a run by the pipeline. Nothing here touches a file.
"""

from __future__ import annotations

import msgspec

from samework.model.events import Event
from samework.model.words import Absence, EndReason, FieldSource, Grade, NodeResult, RunKind


class RunStart(msgspec.Struct, frozen=True, tag="run_start"):
    """A run begins.

    task / arm / repeat: as the source records them, None where it does not. layout: family of sources whose tasks and
    environments mean the same ("swe-bench", "tau-bench", "bundle" ...). content_sha256 (hex): identity of the run's
    record inside a source of many runs; None where the source is the run. base_commit: hex. native_id: the tool's
    own id. recorder: program and version that wrote the record. tokenizer: digest (hex) or None. is_partial: holds
    artifacts only (a predictions line), to be joined to a run of the same task and arm. extra: unknown keys, kept.
    """

    task: str | None = None
    arm: str | None = None
    repeat: str | None = None
    kind: RunKind = RunKind.CODING
    layout: str = ""
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    native_id: str | None = None
    parent_native_id: str | None = None
    recorder: str | None = None
    tokenizer: str | None = None
    base_commit: str | None = None
    repo: str | None = None
    started: str | None = None
    ended: str | None = None
    content_sha256: str | None = None
    is_partial: bool = False
    run_id: str | None = None
    extra: dict[str, object] | None = None


def versioned(recorder: str | None) -> bool:
    """Whether a recorder is known with its version; two unknown versions need not parse alike.

    >>> versioned("codex 0.42.0"), versioned("harbor"), versioned("gemini-cli (unknown version)")
    (True, False, False)
    """
    name, _, version = (recorder or "").partition(" ")
    return bool(name) and _NO_VERSION not in version and any(letter.isdigit() for letter in version)


_NO_VERSION = "(unknown version)"


class RunEnd(msgspec.Struct, frozen=True, tag="run_end"):
    """A run ends. detail: the source's own word for the reason."""

    reason: EndReason = EndReason.UNRECORDED
    detail: str | None = None
    ended: str | None = None


class Damage(msgspec.Struct, frozen=True, tag="damage"):
    """A byte range that could not be read. reason: a sentence. n_bytes: length, 0 where unknown.

    taints_run: the run's record is incomplete because of it.
    """

    offset: int
    n_bytes: int
    reason: str
    code: str = "damaged-record"
    taints_run: bool = True


class ManifestFact(msgspec.Struct, frozen=True, tag="manifest"):
    """One field of the manifest, dotted name: a value with its source, or the reason of its absence.

    requested values use the suffix `_requested`, effective ones none.
    """

    field: str
    value: object | None = None
    source: FieldSource | None = None
    absence: Absence | None = None
    where: str | None = None


class PatchRecord(msgspec.Struct, frozen=True, tag="patch"):
    """The patch a run submitted. patch None: no submission recorded (unknown). b"": an empty one (no work)."""

    patch: bytes | None
    task: str | None = None
    arm: str | None = None
    base_commit: str | None = None
    null_reason: str | None = None
    grade: Grade = Grade.DIRECT


class TreeRecord(msgspec.Struct, frozen=True, tag="tree"):
    """Where a run's resulting tree is. Exactly one form: worktree; repo+commit; repo+base+patch; oid (asserted).

    Paths are relative to the source's directory; the pipeline resolves them and refuses any that leave it,
    unless the user gave them on the command line.
    """

    worktree: str | None = None
    repo: str | None = None
    commit: str | None = None
    base: str | None = None
    patch: str | None = None
    oid: str | None = None


class NodeOutcome(msgspec.Struct, frozen=True, gc=False):
    """One observation of one test node. node: id as the runner names it; `path::<collection>` for a collector."""

    node: str
    outcome: NodeResult
    detail: str | None = None


class SuiteReport(msgspec.Struct, frozen=True, tag="tests"):
    """One test report.

    outcomes: each observation; a node may occur twice (conflict). complete: see docs/equivalence.md, tests.
    incomplete_reason: slug. suite / env: names as recorded. findings: sentences about oddities of the report.
    resolved: a grader's own verdict, kept as an outcome.
    """

    outcomes: tuple[NodeOutcome, ...]
    complete: bool
    format: str
    incomplete_reason: str | None = None
    suite: str | None = None
    env: str | None = None
    command: str | None = None
    runner: str | None = None
    exit_code: int | None = None
    n_collected: int | None = None
    findings: tuple[str, ...] = ()
    task: str | None = None
    arm: str | None = None
    offset: int | None = None


class OutcomeRecord(msgspec.Struct, frozen=True, tag="outcome"):
    """A grader's recorded verdict or score: name (`resolved`, `reward`) and value (bool, number or text)."""

    name: str
    value: bool | int | float | str
    task: str | None = None
    arm: str | None = None


class Invariant(msgspec.Struct, frozen=True, tag="invariant"):
    """A declared predicate and its result; None is unknown."""

    name: str
    value: bool | None


class Include(msgspec.Struct, frozen=True, tag="include"):
    """A file of the source that another reader must read. role: "transcript", "tests", "manifest" or "patch".

    The pipeline detects its format and merges what it yields into the current run.
    """

    path: str
    role: str
    suite: str | None = None
    env: str | None = None
    optional: bool = False


Record = (
    RunStart
    | RunEnd
    | Event
    | Damage
    | ManifestFact
    | PatchRecord
    | TreeRecord
    | SuiteReport
    | OutcomeRecord
    | Invariant
    | Include
)
