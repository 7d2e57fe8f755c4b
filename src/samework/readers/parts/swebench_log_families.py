"""What test runners print, family by family: pytest, unittest and Django, SymPy, go, Jest, cargo.

Each takes lines and knows nothing of files. A status is read only beside the id of a test; a bare `PASSED` is output.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

from samework.model.words import NodeResult
from samework.text import shortened

if TYPE_CHECKING:
    from samework.canon.report_nodes import NodeList


class Family(Protocol):
    """One runner's way to print results. runner: its name. n_nodes: results seen so far."""

    runner: str

    @property
    def n_nodes(self) -> int:
        """Results seen so far."""
        ...

    def line(self, line: str) -> None:
        """One line of output."""
        ...

    def fill(self, nodes: NodeList) -> str | None:
        """Put the results in; returns the slug of what makes the log incomplete, None where it is whole."""
        ...


_PYTEST = {
    "PASSED": NodeResult.PASSED,
    "FAILED": NodeResult.FAILED,
    "ERROR": NodeResult.ERROR,
    "SKIPPED": NodeResult.SKIPPED,
    "XFAIL": NodeResult.XFAILED,
    "XPASS": NodeResult.XPASSED,
}
_WORDS: Final = "|".join(_PYTEST)
_STATUS_FIRST = re.compile(rf"(?:\[gw\d+\] \[\s*\d+%\] )?({_WORDS})\s+(\S.*)")
_STATUS_LAST = re.compile(rf"(\S*\.\w+::.+?)\s+({_WORDS})(?:\s+\(.*\))?(?:\s+\[\s*\d+%\])?")
_MODULE = re.compile(r"[^\s:]+\.\w+")
_SUBTEST = re.compile(r"SUBFAILED(?:\(.*?\)|\[.*?\])* (\S*\.\w+::.*)|(\S*\.\w+::.+?) SUBFAILED.*")
_SUMMARY = re.compile(r"=*\s*((?:\d+ [a-z]+(?: [a-z]+)?(?:, )?)+) in [0-9.:]+\w*.*")
_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed|deselected|rerun|warnings?)\b")
_COLLECTED = re.compile(r"(?:collecting \.\.\. )?collected (\d+) items?(?: / (\d+) (?:errors?|deselected))?.*")
_SUGAR = re.compile(r"Results \([0-9.:]+\w*\):")
_COUNTED = {
    "passed": "PASSED", "failed": "FAILED", "error": "ERROR", "errors": "ERROR", "xfailed": "XFAIL",
    "xpassed": "XPASS",
}  # fmt: skip


