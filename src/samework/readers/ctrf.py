"""CTRF reports (Common Test Report Format): one document, each test with its status, its retries kept.

`passed`, `failed` and `skipped` are what they say; `pending` is a test that did not run, so skipped; `other` has no
outcome here, and leaves the report incomplete; so does an attempt without one. The raw status tells more of a status,
and never better: `failed` stays so, or is an error, and where only it tells of a failure there is no outcome. A test
that passed after retries keeps its earlier outcomes: it is flaky, not passed. The plugin of pytest lists a test once
for all its parameters, with the outcome of the first, and calls the others retries; what became of these is unknown.
Complete iff the summary counts as many tests as are listed, of each status, no attempt is without its outcome, and no
key stands twice in one object. Refuses what has no `results`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from samework.canon.report_nodes import NodeList
from samework.decode.document import read_document_checked
from samework.decode.shapes import as_count, as_dict, as_list, as_name, as_text
from samework.decode.strict_json import has_repeated
from samework.errors import DamagedRecord
from samework.model.reader import Evidence
from samework.model.words import NodeResult
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record, SuiteReport

_FORMAT = re.compile(rb'"reportFormat"\s*:\s*"CTRF"')
_START = re.compile(
    rb'[\xef\xbb\xbf\s]*\{\s*"(?:reportFormat|results|reportId|runId|specVersion|timestamp|generatedBy|insights|baseline|'
    rb'extra|\$schema)"\s*:'
)
_KEYS = (rb'"results"\s*:\s*\{', rb'"tool"\s*:\s*\{', rb'"summary"\s*:\s*\{')
_RESULTS = {
    "passed": NodeResult.PASSED,
    "failed": NodeResult.FAILED,
    "skipped": NodeResult.SKIPPED,
    "pending": NodeResult.SKIPPED,
}
_BROKEN = frozenset({"error", "setup_failed", "teardown_failed"})
_FAILED = frozenset({"failed", "failure", "call_failed", "broken", "timedout", "timeout", "interrupted", "crashed"})
_EXPECTED = {
    ("passed", "xfailed"): NodeResult.XFAILED,
    ("skipped", "xfailed"): NodeResult.XFAILED,
    ("pending", "xfailed"): NodeResult.XFAILED,
    ("other", "xfailed"): NodeResult.XFAILED,
    ("passed", "xpassed"): NodeResult.XPASSED,
    ("other", "xpassed"): NodeResult.XPASSED,
}
"""Pairs of status and raw status; what is no pair here is what its status says."""


class Ctrf:
    """Reader of CTRF."""

    name = "ctrf"
    title = "CTRF test report"
    detects = "a JSON object with `results` that holds `tool` and `summary`"
    proven = False
    evidence = Evidence(tests="as far as its writer tells statuses apart, with completeness")

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for a document that names the format, 0.8 for one that begins as such a report."""
        if source.is_dir or not _START.match(head):
            return 0.0
        if _FORMAT.search(head):
            return 0.95
        return 0.8 if all(re.search(key, head) for key in _KEYS) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield one `SuiteReport`.

        Raises: DamagedRecord: not JSON, or no CTRF report.
        """
        document, findings = read_document_checked(source)
        results = as_dict(as_dict(document).get("results"))
        if not isinstance(results.get("tests"), list) and not results.get("summary"):
            raise DamagedRecord("not a CTRF report: `results` holds no tests", place=visible(source.path))
        yield _report(results, findings)


def _report(results: dict[str, object], findings: list[str]) -> SuiteReport:
    nodes = NodeList()
    nodes.findings += findings
    n_unknown = n_unlisted = 0
    tool = as_dict(results.get("tool"))
    tests = as_list(results.get("tests"))
    for test in tests:
        n_unknown += not _add(nodes, as_dict(test))
        n_unlisted += _has_unlisted(as_dict(test), tool)
    if n_unlisted:
        nodes.findings.append(f"{n_unlisted} tests had other attempts or parameters, whose outcomes are not listed")
    summary = as_dict(results.get("summary"))
    claimed = as_count(summary.get("tests"))
    if claimed is not None and claimed != len(tests):
        nodes.findings.append(f"the summary says {claimed} tests, {len(tests)} are listed")
    differing = _differing(summary, tests)
    nodes.findings += differing
    rules = (
        (has_repeated(findings), "repeated_key"),
        (n_unknown > 0 or n_unlisted > 0, "unknown_outcome"),
        (claimed is None, "count_unrecorded"),
        (claimed != len(tests) or bool(differing), "count_mismatch"),
    )
    runner = " ".join(part for part in (as_name(tool.get("name")), as_name(tool.get("version"))) if part)
    reason = next((reason for holds, reason in rules if holds), None)
    return nodes.report(Ctrf.name, reason, runner=runner or None, n_collected=claimed)


def _differing(summary: dict[str, object], tests: list[object]) -> list[str]:
    """Statuses that the summary counts otherwise than the list, in sentences."""
    listed = Counter(as_text(as_dict(test).get("status")) for test in tests)
    claimed = {word: as_count(summary.get(word)) for word in (*_RESULTS, "other")}
    return [
        f"the summary says {count} {word}, {listed[word]} are listed"
        for word, count in claimed.items()
        if count is not None and count != listed[word]
    ]


def _has_unlisted(test: dict[str, object], tool: dict[str, object]) -> bool:
    """True where a test stands for attempts of which none is listed; one that failed in the end failed in all."""
    attempts, said = test.get("retryAttempts"), test.get("retries")
    retries = as_count(said)
    if (attempts is not None and not isinstance(attempts, list)) or (said is not None and retries is None):
        return True  # nobody knows how many there were
    if tool.get("name") == "pytest" and "file_path" in test:
        return retries != 0  # it writes 0 for none, and leaves out a 1
    is_told = test.get("flaky") is True or test.get("status") == "failed"
    return not is_told and (retries or 0) > len(as_list(attempts))


def _add(nodes: NodeList, test: dict[str, object]) -> bool:
    """Add a test with its earlier attempts; False where it or one of them has no outcome."""
    node = _node(test)
    if node is None:
        nodes.findings.append("an entry of `tests` has no name")
        return False
    attempts = [_result(as_dict(attempt)) for attempt in as_list(test.get("retryAttempts"))]
    for result in attempts:
        if result is not None:
            nodes.add(node, result, "retry")
    n_unknown = attempts.count(None)
    if n_unknown:
        nodes.findings.append(f"{shortened(node, 200)}: {n_unknown} attempts have no outcome")
    result = _result(test)
    if result is None:
        nodes.findings.append(
            f"{shortened(node, 200)}: no outcome in status {shortened(str(test.get('status')), 40)!r}"
        )
        return False
    # Whatever stands there but a no: a flag in words is no reason to call a test passed.
    if test.get("flaky") and result is NodeResult.PASSED and NodeResult.FAILED not in attempts:
        nodes.add(node, NodeResult.FAILED, "flaky")
    nodes.add(node, result)
    return not n_unknown


def _result(test: dict[str, object]) -> NodeResult | None:
    raw = as_text(test.get("rawStatus")) or as_text(test.get("raw_status")) or ""
    if raw in _BROKEN:
        return NodeResult.ERROR
    status = as_text(test.get("status")) or ""
    if status != "failed" and raw.lower() in _FAILED:
        return None
    return _EXPECTED.get((status, raw)) or _RESULTS.get(status)


def _node(test: dict[str, object]) -> str | None:
    """Id of a test: as pytest names it where the name is such an id, else file, suite and name."""
    name = as_name(test.get("name"))
    if name is None or ".py::" in name:
        return name
    file = as_name(test.get("filePath")) or as_name(test.get("file_path"))
    suite = test.get("suite")
    suites = [as_name(part) for part in suite] if isinstance(suite, list) else [as_name(suite)]
    return "::".join(part for part in (file, *suites, name) if part)


READER = Ctrf()
