"""The gate: checks what was asked, and says of each gap what to record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from samework.api.files import writing
from samework.api.inventory import what_to_record
from samework.api.runs import check_names
from samework.errors import UsageError
from samework.experiment.gate import gate
from samework.experiment.gate_requirement import requirement
from samework.experiment.gate_terms import Terms, parsed_share

if TYPE_CHECKING:
    from pathlib import Path

    from samework.model.gate import GateGap, GateResult
    from samework.store.connection import StoreHandle


def run_gate(
    handle: StoreHandle,
    *,
    baseline: str,
    candidate: str,
    require: str,
    at_most: str | None,
    task: str | None,
    strict: bool,
    accept_provisional: bool,
) -> GateResult:
    """The gate's answer, with a sentence for each gap. Raises UsageError, NotFound, EvidenceError."""
    if baseline == candidate:
        raise UsageError("baseline and candidate are one arm; a gate compares two", hint="samework runs")
    terms = Terms(
        baseline=baseline,
        candidate=candidate,
        wanted=requirement(require),
        at_most=parsed_share(at_most) if at_most is not None else None,
        strict=strict,
        accept_provisional=accept_provisional,
    )
    check_names(handle, task=task, arms=[baseline, candidate])
    found = gate(handle, terms, task=task)
    tasks = tuple(msgspec.structs.replace(item, missing=_told(item.missing)) for item in found.by_task)
    return msgspec.structs.replace(found, missing=_told(found.missing), by_task=tasks)


def _told(gaps: tuple[GateGap, ...]) -> tuple[GateGap, ...]:
    return tuple(msgspec.structs.replace(gap, sentence=what_to_record(gap.facet, gap.reason)) for gap in gaps)


def write_gate_files(found: GateResult, *, junit: Path | None = None, summary: Path | None = None) -> None:
    """Write what CI shows.

    Args:
        found: a gate's answer.
        junit: file for JUnit XML; one that exists is replaced.
        summary: file to whose end the Markdown is added, as GitHub wants it; made where there is none.

    Raises:
        InputError: a file cannot be written; the message has the reason.
    """
    from samework.report.gate_junit import gate_junit
    from samework.report.gate_markdown import gate_markdown

    if junit is not None:
        with writing(junit):
            junit.write_bytes(gate_junit(found))
    if summary is not None:
        with writing(summary), summary.open("ab") as end:
            end.write(gate_markdown(found).encode("utf-8", "backslashreplace"))
