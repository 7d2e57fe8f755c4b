"""What `go test -v` prints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from samework.model.words import NodeResult
from samework.text import shortened

if TYPE_CHECKING:
    from samework.canon.report_nodes import NodeList

_GO_RUN = re.compile(r"=== RUN\s+(\S+)")
_GO_END = re.compile(r"\s*--- (PASS|FAIL|SKIP): (\S+) \(.*\)")
_GO_PACKAGE = re.compile(r"(ok|FAIL|\?) *\t([^\s\[]+)\s*(.*)")
_GO_VERDICTS = frozenset({"PASS", "FAIL"})
_GO_UNBUILT = ("[build failed]", "[setup failed]")
_GO = {"PASS": NodeResult.PASSED, "FAIL": NodeResult.FAILED, "SKIP": NodeResult.SKIPPED}


class Go:
    """go test -v: tests, then the package that they were in."""

    runner = "go test"

    def __init__(self) -> None:
        self.found: list[tuple[str, NodeResult, str | None]] = []
        self.pending: list[tuple[str, NodeResult]] = []
        self.running: dict[str, None] = {}
        self.lost: list[str] = []
        self.verdict: str | None = None  # of the test binary, before go test sums it up
        self.reason: str | None = None
        self.has_failed = False

    @property
    def n_nodes(self) -> int:
        """Tests with a status."""
        return len(self.found) + len(self.pending)

    def line(self, line: str) -> None:
        """One line of output."""
        if found := _GO_RUN.fullmatch(line):
            self.running[found[1]] = None
        elif found := _GO_END.fullmatch(line):
            self.pending.append((found[2], _GO[found[1]]))
            self.running.pop(found[2], None)
        elif line in _GO_VERDICTS:
            self.verdict = line
        elif found := _GO_PACKAGE.fullmatch(line):
            self._package(found[1], found[2], found[3])

    def _package(self, word: str, package: str, rest: str) -> None:
        failed = any(result is NodeResult.FAILED for _, result in self.pending)
        self.found += [(f"{package}::{test}", result, None) for test, result in self.pending]
        if word == "FAIL":
            self.has_failed = True
            if not failed:
                self.found.append((f"{package}::<package>", NodeResult.ERROR, "package"))
            if rest.strip() in _GO_UNBUILT:
                self.reason = self.reason or "collection_failed"
            elif self.verdict is None:  # it panicked or was killed, and what it had still to run is absent
                self.reason = self.reason or "not_all_ran"
        elif failed or self.verdict == "FAIL":
            self.reason = self.reason or "count_mismatch"
        self.lost += [f"{package}::{test}" for test in self.running]
        self.pending, self.running, self.verdict = [], {}, None

    def fill(self, nodes: NodeList) -> str | None:
        """Whole where every test and the package of each have an end, and no package passed beside a failure."""
        for node, result, detail in self.found:
            nodes.add(node, result, detail)
        for test, result in self.pending:
            nodes.add(test, result)
        lost = [*self.lost, *self.running]
        if lost:
            nodes.findings.append(f"{len(lost)} tests began and have no end: {shortened(', '.join(lost[:5]), 300)}")
        if self.verdict == "FAIL" and not self.has_failed:  # the last word of go test, on all packages
            self.reason = self.reason or "count_mismatch"
        return "not_all_ran" if lost else "no_summary" if self.pending else self.reason


# check marks, crosses, and the circle and pencil of tests that did not run
