"""Reports of pytest-json-report: one report, each node with its outcome, and whether the report is complete.

A report is complete iff it lists tests, the exit code is 0, or 1 where a test of it failed, no collector failed or was
skipped, `summary.total` equals `summary.collected`, the summary counts each outcome as the list does, no outcome is
contradicted by a phase of its test, no key stands twice in one object, and nothing was rerun. A test whose call failed
did not pass, whatever its outcome says. Refuses to fill in what a report lost: a rerun test has no outcome here.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from samework.canon.node_ids import masked_ids
from samework.decode.document import read_document_checked
from samework.decode.strict_json import has_repeated
from samework.errors import DamagedRecord
from samework.model.reader import Evidence
from samework.model.records import NodeOutcome, SuiteReport
from samework.model.words import NodeResult
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_FIRST_KEY = re.compile(rb'[\xef\xbb\xbf\s]*\{\s*"([^"]*)"\s*:')
_KEYS = frozenset({b"created", b"collectors", b"duration", b"environment", b"exitcode", b"root", b"summary", b"tests"})
_FAR_BYTES = 16 << 20
_SUBTESTS = "subtests "
_CRASHED = re.compile(r"worker '[^']*' crashed while running")
_RESULTS = {result.value: result for result in NodeResult if result is not NodeResult.MISSING}


class PytestJson:
    """Reader of pytest-json-report files."""

    name = "pytest_json"
    title = "pytest report (pytest-json-report)"
    detects = "a JSON object with exitcode, root and summary"
    proven = True
    evidence = Evidence(tests="yes, with completeness")

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for an object that begins with a key of the plugin and has its three own keys."""
        first = _FIRST_KEY.match(head)
        if source.is_dir or first is None or first[1] not in _KEYS:
            return 0.0
        if not _has_own_keys(head) and len(head) < source.size():
            head = source.head(_FAR_BYTES)  # sorted keys put the long list of collectors first
        return 0.95 if _has_own_keys(head) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield one `SuiteReport`.

        Raises: DamagedRecord: not JSON, or not a report of this plugin.
        """
        document, findings = read_document_checked(source)
        summary = document.get("summary") if isinstance(document, dict) else None
        if not isinstance(document, dict) or not isinstance(summary, dict):
            raise DamagedRecord("not a pytest report: `summary` is no object", place=visible(source.path))
        yield _report(document, summary, findings)


def _has_own_keys(head: bytes) -> bool:
    return all(re.search(rb'"%s"\s*:' % key, head) for key in (b"exitcode", b"root", b"summary"))


def _report(document: dict[str, object], summary: dict[str, object], findings: list[str]) -> SuiteReport:
    is_repeated = has_repeated(findings)
    nodes = _Nodes(findings)
    for test in _objects(document, "tests", findings):
        nodes.add_test(test)
    for collector in _objects(document, "collectors", findings):
        nodes.add_collector(collector)
    exit_code = _whole(document.get("exitcode"))
    findings += [*_miscounted(summary, nodes), *_contradicting(exit_code, nodes)]
    reason = "repeated_key" if is_repeated else _incomplete_reason(exit_code, summary, nodes)
    outcomes = nodes.outcomes()
    return SuiteReport(
        outcomes=outcomes,
        complete=reason is None,
        format=PytestJson.name,
        incomplete_reason=reason,
        runner=_runner(document.get("environment")),
        exit_code=exit_code,
        n_collected=_whole(summary.get("collected")),
        findings=tuple(findings),
    )


_FAILING = frozenset({NodeResult.FAILED, NodeResult.ERROR})
_NO_OUTCOMES = frozenset({"total", "collected", "deselected"})


class _Nodes:
    """Nodes of one report, in order, and what was odd about them."""

    def __init__(self, findings: list[str]) -> None:
        self.findings = findings
        self.seen: list[tuple[str, NodeResult, str | None]] = []
        self.n_tests = 0
        self.words: Counter[str] = Counter()
        self.n_contradicted = 0
        self.n_rerun = 0
        self.n_unknown = 0
        self.n_bad_collectors = 0

    def add_test(self, test: dict[str, object]) -> None:
        """One entry of `tests`."""
        self.n_tests += 1
        node, word = test.get("nodeid"), test.get("outcome")
        if not isinstance(node, str) or not isinstance(word, str):
            self._unknown("an entry of `tests` has no nodeid or no outcome")
            return
        self.words[word] += 1
        if word == "rerun":
            self.n_rerun += 1
            self.findings.append(f"{shortened(node, 200)}: rerun, the final outcome is not in the report")
            return
        result = _RESULTS.get(word.removeprefix(_SUBTESTS))
        if result is None:
            self._unknown(f"{shortened(node, 200)}: unknown outcome {shortened(word, 40)!r}")
            return
        phase = _failed_phase(test)
        if phase is None and _phase_outcome(test.get("call")) == "failed" and result not in _FAILING:
            self.n_contradicted += 1
            self.findings.append(f"{shortened(node, 200)}: the outcome is {result}, though its call failed")
            result = NodeResult.FAILED
        self.seen.append((node, NodeResult.ERROR if phase else result, phase))

    def add_collector(self, collector: dict[str, object]) -> None:
        """One entry of `collectors`; only those that did not pass become nodes."""
        word, node = collector.get("outcome"), collector.get("nodeid")
        if word == "passed":
            return
        self.n_bad_collectors += 1
        result = NodeResult.SKIPPED if word == "skipped" else NodeResult.ERROR
        self.seen.append((f"{node if isinstance(node, str) else ''}::<collection>", result, "collection"))

    def _unknown(self, finding: str) -> None:
        self.n_unknown += 1
        self.findings.append(finding)

    def outcomes(self) -> tuple[NodeOutcome, ...]:
        """Every observation, memory addresses in ids masked."""
        names = masked_ids([node for node, _, _ in self.seen])
        n_masked = sum(node != name for (node, _, _), name in zip(self.seen, names, strict=True))
        if n_masked:
            self.findings.append(f"{n_masked} test ids hold a memory address, masked")
        if len(set(names)) != len(names):
            self.findings.append(f"{len(names) - len(set(names))} entries repeat the id of another; all are kept")
        return tuple(
            NodeOutcome(name, result, detail) for name, (_, result, detail) in zip(names, self.seen, strict=True)
        )


def _failed_phase(test: dict[str, object]) -> str | None:
    """The phase that makes a test an error rather than a failure: set-up, tear-down or a crash of the worker."""
    for phase in ("setup", "teardown"):
        if _phase_outcome(test.get(phase)) == "failed":
            return phase
    for name, phase_record in test.items():
        text = phase_record.get("longrepr") if isinstance(phase_record, dict) else None
        if name == "???" and isinstance(text, str) and _CRASHED.search(text):
            return "crash"
    return None


def _phase_outcome(phase: object) -> object:
    return phase.get("outcome") if isinstance(phase, dict) else None


def _incomplete_reason(exit_code: int | None, summary: dict[str, object], nodes: _Nodes) -> str | None:
    total, collected = _whole(summary.get("total")), _whole(summary.get("collected"))
    deselected = _whole(summary.get("deselected")) or 0
    rules = (
        (exit_code is None, "exit_code_unrecorded"),
        (exit_code not in {0, 1}, f"exit_code_{exit_code}"),
        (nodes.n_bad_collectors > 0, "collection_failed"),
        (collected is None or total is None, "collected_unrecorded"),
        (total != collected and (total or 0) + deselected == collected, "deselected"),
        (total != collected, "not_all_ran"),
        (nodes.n_rerun > 0 or bool(summary.get("rerun")), "rerun"),
        (nodes.n_unknown > 0, "unknown_outcome"),
        (total != nodes.n_tests, "tests_omitted"),
        (nodes.n_contradicted > 0 or bool(_contradicting(exit_code, nodes)), "contradiction"),
        (bool(_miscounted(summary, nodes)), "count_mismatch"),
        (not nodes.seen, "no_tests"),
    )
    return next((reason for holds, reason in rules if holds), None)


def _contradicting(exit_code: int | None, nodes: _Nodes) -> list[str]:
    """A sentence where the exit code and the tests tell of different sessions."""
    has_failing = any(result in _FAILING for _, result, _ in nodes.seen)
    if exit_code == 1 and not has_failing:
        return ["exit code 1, yet no test or collector of the report failed"]
    return ["exit code 0, yet a test or collector of the report failed"] if exit_code == 0 and has_failing else []


def _miscounted(summary: dict[str, object], nodes: _Nodes) -> list[str]:
    """What the summary counts otherwise than the list, in sentences; it names each outcome that occurred, or none."""
    total = _whole(summary.get("total"))
    counts = {word: count for word, count in summary.items() if word not in _NO_OUTCOMES}
    claimed: list[tuple[str, int | None, int]] = [] if total is None else [("tests", total, nodes.n_tests)]
    if counts and nodes.n_tests:
        claimed += [(word, _whole(counts.get(word, 0)), nodes.words[word]) for word in {**counts, **nodes.words}]
    return [
        f"summary says {'something else' if count is None else count} {shortened(word, 40)}, {listed} are listed"
        for word, count, listed in claimed
        if count != listed
    ]


def _objects(document: dict[str, object], key: str, findings: list[str]) -> list[dict[str, object]]:
    entries = document.get(key, [])
    if not isinstance(entries, list):
        findings.append(f"`{key}` is no list")
        return []
    return [entry if isinstance(entry, dict) else {} for entry in entries]


def _runner(environment: object) -> str | None:
    if not isinstance(environment, dict):
        return None
    parts = []
    for group in ("Packages", "Plugins"):
        versions = environment.get(group)
        if isinstance(versions, dict):
            parts += [f"{name} {version}" for name, version in sorted(versions.items())]
    if isinstance(environment.get("Python"), str):
        parts.append(f"Python {environment['Python']}")
    return "; ".join(parts) or None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


READER = PytestJson()