class Pytest:
    """pytest -v, and the short summary of -rA."""

    runner = "pytest"

    def __init__(self) -> None:
        self.words: dict[str, dict[str, None]] = {word: {} for word in _PYTEST}
        self.order: dict[str, None] = {}
        self.n_verbose = dict.fromkeys(_PYTEST, 0)
        self.bad_collectors: dict[str, None] = {}
        self.counted: dict[str, int] | None = None
        self.n_collected: int | None = None
        self.stopped = False
        self.n_subtests = [0, 0]  # failing ones in the summary, and in the lines of -v
        self._in_sugar = False

    @property
    def n_nodes(self) -> int:
        """Tests with a status."""
        return len(self.order)

    def line(self, line: str) -> None:
        """One line of output."""
        if found := _STATUS_FIRST.fullmatch(line):
            self._add(found[1], _without_message(found[2]))
        elif found := _STATUS_LAST.fullmatch(line):
            self._add(found[2], found[1])
            self.n_verbose[found[2]] += 1
        elif found := _SUBTEST.fullmatch(line):
            self.n_subtests[found[1] is None] += 1
        elif found := _SUMMARY.fullmatch(line.strip("= ")):
            self._count(found[1])
        elif _SUGAR.fullmatch(line):
            self._in_sugar, self.counted = True, {}
        elif self._in_sugar and (found := re.fullmatch(r"\s+(\d+ [a-z]+)", line)):
            self.counted = (self.counted or {}) | _counts(found[1])
        elif found := _COLLECTED.fullmatch(line):
            self.n_collected = int(found[1])
        elif line.startswith("!!!") and ("stopping after" in line or "Interrupted" in line):
            self.stopped = True

    def _add(self, word: str, node: str) -> None:
        if "::" in node:
            self.words[word][node] = None
            self.order[node] = None
        elif word == "ERROR" and _MODULE.fullmatch(node):
            self.bad_collectors[f"{node}::<collection>"] = None

    def _count(self, said: str) -> None:
        counts = _counts(said)
        if counts:
            self.counted = counts

    def fill(self, nodes: NodeList) -> str | None:
        """An error in set-up or tear-down outweighs what the call said, as in the reports of pytest."""
        for node in self.order:
            words = [word for word in self.words if node in self.words[word]]
            for word in ["ERROR"] if "ERROR" in words else words:
                nodes.add(node, _PYTEST[word])
        for node in self.bad_collectors:
            nodes.add(node, NodeResult.ERROR, "collection")
        return self._incomplete_reason(nodes)

    def _incomplete_reason(self, nodes: NodeList) -> str | None:
        if self.counted is None:
            return "no_summary"
        if self.bad_collectors:
            return "collection_failed"
        if self.stopped:
            return "stopped_early"
        for said, n_counted in self.counted.items():
            word = _COUNTED.get(said)
            n_said = n_counted - (max(self.n_subtests) if word == "FAILED" else 0)
            # one id may stand for several tests, so both the ids and the lines of -v are counts of tests
            if word is not None and n_said not in {len(self.words[word]), self.n_verbose[word]}:
                nodes.findings.append(f"the summary says {n_counted} {said}, {len(self.words[word])} are named")
                return "count_mismatch"
        if self.counted.get("rerun"):
            return "rerun"
        n_unnamed = self.counted.get("skipped", 0) - len(self.words["SKIPPED"])
        if n_unnamed > 0:
            nodes.findings.append(f"{n_unnamed} skipped tests are counted, not named")
        n_ran = sum(n for said, n in self.counted.items() if not said.startswith(("warning", "rerun")))
        return "not_all_ran" if self.n_collected is not None and n_ran < self.n_collected else None


def _counts(said: str) -> dict[str, int]:
    return {found[2]: int(found[1]) for found in _COUNT.finditer(said)}


def _without_message(said: str) -> str:
    """Id of a line of the short summary, whose message follows after " - "; an id may hold that in its parameters.

    >>> _without_message("t.py::a[x - y] - Error: 1 - 2"), _without_message("t.py::a - Error")
    ('t.py::a[x - y]', 't.py::a')
    """
    start = said.find("[", said.rfind("::", 0, said.find("[") if "[" in said else len(said)))
    dash = said.find(" - ")
    if start < 0 or (0 <= dash < start):
        return said[:dash] if dash >= 0 else said.rstrip()
    end = said.find("] - ", start)
    return said[: end + 1] if end >= 0 else said.rstrip()


_UNITTEST_ID = re.compile(r"(\w+ \([\w.$<>-]+\))(.*)", re.DOTALL)
_UNITTEST_END = re.compile(r"(ok|FAIL|ERROR|skipped\b.*|expected failure|unexpected success)\s*")
_UNITTEST = {
    "ok": NodeResult.PASSED,
    "FAIL": NodeResult.FAILED,
    "ERROR": NodeResult.ERROR,
    "expected failure": NodeResult.XFAILED,
    "unexpected success": NodeResult.XPASSED,
}
_RAN = re.compile(r"Ran (\d+) tests? in .*")


