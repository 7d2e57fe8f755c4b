"""What `cargo test` prints."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from samework.model.words import NodeResult
from samework.readers.parts.test_logs.claims import agree, counts_of, number

if TYPE_CHECKING:
    from samework.canon.report_nodes import NodeList

_CARGO_BINARY = re.compile(r"\s+(?:Running|Doc-tests) (.*?)(?: \(.*\))?")
_CARGO_COUNT = re.compile(r"running (\d+) tests?")
_CARGO_TEST = re.compile(r"test (.+?) \.\.\. (ok|FAILED|ignored|bench:)(?:[ ,].*)?")
_CARGO_END = re.compile(r"test result: (\w+)\. (.*)")
_CARGO_COUNT_OF = re.compile(r"(\d+) (passed|failed|ignored|measured)\b")
_CARGO = {
    "ok": NodeResult.PASSED,
    "FAILED": NodeResult.FAILED,
    "ignored": NodeResult.SKIPPED,
    "bench:": NodeResult.PASSED,
}


class Cargo:
    """cargo test: a binary, the number of its tests, a test a line, its result."""

    runner = "cargo test"

    def __init__(self) -> None:
        self.found: list[tuple[str, NodeResult]] = []
        self.n_said = 0
        self.is_open = False
        self.counted: Counter[str] | None = None
        self.is_failed = False
        self._binary = ""

    @property
    def n_nodes(self) -> int:
        """Tests with a status."""
        return len(self.found)

    def line(self, line: str) -> None:
        """One line of output."""
        if found := _CARGO_BINARY.fullmatch(line):
            self._binary = found[1].removeprefix("unittests ")
        elif found := _CARGO_COUNT.fullmatch(line):
            self.n_said += number(found[1])
            self.is_open = True
        elif found := _CARGO_TEST.fullmatch(line):
            self.found.append((f"{self._binary}::{found[1]}" if self._binary else found[1], _CARGO[found[2]]))
        elif found := _CARGO_END.fullmatch(line):
            self.is_open = False
            self.counted = (self.counted or Counter()) + counts_of(_CARGO_COUNT_OF, found[2])
            self.is_failed = self.is_failed or found[1] == "FAILED"

    def fill(self, nodes: NodeList) -> str | None:
        """Whole where every binary has its result, and lists the tests that it announced and counts."""
        for node, result in self.found:
            nodes.add(node, result)
        if self.is_open or not self.n_said or self.counted is None:
            return "no_summary"
        listed, counted = Counter(result for _, result in self.found), self.counted
        claims = [
            ("tests", self.n_said, len(self.found)),
            ("passed", counted["passed"] + counted["measured"], listed[NodeResult.PASSED]),
            ("failed", counted["failed"], listed[NodeResult.FAILED]),
            ("ignored", counted["ignored"], listed[NodeResult.SKIPPED]),
        ]
        is_told = self.is_failed is bool(listed[NodeResult.FAILED])
        return None if agree(nodes, claims) and is_told else "count_mismatch"
