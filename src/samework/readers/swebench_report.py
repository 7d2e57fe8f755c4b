"""SWE-bench reports: `report.json` of one task, keyed by it or bare, and the summary of a whole evaluation.

Each test is the node `CATEGORY::name` (`FAIL_TO_PASS::tests/test_a.py::test_b`): one test may stand under two
categories, and two reports have equal maps exactly if their sets of (category, name, status) are equal. `success` is
passed, `failure` is failed; the grader also files a test that never ran under `failure`. A report lists every test of
its lists, so one that lists any is complete, unless its parts contradict each other: `resolved` beside a test of
FAIL_TO_PASS or PASS_TO_PASS that failed, or beside a patch that was not applied, has no verdict here; not resolved
though all of these passed stays so. A summary gives `resolved` for the ids that it lists as resolved or unresolved,
and nothing for the rest, nor for one that it also lists among errors or empty patches. A key that stands twice in one
object leaves every report of the file incomplete and every verdict out. Refuses what has none of these.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import structs

from samework.decode import strict_json
from samework.decode.document import read_document_checked
from samework.errors import DamagedRecord
from samework.model.reader import Evidence
from samework.model.records import Damage, NodeOutcome, OutcomeRecord, SuiteReport
from samework.model.words import NodeResult
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Reader, Source
    from samework.model.records import Record

_REPORT_KEYS = rb"patch_is_None|patch_exists|patch_successfully_applied|resolved|tests_status"
_FIRST_KEY = re.compile(rb'\{\s*(?:"(?:[^"\\]|\\.){1,300}"\s*:\s*\{\s*)?"(?:' + _REPORT_KEYS + rb')"\s*:')
_KEYS = re.compile(
    rb'(?<!\\)"(' + _REPORT_KEYS + rb"|resolved_ids|unresolved_ids|ids_resolved|ids_unresolved|resolved_per_project"
    rb'|history|trajectory|messages|model_patch|collectors)"\s*:'
)
_NEEDED = (b"tests_status", b"patch_successfully_applied", b"resolved_ids", b"ids_resolved", b"resolved_per_project")
_STATUSES = {"success": NodeResult.PASSED, "failure": NodeResult.FAILED}
_RESOLVED = ("resolved_ids", "ids_resolved", "resolved")
_UNRESOLVED = ("unresolved_ids", "ids_unresolved", "unresolved")
_FLAGS = ("patch_exists", "patch_successfully_applied")
_DECIDING = ("FAIL_TO_PASS", "PASS_TO_PASS")
_NOT_RUN = ("error_ids", "empty_patch_ids", "incomplete_ids")


class SwebenchReportReader:
    """SWE-bench reports."""

    name = "swebench_report"
    title = "SWE-bench evaluation report (report.json, run summary)"
    detects = "`tests_status` or `patch_successfully_applied`, bare or below a task id; or lists of resolved ids"
    proven = True
    evidence = Evidence(tests="per task, by category; not from a summary", outcome="resolved")

    def sniff(self, head: bytes, source: Source) -> float:  # noqa: ARG002 (content decides)
        """Confidence that `head` begins a report."""
        start = head.removeprefix(strict_json.BOM).lstrip()
        if not start.startswith(b"{"):
            return 0.0
        if not any(name in start for name in _NEEDED):
            return 0.0
        keys = set(_KEYS.findall(start))
        if keys & {b"history", b"trajectory", b"messages", b"model_patch", b"collectors"}:
            return 0.0
        if keys & {b"tests_status", b"patch_successfully_applied"}:
            return 0.95 if _FIRST_KEY.match(start) else 0.7
        return 0.9 if keys & {b"resolved_ids", b"ids_resolved", b"resolved_per_project"} else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield loose `SuiteReport` and `OutcomeRecord`s; `task` is None where a bare report does not name one.

        Raises: DamagedRecord: no JSON, or no report. LimitExceeded: too large.
        """
        document, findings = read_document_checked(source)
        made: list[Record] = []
        if isinstance(document, dict):
            if _is_report(document):
                made = list(_report(document, None))
            elif any(isinstance(document.get(name), list) for name in _RESOLVED):
                made = list(_summary(document))
            else:
                made = list(_by_task(document))
        if strict_json.has_repeated(findings):
            made = _doubted(made, findings)
        if not made or all(isinstance(record, Damage) for record in made):
            told = next((record.reason for record in made if isinstance(record, Damage)), None)
            raise DamagedRecord(
                told or "no SWE-bench report: neither tests_status nor resolved", place=visible(source.path)
            )
        yield from made


READER: Reader = SwebenchReportReader()


def _is_report(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("tests_status"), dict) or isinstance(value.get("resolved"), bool)


def _by_task(document: dict[str, Any]) -> Iterator[Record]:
    for task, report in document.items():
        if _is_report(report):
            yield from _report(report, task)
        else:
            yield Damage(0, 0, f"no report under {shortened(task, 80)}", taints_run=False)