class Unittest:
    """unittest -v and Django's runner: `test_a (app.tests.T) ... ok`, the status perhaps lines later."""

    runner = "unittest"

    def __init__(self) -> None:
        self.found: dict[str, NodeResult] = {}
        self.unended: dict[str, None] = {}
        self.n_ran: int | None = None
        self._named: str | None = None
        self._waiting: str | None = None

    @property
    def n_nodes(self) -> int:
        """Tests with a status, or waiting for one."""
        return len(self.found) + len(self.unended) + (self._waiting is not None)

    def line(self, line: str) -> None:
        """One line of output."""
        if found := _RAN.fullmatch(line):
            self.n_ran = int(found[1])
            self._leave()
        elif found := _UNITTEST_ID.fullmatch(line):
            self._leave()
            if " ... " in found[2] or found[2].endswith(" ..."):
                self._ends(found[1], found[2].split("...", 1)[1].strip())
            else:
                self._named = found[1] if not found[2].strip() else None
        elif self._named is not None and " ... " in line:  # its docstring
            self._ends(self._named, line.rsplit(" ... ", 1)[1].strip())
        elif self._waiting is not None and (ended := _UNITTEST_END.fullmatch(line)):
            self.found[self._waiting] = _unittest_result(ended[1])
            self._waiting = None

    def _ends(self, node: str, said: str) -> None:
        self._named = None
        ended = _UNITTEST_END.fullmatch(said)
        if ended:
            self.found[node] = _unittest_result(ended[1])
        else:
            self._waiting = node

    def _leave(self) -> None:
        if self._waiting is not None:
            self.unended[self._waiting] = None
        self._waiting = self._named = None

    def fill(self, nodes: NodeList) -> str | None:
        """A test whose status was never printed has no outcome."""
        self._leave()
        for node, result in self.found.items():
            nodes.add(node, result)
        lost = [node for node in self.unended if node not in self.found]
        if lost:
            nodes.findings.append(f"{len(lost)} tests have no status: {shortened(', '.join(lost[:5]), 300)}")
            return "not_all_ran"
        if self.n_ran is None:
            return "no_summary"
        return None if self.n_ran == len(self.found) else "count_mismatch"


def _unittest_result(word: str) -> NodeResult:
    return _UNITTEST.get(word.strip(), NodeResult.SKIPPED)


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
_SYMPY_END = re.compile(r"=+ tests finished: .*")


class Sympy:
    """SymPy's bin/test --verbose: a file with the number of its tests, then a test a line."""

    runner = "sympy"

    def __init__(self) -> None:
        self.found: dict[str, NodeResult] = {}
        self.files: dict[str, tuple[int, int]] = {}
        self.is_finished = False
        self._file: str | None = None

    @property
    def n_nodes(self) -> int:
        """Tests with a status."""
        return len(self.found)

    def line(self, line: str) -> None:
        """One line of output."""
        if found := _SYMPY_FILE.match(line):
            self._file = found[1]
            self.files[found[1]] = (int(found[2]), 0)
        elif self._file is not None and (found := _SYMPY_TEST.fullmatch(line)):
            self.found[f"{self._file}::{found[1]}"] = _SYMPY[found[2]]
            n_said, n_listed = self.files[self._file]
            self.files[self._file] = (n_said, n_listed + 1)
        elif _SYMPY_END.fullmatch(line):
            self.is_finished = True

    def fill(self, nodes: NodeList) -> str | None:
        """Whole where the last line is there and each file lists as many tests as it announced."""
        for node, result in self.found.items():
            nodes.add(node, result)
        if not self.is_finished:
            return "no_summary"
        return None if all(said == listed for said, listed in self.files.values()) else "count_mismatch"


_GO_RUN = re.compile(r"=== RUN\s+(\S+)")
_GO_END = re.compile(r"\s*--- (PASS|FAIL|SKIP): (\S+) \(.*\)")
_GO_PACKAGE = re.compile(r"(ok|FAIL|\?) *\t([^\s\[]+)\s*(.*)")
_GO = {"PASS": NodeResult.PASSED, "FAIL": NodeResult.FAILED, "SKIP": NodeResult.SKIPPED}


