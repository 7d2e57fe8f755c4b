"""Patches, trees, test reports and manifests to rows. Pure but for trees, which `Trees` takes from Git.

Refuses to call anything empty that is not recorded: an absent patch keeps its reason.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import orjson

from samework.canon.arguments import canonical_value
from samework.canon.commit_ids import commit_id
from samework.canon.node_ids import is_test
from samework.canon.patch import parse_patch
from samework.model.words import Grade, NodeResult
from samework.text import storable, storable_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from samework.canon.patch import PatchFacts
    from samework.ingest.rows import RunRows
    from samework.ingest.settings import Given
    from samework.model.records import ManifestFact, PatchRecord, SuiteReport
    from samework.model.results import SnapshotResult
    from samework.store.write import BatchWriter

_FAILING = frozenset({NodeResult.FAILED, NodeResult.ERROR})
_BEYOND_COLUMN = 1 << 63
_STRENGTH = {"measured": 3, "declared": 2, "defaulted": 1}


def value_text(value: object) -> str:
    """A value as canonical JSON, or as plain JSON where it has no canonical form."""
    try:
        return canonical_value(value)
    except ValueError:
        return storable(orjson.dumps(repr(value)).decode())


def patch_sha256(record: PatchRecord) -> bytes | None:
    """Identity of a patch after the declared repairs, None where none is recorded."""
    return None if record.patch is None else hashlib.sha256(parse_patch(record.patch).normalised).digest()


def patch_rows(rows: RunRows, record: PatchRecord, base_commit: str | None) -> PatchFacts | None:
    """Add the patch of a run and its paths; returns what the patch states, None where none is recorded."""
    base = commit_id(record.base_commit) or commit_id(base_commit)
    if record.patch is None:
        reason = record.null_reason or "no patch is recorded"
        rows.table("patch").append(
            (None, None, False, base, "absent", storable(reason), "[]", 0, None, Grade.NONE.value)
        )
        return None
    facts = parse_patch(record.patch)
    body = hashlib.sha256(record.patch).digest()
    rows.body(body, record.patch.decode("utf-8", "replace").encode("utf-8"))
    rows.table("patch").append(
        (
            body,
            hashlib.sha256(facts.normalised).digest(),
            facts.is_empty,
            base,
            facts.status,
            None if facts.reason is None else storable(facts.reason),
            canonical_value(list(facts.repairs)),
            len(facts.paths),
            facts.min_id_digits,
            record.grade.value,
        )
    )
    rows.table("patch_path").extend((storable(path.path), path.mode, path.blob_id, path.change) for path in facts.paths)
    rows.table("patch_edit").extend(
        (storable(path.path), path.before_id, path.change_sha256)
        for path in facts.paths
        if path.before_id is not None or path.change_sha256 is not None
    )
    return facts


def tree_row(rows: RunRows, tree: SnapshotResult) -> None:
    """Add the tree of a run."""
    rows.table("run_tree").append(
        (
            tree.oid,
            tree.object_format,
            None if tree.tcd is None else bytes.fromhex(tree.tcd),
            tree.base_oid,
            tree.base_commit,
            tree.policy,
            "\n".join(tree.scope),
            (tree.grade if tree.oid is not None or tree.tcd is not None else Grade.NONE).value,
            None if tree.null_reason is None else storable(tree.null_reason),
            tree.n_files,
            tree.n_ignored,
            None if tree.ignored_sha256 is None else bytes.fromhex(tree.ignored_sha256),
            canonical_value(list(tree.flags)),
        )
    )


def _pairs(report: SuiteReport) -> list[tuple[str, str]]:
    """The sorted, distinct (node, outcome) pairs; a node is written so that no two have one text."""
    return sorted({(storable_id(outcome.node), outcome.outcome.value) for outcome in report.outcomes})


def map_sha256(report: SuiteReport) -> bytes:
    """Digest of the sorted, distinct (node, outcome) pairs: sha256 of their canonical JSON."""
    return hashlib.sha256(canonical_value([list(pair) for pair in _pairs(report)]).encode()).digest()


def write_report(
    writer: BatchWriter, run_key: int, report: SuiteReport, sha256: bytes, *, given: Given, layout: str
) -> None:
    """Write one test report of a run with its outcomes. The user's suite and environment stand above the recorded."""
    key = writer.next_key("test_report")
    pairs = _pairs(report)
    suite, env = suite_and_env(report, given)
    results: dict[str, set[NodeResult]] = {}
    for outcome in report.outcomes:
        results.setdefault(outcome.node, set()).add(outcome.outcome)
    row: Mapping[str, object] = {
        "report_key": key,
        "run_key": run_key,
        "report_sha256": sha256,
        "format": report.format,
        "suite": suite,
        "env": env,
        "layout": layout,
        "runner": text_or_none(report.runner),
        "exit_code": report.exit_code if abs(report.exit_code or 0) < _BEYOND_COLUMN else None,
        "complete": report.complete,
        "incomplete_reason": report.incomplete_reason,
        "n_nodes": len(results),
        "n_executed": sum(
            is_test(node) and any(result.executed for result in found) for node, found in results.items()
        ),
        "n_failing": sum(not found.isdisjoint(_FAILING) for found in results.values()),
        "has_conflict": any(len(found) > 1 for found in results.values()),
        "map_sha256": map_sha256(report),
        "findings": value_text([storable(finding) for finding in report.findings]),
    }
    writer.append("test_report", {name: [value] for name, value in row.items()})
    if pairs:
        writer.append(
            "test_outcome",
            {
                "report_key": [key] * len(pairs),
                "node": [node for node, _ in pairs],
                "outcome": [outcome for _, outcome in pairs],
            },
        )


def suite_and_env(report: SuiteReport, given: Given) -> tuple[str | None, str | None]:
    """Under which a report is stored: the user's word stands above the recorded."""
    return _id_or_none(given.suite or report.suite), _id_or_none(given.env or report.env)


def _id_or_none(value: str | None) -> str | None:
    return None if value is None else storable_id(value)


def manifest_rows(rows: RunRows, facts: list[ManifestFact]) -> None:
    """Add a run's manifest; of several values of a field the strongest source counts, then the first."""
    best: dict[str, ManifestFact] = {}
    for fact in facts:
        held = best.get(fact.field)
        if held is None or _strength(fact) > _strength(held):
            best[fact.field] = fact
    table = rows.table("manifest_field")
    for fact in best.values():
        present = fact.source is not None
        table.append(
            (
                storable(fact.field),
                value_text(fact.value) if present else None,
                fact.source.value if fact.source is not None else None,
                None if present else (fact.absence.value if fact.absence is not None else "unrecorded"),
                text_or_none(fact.where),
            )
        )


def _strength(fact: ManifestFact) -> int:
    return _STRENGTH[fact.source.value] if fact.source is not None else 0


def text_or_none(value: str | None) -> str | None:
    """Text that the store can hold; None stays None."""
    return None if value is None else storable(value)
