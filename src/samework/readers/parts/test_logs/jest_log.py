"""What Jest prints."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from samework.model.words import NodeResult
from samework.readers.parts.test_logs.claims import agree, counts_of, number

if TYPE_CHECKING:
    from samework.canon.report_nodes import NodeList

_JEST_FILE = re.compile(r"\s*(PASS|FAIL)\s+(?:\[\S+\] )?(\S+\.\w+)(?:\s+\([0-9.]+ ?m?s\))?\s*")
_JEST_TEST = re.compile(r"(\s+)([\u2713\u2714\u221a\u2715\u2717\u00d7\u25cb\u270e])\s+(.*?)(?:\s+\([0-9.]+ ?m?s\))?\s*")
_JEST_SUITE = re.compile(r"( +)(\S.*?)\s*")
_JEST_TOTAL = re.compile(r"Tests:\s+(.*?)(\d+) total\s*")
_JEST_FILES = re.compile(r"Test Suites:\s+(.*?)(\d+) total\s*")
_JEST_COUNT = re.compile(r"(\d+) (failed|passed|skipped|todo)\b")
_JEST = {
    **dict.fromkeys("\u2713\u2714\u221a", NodeResult.PASSED),
    **dict.fromkeys("\u2715\u2717\u00d7", NodeResult.FAILED),
    **dict.fromkeys("\u25cb\u270e", NodeResult.SKIPPED),
}


class Jest:
    """jest --verbose: a file with its verdict, describe blocks by indentation, a mark before each test."""

    runner = "jest"

    def __init__(self) -> None:
        self.found: list[tuple[str, NodeResult]] = []
        self.files: dict[str, str] = {}
        self.n_total: int | None = None
        self.counted: Counter[str] = Counter()
        self.n_failed_files: int | None = None
        self._file: str | None = None
        self._suites: list[tuple[int, str]] = []

    @property
    def n_nodes(self) -> int:
        """Tests with a mark."""
        return len(self.found)

    def line(self, line: str) -> None:
        """One line of output."""
        if found := _JEST_FILE.fullmatch(line):
            self._file, self._suites = found[2].removeprefix("./"), []
            self.files[self._file] = "FAIL" if self.files.get(self._file) == "FAIL" else found[1]
        elif self._file is not None and (found := _JEST_TEST.fullmatch(line)):
            names = [name for indent, name in self._suites if indent < len(found[1])]
            self.found.append(("::".join((self._file, *names, found[3])), _JEST[found[2]]))
        elif found := _JEST_TOTAL.fullmatch(line):
            self.n_total = (self.n_total or 0) + number(found[2])
            self.counted.update(counts_of(_JEST_COUNT, found[1]))
            self._file = None
        elif found := _JEST_FILES.fullmatch(line):
            self.n_failed_files = (self.n_failed_files or 0) + counts_of(_JEST_COUNT, found[1])["failed"]
            self._file = None
        elif line.lstrip().startswith("●"):
            self._file = None  # what follows are the failures of this file, in prose
        elif self._file is not None and (found := _JEST_SUITE.fullmatch(line)):
            self._suites = [(indent, name) for indent, name in self._suites if indent < len(found[1])]
            self._suites.append((len(found[1]), found[2]))

    def fill(self, nodes: NodeList) -> str | None:
        """Jest prints a file when it is done, so without a total the blocks that are there count, if they agree."""
        failing: set[str] = set()
        for node, result in self.found:
            nodes.add(node, result)
            if result is NodeResult.FAILED:
                failing.add(node.split("::", 1)[0])
        named = {node.split("::", 1)[0] for node, _ in self.found}
        broken = [file for file, word in self.files.items() if word == "FAIL" and file not in failing]
        for file in broken:
            where = "file" if file in named else "collection"
            nodes.add(f"{file}::<{where}>", NodeResult.ERROR, where)
        if broken:
            return "collection_failed" if set(broken) - named else "file_failed"
        if any(self.files.get(file) == "PASS" for file in failing):
            return "count_mismatch"
        if self.n_total is None:
            nodes.findings.append("no line of totals: nobody counted the test files")
            return None
        listed = Counter(result for _, result in self.found)
        counted = self.counted
        claims = [
            ("tests", self.n_total, len(self.found)),
            ("failed", counted["failed"], listed[NodeResult.FAILED]),
            ("passed", counted["passed"], listed[NodeResult.PASSED]),
        ]
        if self.n_failed_files is not None:
            claims.append(("failed files", self.n_failed_files, len(failing)))
        return None if agree(nodes, claims) else "count_mismatch"
