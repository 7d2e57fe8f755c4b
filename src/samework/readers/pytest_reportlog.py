"""Report logs of pytest-reportlog: a report of each phase of each test, a line each.

A test fails in its call, breaks in set-up or tear-down; an outcome `rerun` is kept beside the final one, for the test
disagreed with itself. A subtest that failed fails its test, and no other counts. A test that was set up and torn down
and never called has no outcome. Complete iff each session finished, with exit status 0 where no test of it failed and
1 where one did, no collector failed or was skipped, and every test was called and torn down. The log does not say how
many tests were collected, so a session stopped by `-x` or `--maxfail` is told by its short list alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from samework.canon.report_nodes import NodeList
from samework.decode.items import first_object
from samework.decode.shapes import as_count, as_dict, as_list, as_name, as_text, compact
from samework.errors import DamagedRecord
from samework.model.reader import Evidence
from samework.model.words import NodeResult
from samework.readers.parts.report_lines import damaged_lines
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record, SuiteReport

_CRASHED = re.compile(r"worker '[^']*' crashed while running")
_FAILING = frozenset({NodeResult.FAILED, NodeResult.ERROR})
_OUTCOMES = frozenset({"passed", "failed", "skipped", "rerun"})
_TYPE = "$report_type"
_OLD_TYPE = "_report_type"  # of subtests, as the plugin of older pytest versions wrote it


class PytestReportlog:
    """Reader of report logs."""

    name = "pytest_reportlog"
    title = "pytest report log (pytest-reportlog)"
    detects = "JSON Lines whose objects have `$report_type`"
    proven = False
    evidence = Evidence(tests="yes, with completeness")

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for a first object with a report type."""
        if source.is_dir:
            return 0.0
        first = as_dict(first_object(head.split(b"\n", 1)[0], None))
        return 0.95 if isinstance(first.get(_TYPE), str) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield damage, then one `SuiteReport`.

        Raises: DamagedRecord: no report at all.
        """
        reading = _Reading()
        reading.n_damaged = yield from damaged_lines(source, reading.report_line, "no report of pytest")
        if not reading.n_reports:
            raise DamagedRecord("no report of pytest-reportlog", place=visible(source.path))
        yield reading.report()


READER = PytestReportlog()


class _Reading:
    """Phases of tests as they go by."""

    def __init__(self) -> None:
        self.n_reports = 0
        self.n_damaged = 0
        self.n_bad_collectors = 0
        self.n_subtests = 0
        self.version: str | None = None
        self.exit_status: int | None = None
        self.is_open = True
        self.n_unfinished = 0
        self.n_contradicting = 0
        self.n_told = 0  # observations of the sessions that finished
        self.nodes = NodeList()
        self.open: dict[str, tuple[NodeResult | None, str | None]] = {}
        self.rerun: set[str] = set()
        self.n_uncalled = 0

    def report_line(self, report: dict[str, object]) -> bool:
        """One line; False where it is no report."""
        kind = as_text(report.get(_OLD_TYPE)) or as_text(report.get(_TYPE))
        if kind is None:
            return False
        self.n_reports += 1
        if kind == "SessionStart":
            self.version = as_name(report.get("pytest_version"))
            self.n_unfinished += self.is_open and self.n_reports > 1
            self.is_open = True
        elif kind == "SessionFinish":
            self._finish(as_count(report.get("exitstatus")))
        elif kind == "CollectReport":
            self._collector(report)
        elif kind == "TestReport":
            return self._phase(report)
        elif kind.lower().startswith("subtest"):
            return self._subtest(report)
        else:
            return kind == "WarningMessage"
        return True

    def _finish(self, status: int | None) -> None:
        """The end of a session; of several the worst status counts."""
        self.is_open = status is None
        if status is None:
            return
        if self.exit_status in {None, 0, 1}:
            self.exit_status = max(status, self.exit_status or 0)
        told = self.nodes.seen[self.n_told :]
        has_failing = any(result in _FAILING and detail != "rerun" for _, result, detail in told)
        self.n_contradicting += status in {0, 1} and has_failing is not (status == 1)
        self.n_told = len(self.nodes.seen)

    def _subtest(self, report: dict[str, object]) -> bool:
        node, word = as_text(report.get("nodeid")), as_text(report.get("outcome"))
        if node is None or word not in _OUTCOMES:
            return False
        self.n_subtests += 1
        if word == "failed":
            self.open[node] = _after(*self.open.get(node, (None, None)), "call", "failed", report)
        return True

    def _collector(self, report: dict[str, object]) -> None:
        word = report.get("outcome")
        if word == "passed":
            return
        self.n_bad_collectors += 1
        result = NodeResult.SKIPPED if word == "skipped" else NodeResult.ERROR
        self.nodes.add(f"{as_text(report.get('nodeid')) or ''}::<collection>", result, "collection")

    def _phase(self, report: dict[str, object]) -> bool:
        node, when, word = (as_text(report.get(name)) for name in ("nodeid", "when", "outcome"))
        if node is None or word not in _OUTCOMES:
            return False
        if when not in {"setup", "call", "teardown"}:
            if word != "failed":
                return False  # it says nothing of the test, which stays as open as it was
            self._crash(node, report)
            return True
        if word == "rerun":
            self.nodes.add(node, NodeResult.FAILED, "rerun")
            self.open.pop(node, None)
            self.rerun.add(node)
            return True
        is_of_rerun = node in self.rerun and node not in self.open and when == "teardown"
        self.rerun.discard(node)
        if is_of_rerun and word != "failed":
            return True  # the end of the attempt that is already kept
        self.open[node] = _after(*self.open.get(node, (None, None)), when, word, report)
        if when == "teardown":
            self._end(node, *self.open.pop(node))
        return True

    def _end(self, node: str, result: NodeResult | None, detail: str | None) -> None:
        """A test was torn down; without its call nobody knows what would have come of it."""
        if result is None:
            self.n_uncalled += 1
        else:
            self.nodes.add(node, result, detail)

    def _crash(self, node: str, report: dict[str, object]) -> None:
        """A failure without a phase, as xdist makes it for the test that killed its worker."""
        self.open.pop(node, None)
        told = report.get("longrepr")
        text = told if isinstance(told, str) else compact(told)
        self.nodes.add(node, NodeResult.ERROR, "crash" if _CRASHED.search(text) else None)

    def report(self) -> SuiteReport:
        """The report of all lines."""
        nodes = self.nodes
        if self.n_subtests:
            nodes.findings.append(f"{self.n_subtests} subtests count for their tests")
        if self.open:
            named = shortened(", ".join(list(self.open)[:5]), 300)
            nodes.findings.append(f"{len(self.open)} tests were not torn down: {named}")
        if self.n_uncalled:
            nodes.findings.append(f"{self.n_uncalled} tests were torn down without a call")
        if self.n_contradicting:
            nodes.findings.append(f"{self.n_contradicting} sessions have an exit status that their tests contradict")
        rules = (
            (self.n_damaged > 0, "damaged_report"),
            (self.is_open or self.n_unfinished > 0, "exit_code_unrecorded"),
            (self.exit_status not in {0, 1}, f"exit_code_{self.exit_status}"),
            (self.n_bad_collectors > 0, "collection_failed"),
            (bool(self.open or self.n_uncalled), "not_all_ran"),
            (self.n_contradicting > 0, "contradiction"),
        )
        return nodes.report(
            PytestReportlog.name,
            next((reason for holds, reason in rules if holds), None),
            runner=f"pytest {self.version}" if self.version else "pytest",
            exit_code=self.exit_status,
        )


def _after(
    result: NodeResult | None, detail: str | None, when: str, word: str, report: dict[str, object]
) -> tuple[NodeResult | None, str | None]:
    """Outcome of a test after one more phase; None before its call."""
    expected_failure = "wasxfail" in report or any("xfail" in str(key) for key in as_list(report.get("xfail")))
    if word == "failed":
        return (NodeResult.FAILED, None) if when == "call" else (NodeResult.ERROR, when)
    if word == "skipped" and result in {None, NodeResult.PASSED}:
        return (NodeResult.XFAILED if expected_failure else NodeResult.SKIPPED), None
    if word == "passed" and when == "call" and result is None:
        return (NodeResult.XPASSED if expected_failure else NodeResult.PASSED), None
    return result, detail
