"""One run's evidence, facet by facet: how much there is and at which grade, or why there is none. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from samework.api.details import FacetEvidence, PatchDetail, ReportDetail, TreeDetail
from samework.api.inventory import prevents
from samework.model.words import Grade
from samework.secrets.finding import may_be_said
from samework.text import counted

if TYPE_CHECKING:
    from samework.model.results import RunSummary


class Artifacts(msgspec.Struct, frozen=True):
    """What a run left behind."""

    tree: TreeDetail | None = None
    patch: PatchDetail | None = None
    tests: tuple[ReportDetail, ...] = ()
    outcomes: dict[str, object] = {}
    invariants: dict[str, object] = {}


def facet_evidence(
    facet: str,
    summary: RunSummary,
    digests: dict[str, dict[str, Any]],
    held: Artifacts,
) -> FacetEvidence:
    """What one run has on one facet, or what its absence prevents. digests: rows of `run_facets` by facet."""
    grade = summary.evidence[facet]
    row = digests.get("completion_tokens" if facet == "tokens" else facet, {})
    ruleset, vacuous = str(row.get("ruleset", "")), bool(row.get("vacuous", False))
    if grade == "not_applicable":
        return FacetEvidence(facet, grade, detail=f"a {summary.kind} run leaves none")
    if grade != Grade.NONE:
        return FacetEvidence(facet, grade, _detail(facet, row, held), ruleset, vacuous)
    reason = _reason(facet, row, held)
    return FacetEvidence(facet, grade, None, ruleset, vacuous, reason, prevents(facet, reason))


def _reason(
    facet: str,
    row: dict[str, Any],
    held: Artifacts,
) -> str:
    if row.get("null_reason"):
        return str(row["null_reason"])
    if facet == "tree":
        return next(
            (item for item in (held.tree and held.tree.null_reason, held.patch and held.patch.reason) if item),
            "unrecorded",
        )
    if facet == "patch" and held.patch is not None:
        return held.patch.reason or held.patch.status
    if facet == "tests" and held.tests:
        return held.tests[0].incomplete_reason or "vacuous"
    return "unrecorded"


def _detail(
    facet: str,
    row: dict[str, Any],
    held: Artifacts,
) -> str | None:
    if facet == "tree":
        return _tree_words(held.tree, held.patch)
    if facet == "patch" and held.patch is not None:
        return "empty: no work" if held.patch.status == "empty" else counted(held.patch.n_paths, "path")
    if facet == "tests":
        parts = counted(len(held.tests), "report")
        incomplete = sum(not report.complete for report in held.tests)
        assumed = any(report.suite is None or report.env is None for report in held.tests)
        return "; ".join(
            [parts]
            + ([f"{incomplete} incomplete: an absent test says nothing"] if incomplete else [])
            + (["suite or environment unrecorded: classes by tests are provisional"] if assumed else [])
        )
    if facet in {"outcome", "invariants"}:
        values = held.outcomes if facet == "outcome" else held.invariants
        return ", ".join(f"{name} = {_said(name, json.dumps(value))}" for name, value in values.items())
    n_parts = row.get("n_parts")
    unit = {"tokens": "completion", "text": "completion", "actions": "call", "observations": "observation"}.get(facet)
    return counted(n_parts, unit) if unit and n_parts is not None else None


def _said(name: str, value: str) -> str:
    return value if may_be_said(name, value) else "a value that looks like a secret"


def _tree_words(tree: TreeDetail | None, patch: PatchDetail | None) -> str:
    if tree is not None and (tree.oid or tree.tcd):
        n_files = f", {counted(tree.n_files, 'file')}" if tree.n_files is not None else ""
        return f"{tree.policy} {(tree.oid or tree.tcd or '')[:12]}{n_files}"
    base = patch.base_commit[:12] if patch is not None and patch.base_commit else "an unrecorded base"
    return f"post-images of the patch on {base}"