class Go:
    """go test -v: tests, then the package that they were in."""

    runner = "go test"

    def __init__(self) -> None:
        self.found: list[tuple[str, NodeResult, str | None]] = []
        self.pending: dict[str, NodeResult] = {}
        self.running: dict[str, None] = {}
        self.lost: list[str] = []

    @property
    def n_nodes(self) -> int:
        """Tests with a status."""
        return len(self.found) + len(self.pending)

    def line(self, line: str) -> None:
        """One line of output."""
        if found := _GO_RUN.fullmatch(line):
            self.running[found[1]] = None
        elif found := _GO_END.fullmatch(line):
            self.pending[found[2]] = _GO[found[1]]
            self.running.pop(found[2], None)
        elif found := _GO_PACKAGE.fullmatch(line):
            self._package(found[1], found[2])

    def _package(self, word: str, package: str) -> None:
        failed = any(result is NodeResult.FAILED for result in self.pending.values())
        self.found += [(f"{package}::{test}", result, None) for test, result in self.pending.items()]
        if word == "FAIL" and not failed:
            self.found.append((f"{package}::<package>", NodeResult.ERROR, "package"))
        self.lost += [f"{package}::{test}" for test in self.running]
        self.pending, self.running = {}, {}

    def fill(self, nodes: NodeList) -> str | None:
        """Whole where every test and the package of each have an end."""
        for node, result, detail in self.found:
            nodes.add(node, result, detail)
        for test, result in self.pending.items():
            nodes.add(test, result)
        lost = [*self.lost, *self.running]
        if lost:
            nodes.findings.append(f"{len(lost)} tests began and have no end: {shortened(', '.join(lost[:5]), 300)}")
        return "not_all_ran" if lost else "no_summary" if self.pending else None


# check marks, crosses, and the circle and pencil of tests that did not run
_JEST_FILE = re.compile(r"\s*(PASS|FAIL)\s+(?:\[\S+\] )?(\S+\.\w+)(?:\s+\([0-9.]+ ?m?s\))?\s*")
_JEST_TEST = re.compile(r"(\s+)([\u2713\u2714\u221a\u2715\u2717\u00d7\u25cb\u270e])\s+(.*?)(?:\s+\([0-9.]+ ?m?s\))?\s*")
_JEST_SUITE = re.compile(r"( +)(\S.*?)\s*")
_JEST_TOTAL = re.compile(r"Tests:\s+(.*?)(\d+) total\s*")
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
            self.files[self._file] = found[1]
        elif self._file is not None and (found := _JEST_TEST.fullmatch(line)):
            names = [name for indent, name in self._suites if indent < len(found[1])]
            self.found.append(("::".join((self._file, *names, found[3])), _JEST[found[2]]))
        elif found := _JEST_TOTAL.fullmatch(line):
            self.n_total = int(found[2])
            self._file = None
        elif line.lstrip().startswith("●") or line.startswith("Test Suites:"):
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
        for file, word in self.files.items():
            if word == "FAIL" and file not in failing:
                nodes.add(f"{file}::<collection>", NodeResult.ERROR, "collection")
                return "collection_failed"
            if word == "PASS" and file in failing:
                return "count_mismatch"
        if self.n_total is None:
            nodes.findings.append("no line of totals: nobody counted the test files")
            return None
        return None if self.n_total == len(self.found) else "count_mismatch"


_CARGO_BINARY = re.compile(r"\s+(?:Running|Doc-tests) (.*?)(?: \(.*\))?")
_CARGO_COUNT = re.compile(r"running (\d+) tests?")
_CARGO_TEST = re.compile(r"test (.+?) \.\.\. (ok|FAILED|ignored|bench:)(?:[ ,].*)?")
_CARGO_END = re.compile(r"test result: \w+\. .*")
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
            self.n_said += int(found[1])
            self.is_open = True
        elif found := _CARGO_TEST.fullmatch(line):
            self.found.append((f"{self._binary}::{found[1]}" if self._binary else found[1], _CARGO[found[2]]))
        elif _CARGO_END.fullmatch(line):
            self.is_open = False

    def fill(self, nodes: NodeList) -> str | None:
        """Whole where every binary has its result and lists as many tests as it announced."""
        for node, result in self.found:
            nodes.add(node, result)
        if self.is_open or not self.n_said:
            return "no_summary"
        return None if self.n_said == len(self.found) else "count_mismatch"


FAMILIES: Final[tuple[type[Pytest | Unittest | Sympy | Go | Jest | Cargo], ...]] = (
    Pytest,
    Unittest,
    Sympy,
    Go,
    Jest,
    Cargo,
)
