"""What `samework show` answers: one run, the evidence it holds, and what is missing. Frozen records."""

from __future__ import annotations

from typing import Any

import msgspec

from samework.claims.needs import Need
from samework.model.results import RunSummary


class FacetEvidence(msgspec.Struct, frozen=True):
    """Evidence of one facet. grade `none`: missing, then reason is a slug and prevents a sentence.

    detail: how much there is, for people. ruleset: short name of the rules, "" where none apply.
    """

    facet: str
    grade: str
    detail: str | None = None
    ruleset: str = ""
    vacuous: bool = False
    reason: str | None = None
    prevents: str | None = None


class ManifestField(msgspec.Struct, frozen=True):
    """One field of the manifest as recorded. value: decoded JSON, None with the reason in `absence`."""

    field: str
    value: object | None = None
    source: str | None = None
    absence: str | None = None
    origin: str | None = None


class ManifestGroup(msgspec.Struct, frozen=True):
    """Fields of one concern. missing: names that replay claims ask for and the run does not have."""

    group: str
    title: str
    fields: tuple[ManifestField, ...] = ()
    missing: tuple[str, ...] = ()


class Defect(msgspec.Struct, frozen=True):
    """A place of the source that could not be read, or a finding about it."""

    path: str
    offset: int
    code: str
    reason: str


class TreeDetail(msgspec.Struct, frozen=True):
    """The tree a run left; oid None where there is none, null_reason says why."""

    oid: str | None
    tcd: str | None
    policy: str
    grade: str
    null_reason: str | None = None
    base_commit: str | None = None
    n_files: int | None = None
    flags: tuple[str, ...] = ()


class PatchDetail(msgspec.Struct, frozen=True):
    """The patch a run submitted, by path."""

    status: str
    grade: str
    n_paths: int = 0
    reason: str | None = None
    base_commit: str | None = None
    repairs: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


class ReportDetail(msgspec.Struct, frozen=True):
    """One test report."""

    format: str
    suite: str | None
    env: str | None
    complete: bool
    n_nodes: int
    n_executed: int
    n_failing: int
    incomplete_reason: str | None = None
    findings: tuple[str, ...] = ()


class UsageDetail(msgspec.Struct, frozen=True):
    """Tokens that servers reported, summed over the calls that have the count; None: recorded of no call.

    n_calls: calls with any count. n_cached: calls whose reuse from a cache is recorded.
    """

    n_calls: int
    n_cached: int = 0
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None


class RunDetail(msgspec.Struct, frozen=True):
    """Everything `samework show` tells of one run. next_time: what each claim still needs, the least first."""

    run: RunSummary
    layout: str
    source: str
    facets: tuple[FacetEvidence, ...]
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    recorder: str | None = None
    started: str | None = None
    ended: str | None = None
    end_detail: str | None = None
    incomplete_reason: str | None = None
    has_trajectory: bool = True
    n_events: int = 0
    usage: UsageDetail | None = None
    base_commit: str | None = None
    repo: str | None = None
    tree: TreeDetail | None = None
    patch: PatchDetail | None = None
    tests: tuple[ReportDetail, ...] = ()
    outcomes: dict[str, object] = {}
    invariants: dict[str, bool | None] = {}
    manifest: tuple[ManifestGroup, ...] = ()
    defects: tuple[Defect, ...] = ()
    next_time: tuple[Need, ...] = ()

    @property
    def grades(self) -> dict[str, str]:
        """Facet to grade, as in `samework runs --json`."""
        return {facet.facet: facet.grade for facet in self.facets}


class FormatInfo(msgspec.Struct, frozen=True):
    """One reader: how it recognises its format and what that format can ever evidence."""

    name: str
    title: str
    detects: str
    proven: bool
    evidence: dict[str, str]


class QueryResult(msgspec.Struct, frozen=True):
    """Rows of a query by column. truncated: the limit cut the answer. table: the same as an Arrow table.

    n_redacted: secrets that were taken out.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    truncated: bool = False
    table: Any = None
    n_redacted: int = 0


class NamedQuery(msgspec.Struct, frozen=True):
    """A saved query: what it answers, its parameters and its text."""

    name: str
    title: str
    sql: str
