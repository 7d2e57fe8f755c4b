"""What SymPy's own runner prints."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from samework.model.words import NodeResult
from samework.readers.parts.test_logs.claims import agree, number

if TYPE_CHECKING:
    from samework.canon.report_nodes import NodeList

_SYMPY_FILE = re.compile(r"(\S+\.py)\[(\d+)\](.*)")
_SYMPY_TEST = re.compile(r"(test_\w+)\s+(ok|[FEfsXTK])(?:\s.*)?")
_SYMPY = {
    "ok": NodeResult.PASSED,
    "F": NodeResult.FAILED,
    "E": NodeResult.ERROR,
    "f": NodeResult.XFAILED,
    "X": NodeResult.XPASSED,
    "s": NodeResult.SKIPPED,
    "T": NodeResult.ERROR,
    "K": NodeResult.ERROR,
}
_SYMPY_END = re.compile(r"=+ tests finished: (.*)")
_SYMPY_COUNT = re.compile(r"(\d+) (passed|failed|exceptions|expected to fail but passed|expected to fail)\b")
_SYMPY_COUNTED = {
    "passed": ("ok",),
    "failed": ("F",),
    "exceptions": ("E", "T"),
    "expected to fail": ("f",),
    "expected to fail but passed": ("X",),
}


class Sympy:
    """SymPy's bin/test --verbose: a file with the number of its tests, then a test a line."""

    runner = "sympy"

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []
        self.files: list[tuple[int, int]] = []
        self.counted: Counter[str] | None = None
        self._file: str | None = None

    @property
    def n_nodes(self) -> int:
        """Tests with a status."""
        return len(self.found)

    def line(self, line: str) -> None:
        """One line of output."""
        if found := _SYMPY_FILE.match(line):
            self._file = found[1]
            self.files.append((number(found[2]), 0))
        elif self._file is not None and (found := _SYMPY_TEST.fullmatch(line)):
            self.found.append((f"{self._file}::{found[1]}", found[2]))
            n_said, n_listed = self.files[-1]
            self.files[-1] = (n_said, n_listed + 1)
        elif found := _SYMPY_END.fullmatch(line):
            self.counted = self.counted or Counter()
            for count, word in _SYMPY_COUNT.findall(found[1]):
                self.counted[word] += number(count)

    def fill(self, nodes: NodeList) -> str | None:
        """Whole where the last line counts what is listed and each file lists as many tests as it announced."""
        for node, word in self.found:
            nodes.add(node, _SYMPY[word])
        if self.counted is None:
            return "no_summary"
        listed = Counter(word for _, word in self.found)
        counted = self.counted
        claims = [(said, counted[said], sum(listed[word] for word in words)) for said, words in _SYMPY_COUNTED.items()]
        is_whole = all(said == listed_here for said, listed_here in self.files)
        return None if agree(nodes, claims) and is_whole else "count_mismatch"
