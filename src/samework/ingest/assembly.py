"""Everything that a source says about one run, gathered between its start and its end.

Refuses nothing: damage becomes a finding with its place.
"""

from __future__ import annotations

import msgspec

from samework.canon.commit_ids import commit_id
from samework.ingest.fold import FoldedTrajectory, TrajectoryFold
from samework.ingest.rows import RunRows
from samework.model.records import (
    Damage,
    Invariant,
    ManifestFact,
    OutcomeRecord,
    PatchRecord,
    RunEnd,
    RunStart,
    SuiteReport,
    TreeRecord,
)
from samework.model.words import EndReason
from samework.text import shortened

_FLUSH_BYTES = 4 * 1024 * 1024
_FLUSH_EVENTS = 4096
_MAX_FINDINGS = 10_000
_WORKSPACE_FIELDS = ("workspace.root", "env.workspace", "workspace.cwd", "env.cwd")
_FILLED = (
    "agent", "agent_version", "model", "native_id", "parent_native_id", "recorder", "tokenizer", "base_commit",
    "repo", "started", "ended",
)  # fmt: skip


class Finding(msgspec.Struct, frozen=True):
    """A damage, with the file it is in."""

    path: str
    damage: Damage


class Findings(list[Finding]):
    """Findings of a run or a source: each by itself up to a limit, those beyond it counted in a last one.

    A file of nothing but damaged lines would else take far more memory than it has bytes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.n_beyond = 0
        self.first_beyond: Damage | None = None

    def note(self, path: str, damage: Damage) -> None:
        """Add a damage."""
        if len(self) < _MAX_FINDINGS:
            self.append(Finding(path, damage))
            return
        first = self.first_beyond = self.first_beyond or damage
        before = self.pop().damage if self.n_beyond else damage
        self.n_beyond += 1
        end = max(before.offset + before.n_bytes, damage.offset + damage.n_bytes)
        reason = f"{self.n_beyond} more places, not listed; the first of them: {first.reason}"
        taints = before.taints_run or damage.taints_run
        rest = Damage(first.offset, max(end - first.offset, 0), reason, code="more-damage", taints_run=taints)
        self.append(Finding(path, rest))


class Report(msgspec.Struct, frozen=True):
    """A test report, with the digest of its content."""

    report: SuiteReport
    sha256: bytes


class RunAssembly:
    """One run as it is read.

    format: reader that gives its trajectory. key: its number once rows of it were flushed, None before.
    """

    def __init__(self, start: RunStart, format_name: str, path: str) -> None:
        self.format = format_name
        self.path = path
        self.rows = RunRows()
        self.fold: TrajectoryFold | None = None
        self.folded: FoldedTrajectory | None = None
        self.key: int | None = None
        self.end = RunEnd()
        self.patch: PatchRecord | None = None
        self.tree: TreeRecord | None = None
        self.facts: list[ManifestFact] = []
        self.reports: list[Report] = []
        self.outcomes: dict[str, OutcomeRecord] = {}
        self.invariants: dict[str, Invariant] = {}
        self.findings = Findings()
        self.tainted_by: str | None = None
        self._odd_bases: set[str] = set()
        self.start = msgspec.structs.replace(start, base_commit=self._base(start.base_commit))

    def _base(self, named: str | None) -> str | None:
        """The id of a base commit; one that is no id is unrecorded, and a finding tells it once."""
        base = commit_id(named)
        if named is not None and base is None and named not in self._odd_bases:
            self._odd_bases.add(named)
            reason = f"the base {shortened(named, 80)!r} is no commit id, so the base is unrecorded"
            self.damage(Damage(0, 0, reason, code="odd-base", taints_run=False))
        return base

    def ensure_fold(self) -> TrajectoryFold:
        """The fold of its events, made with what is known of the run when the first is wanted."""
        if self.fold is None:
            given = [fact for fact in self.facts if fact.field in _WORKSPACE_FIELDS and isinstance(fact.value, str)]
            given.sort(key=lambda fact: _WORKSPACE_FIELDS.index(fact.field))
            roots = tuple(str(fact.value) for fact in given)
            self.fold = TrajectoryFold(
                self.rows, self.damage, tokenizer=self.start.tokenizer, recorder=self.start.recorder, workspaces=roots
            )
        return self.fold

    def finish(self) -> FoldedTrajectory:
        """End its trajectory: its digests are made, and nothing is left that cannot travel between processes."""
        if self.folded is None:
            self.folded = self.ensure_fold().finish()
            self.fold = None
        return self.folded

    def damage(self, damage: Damage, path: str | None = None) -> None:
        """Note a damage; one that taints the run makes it incomplete."""
        self.findings.note(path or self.path, damage)
        if damage.taints_run and self.tainted_by is None:
            self.tainted_by = damage.reason

    def other(self, record: object) -> None:
        """Add an artifact or a fact."""
        if isinstance(record, ManifestFact):
            self.facts.append(record)
        elif isinstance(record, PatchRecord):
            held = self.patch is not None and self.patch.patch is not None
            base = self._base(record.base_commit)
            self.patch = self.patch if held else msgspec.structs.replace(record, base_commit=base)
        elif isinstance(record, TreeRecord):
            self.tree = record
        elif isinstance(record, OutcomeRecord):
            self.outcomes[record.name] = record
        elif isinstance(record, Invariant):
            self.invariants[record.name] = record

    def merge_start(self, start: RunStart) -> None:
        """Take from an included transcript what the run itself does not say."""
        start = msgspec.structs.replace(start, base_commit=self._base(start.base_commit))
        given = {name: getattr(start, name) for name in _FILLED if getattr(self.start, name) is None}
        self.start = msgspec.structs.replace(self.start, **{name: value for name, value in given.items() if value})

    def merge_end(self, end: RunEnd) -> None:
        """Take an end, unless a better one is known."""
        if end.reason is not EndReason.UNRECORDED or self.end.reason is EndReason.UNRECORDED:
            detail, ended = end.detail or self.end.detail, end.ended or self.end.ended
            self.end = RunEnd(end.reason, detail, ended)

    @property
    def is_large(self) -> bool:
        """True where enough rows wait that they should be flushed."""
        return self.rows.n_bytes > _FLUSH_BYTES or len(self.rows.table("event")) >= _FLUSH_EVENTS

    @property
    def has_trajectory(self) -> bool:
        """True where it has events."""
        trajectory = self.folded or self.fold
        return trajectory is not None and trajectory.n_events > 0

    @property
    def incomplete_reason(self) -> str | None:
        """Why the record is incomplete, None where it is complete."""
        if self.tainted_by is not None:
            return self.tainted_by
        if self.end.reason is EndReason.LOG_TRUNCATED:
            return self.end.detail or "the log was cut"
        return None
