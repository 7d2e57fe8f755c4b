"""The nodes of one test report as it is read: every observation kept, oddities put into sentences.

Refuses to choose between two outcomes of one test: both stay, and the report says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.canon.node_ids import masked_ids
from samework.model.records import NodeOutcome, SuiteReport
from samework.text import shortened

if TYPE_CHECKING:
    from samework.model.words import NodeResult

_MAX_NAMED = 20


class NodeList:
    """Observations of test nodes in order, with what was odd about them."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, NodeResult, str | None]] = []
        self.findings: list[str] = []

    def add(self, node: str, result: NodeResult, detail: str | None = None) -> None:
        """One observation of one node."""
        self.seen.append((node, result, detail))

    def report(self, format_name: str, incomplete_reason: str | None, **facts: object) -> SuiteReport:
        """The report; memory addresses in ids are masked, conflicts named. facts: other fields of the report."""
        names = masked_ids([node for node, _, _ in self.seen])
        findings = list(self.findings)
        n_masked = sum(node != name for (node, _, _), name in zip(self.seen, names, strict=True))
        if n_masked:
            findings.append(f"{n_masked} test ids hold a memory address, masked")
        results: dict[str, set[NodeResult]] = {}
        for name, (_, result, _) in zip(names, self.seen, strict=True):
            results.setdefault(name, set()).add(result)
        if len(results) != len(names):
            findings.append(f"{len(names) - len(results)} entries repeat the id of another; all are kept")
        conflicts = [(name, found) for name, found in results.items() if len(found) > 1]
        for name, found in conflicts[:_MAX_NAMED]:
            findings.append(f"{shortened(name, 200)}: conflicting outcomes {', '.join(sorted(found))}")
        if len(conflicts) > _MAX_NAMED:
            findings.append(f"{len(conflicts) - _MAX_NAMED} more tests have conflicting outcomes")
        outcomes = tuple(
            NodeOutcome(name, result, detail) for name, (_, result, detail) in zip(names, self.seen, strict=True)
        )
        reason = incomplete_reason or (None if outcomes else "no_tests")
        return SuiteReport(
            outcomes=outcomes,
            complete=reason is None,
            format=format_name,
            incomplete_reason=reason,
            findings=tuple(findings),
            **facts,  # type: ignore[arg-type]
        )