def _doubted(made: list[Record], findings: list[str]) -> list[Record]:
    """What is left of a file in which a key stands twice: what it said first is nowhere, and may be worse."""
    kept: list[Record] = [Damage(0, 0, finding, code="odd-json", taints_run=False) for finding in findings]
    for record in made:
        if isinstance(record, SuiteReport):
            told = (*record.findings, *findings)
            kept.append(structs.replace(record, complete=False, incomplete_reason="repeated_key", findings=told))
        elif not isinstance(record, OutcomeRecord):
            kept.append(record)
    return kept


def _report(report: dict[str, Any], task: str | None) -> Iterator[Record]:
    arm = report.get("model_name_or_path")
    arm = arm if isinstance(arm, str) and arm else None
    tests, resolved = report.get("tests_status"), report.get("resolved")
    contradictions = _contradictions(report, resolved)
    if isinstance(tests, dict):
        outcomes, damage, is_whole = _outcomes(tests)
        flags = [f"{flag} is false" for flag in _FLAGS if report.get(flag) is False]
        rules = (
            (not outcomes, "no_tests_listed"),
            (not is_whole, "damaged_report"),
            (bool(contradictions), "contradiction"),
        )
        reason = next((reason for holds, reason in rules if holds), None)
        yield SuiteReport(
            outcomes=outcomes,
            complete=reason is None,
            format="swebench_report",
            incomplete_reason=reason,
            runner="swe-bench",
            n_collected=len(outcomes),
            findings=(*damage, *flags, *contradictions),
            task=task,
            arm=arm,
        )
    if resolved is True and contradictions:
        named = shortened(task or "the report", 80)
        yield Damage(0, 0, f"{named}: {'; '.join(contradictions)}; no verdict is taken", taints_run=False)
    elif isinstance(resolved, bool):
        yield OutcomeRecord("resolved", resolved, task=task, arm=arm)


def _contradictions(report: dict[str, Any], resolved: object) -> list[str]:
    """What the parts of a report say against its verdict, or against the tests being those of the patch."""
    tests = report.get("tests_status")
    lists = [tests.get(category) for category in _DECIDING] if isinstance(tests, dict) else []
    n_passed, n_failed = (sum(_n_named(each, status) for each in lists) for status in ("success", "failure"))
    is_applied = report.get("patch_is_None") is not True and all(report.get(flag) is not False for flag in _FLAGS)
    found = []
    if resolved is True and n_failed:
        found.append(f"resolved is true, yet {n_failed} tests that decide failed")
    if resolved is False and n_passed and not n_failed and is_applied and all(map(_is_whole, lists)):
        found.append("resolved is false, yet every test that decides passed")
    if not is_applied and (resolved is True or n_passed):
        found.append("the patch was not applied, yet " + ("resolved is true" if resolved is True else "tests passed"))
    return found


def _n_named(statuses: object, status: str) -> int:
    names = statuses.get(status) if isinstance(statuses, dict) else None
    return len(names) if isinstance(names, list) else 0


def _is_whole(statuses: object) -> bool:
    return isinstance(statuses, dict) and all(isinstance(statuses.get(status), list) for status in _STATUSES)


def _outcomes(tests: dict[str, Any]) -> tuple[tuple[NodeOutcome, ...], list[str], bool]:
    """Outcomes, each once; sentences on what could not be read; False where that may hide a test."""
    found: dict[NodeOutcome, None] = {}
    findings: list[str] = []
    for category, statuses in tests.items():
        named = shortened(category, 60)
        if not isinstance(statuses, dict):
            findings.append(f"{named} is no object")
            continue
        for status, names in statuses.items():
            result = _STATUSES.get(status)
            if not isinstance(names, list) or (result is None and names):
                findings.append(f"{named}.{shortened(status, 60)} is not a list of passed or failed tests")
                continue
            if result is None:
                continue
            if not all(isinstance(name, str) for name in names):
                findings.append(f"{named}.{status} lists something that is no test name")
            found |= {NodeOutcome(_node(category, name), result): None for name in names if isinstance(name, str)}
    return tuple(found), findings, not findings


def _node(category: str, name: str) -> str:
    """`CATEGORY::name`; a colon inside the category is escaped, so that no two tests share a node.

    >>> _node("FAIL_TO_PASS", "tests/test_a.py::test_b")
    'FAIL_TO_PASS::tests/test_a.py::test_b'
    """
    return f"{category.replace('%', '%25').replace(':', '%3A')}::{name}"


def _summary(document: dict[str, Any]) -> Iterator[Record]:
    resolved, unresolved = _ids(document, _RESOLVED), _ids(document, _UNRESOLVED)
    others = {task: name for name in _NOT_RUN for task in _ids(document, (name,))}
    others |= dict.fromkeys(unresolved, "unresolved")
    for task in resolved:
        if task in others:
            reason = f"{shortened(task, 80)} is listed as resolved and as {others[task]}"
            yield Damage(0, 0, reason, taints_run=False)
        else:
            yield OutcomeRecord("resolved", value=True, task=task)
    for task in unresolved:
        if task not in resolved:
            yield OutcomeRecord("resolved", value=False, task=task)


def _ids(document: dict[str, Any], names: tuple[str, ...]) -> dict[str, None]:
    """Ids of the first of these keys that holds a list, each once, in order."""
    for name in names:
        listed = document.get(name)
        if isinstance(listed, list):
            return {task: None for task in listed if isinstance(task, str) and task}
    return {}
