"""What test runners print, family by family: pytest, unittest and Django, SymPy, go, Jest, cargo.

Each takes lines and knows nothing of files. A status is read only beside the id of a test; a bare `PASSED` is output.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, Protocol

from samework.model.words import NodeResult
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable

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
_STOP = re.compile(r"!+ \S.* !+")  # Interrupted, stopping after, KeyboardInterrupt, Exit
_CRASH = "INTERNALERROR>"
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
        elif line.startswith(_CRASH) or _STOP.fullmatch(line):
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
        if self._is_miscounted(self.counted, nodes):
            return "count_mismatch"
        if self.counted.get("rerun"):
            return "rerun"
        n_unnamed = self.counted.get("skipped", 0) - len(self.words["SKIPPED"])
        if n_unnamed > 0:
            nodes.findings.append(f"{n_unnamed} skipped tests are counted, not named")
        n_ran = sum(n for said, n in self.counted.items() if not said.startswith(("warning", "rerun")))
        return "not_all_ran" if self.n_collected is not None and n_ran < self.n_collected else None

    def _is_miscounted(self, counted: dict[str, int], nodes: NodeList) -> bool:
        """Whether the summary counts a word otherwise than tests are named, or does not know a word at all."""
        for said, n_counted in counted.items():
            word = _COUNTED.get(said)
            n_said = n_counted - (max(self.n_subtests) if word == "FAILED" else 0)
            # one id may stand for several tests, so both the ids and the lines of -v are counts of tests
            if word is not None and n_said not in {len(self.words[word]), self.n_verbose[word]}:
                nodes.findings.append(f"the summary says {n_counted} {said}, {len(self.words[word])} are named")
                return True
        uncounted = {word for word in _COUNTED.values() if self.words[word]} - {_COUNTED.get(said) for said in counted}
        if uncounted:
            nodes.findings.append(
                f"the summary counts no test as {', '.join(sorted(uncounted))}, and some are named so"
            )
        return bool(uncounted)


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
_UNITTEST_VERDICT = re.compile(r"(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?\s*")
_UNITTEST_COUNT = re.compile(r"([a-z ]+)=(\d+)")
_UNITTEST_COUNTED = {
    "failures": NodeResult.FAILED,
    "errors": NodeResult.ERROR,
    "skipped": NodeResult.SKIPPED,
    "expected failures": NodeResult.XFAILED,
    "unexpected successes": NodeResult.XPASSED,
}


class Unittest:
    """unittest -v and Django's runner: `test_a (app.tests.T) ... ok`, the status perhaps lines later."""

    runner = "unittest"

    def __init__(self) -> None:
        self.found: list[tuple[str, NodeResult]] = []
        self.unended: dict[str, None] = {}
        self.n_ran: int | None = None
        self.verdict: tuple[str, str] | None = None
        self._named: str | None = None
        self._waiting: str | None = None

    @property
    def n_nodes(self) -> int:
        """Tests with a status, or waiting for one."""
        return len(self.found) + len(self.unended) + (self._waiting is not None)

    def line(self, line: str) -> None:
        """One line of output."""
        if found := _RAN.fullmatch(line):
            self.n_ran, self.verdict = int(found[1]), None
            self._leave()
        elif self.n_ran is not None and self.verdict is None and (found := _UNITTEST_VERDICT.fullmatch(line)):
            self.verdict = found[1], found[2] or ""
        elif found := _UNITTEST_ID.fullmatch(line):
            self._leave()
            if " ... " in found[2] or found[2].endswith(" ..."):
                self._ends(found[1], found[2].split("...", 1)[1].strip())
            else:
                self._named = found[1] if not found[2].strip() else None
        elif self._named is not None and " ... " in line:  # its docstring
            self._ends(self._named, line.rsplit(" ... ", 1)[1].strip())
        elif self._waiting is not None and (ended := _UNITTEST_END.fullmatch(line)):
            self.found.append((self._waiting, _unittest_result(ended[1])))
            self._waiting = None

    def _ends(self, node: str, said: str) -> None:
        self._named = None
        ended = _UNITTEST_END.fullmatch(said)
        if ended:
            self.found.append((node, _unittest_result(ended[1])))
        else:
            self._waiting = node

    def _leave(self) -> None:
        if self._waiting is not None:
            self.unended[self._waiting] = None
        self._waiting = self._named = None

    def fill(self, nodes: NodeList) -> str | None:
        """A test whose status was never printed has no outcome."""
        self._leave()
        for node, result in self.found:
            nodes.add(node, result)
        lost = self.unended.keys() - dict(self.found).keys()
        if lost:
            nodes.findings.append(f"{len(lost)} tests have no status: {shortened(', '.join(sorted(lost)[:5]), 300)}")
            return "not_all_ran"
        if self.n_ran is None or self.verdict is None:
            return "no_summary"
        listed = Counter(result for _, result in self.found)
        counted = {name.strip(): int(count) for name, count in _UNITTEST_COUNT.findall(self.verdict[1])}
        claims = [("tests", self.n_ran, len(self.found))]
        claims += [(name, counted.get(name, 0), listed[result]) for name, result in _UNITTEST_COUNTED.items()]
        is_bad = bool(listed[NodeResult.FAILED] or listed[NodeResult.ERROR] or listed[NodeResult.XPASSED])
        is_told = self.verdict[0] == ("FAILED" if is_bad else "OK")
        return None if _agree(nodes, claims) and is_told else "count_mismatch"


def _agree(nodes: NodeList, claims: Iterable[tuple[str, int, int]]) -> bool:
    """Whether each of these is counted as it is listed; what is not is told. claims: what, counted, listed."""
    differing = [claim for claim in claims if claim[1] != claim[2]]
    nodes.findings += [f"the summary says {counted} {what}, {listed} are listed" for what, counted, listed in differing]
    return not differing


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
            self.files.append((int(found[2]), 0))
        elif self._file is not None and (found := _SYMPY_TEST.fullmatch(line)):
            self.found.append((f"{self._file}::{found[1]}", found[2]))
            n_said, n_listed = self.files[-1]
            self.files[-1] = (n_said, n_listed + 1)
        elif found := _SYMPY_END.fullmatch(line):
            self.counted = self.counted or Counter()
            for count, word in _SYMPY_COUNT.findall(found[1]):
                self.counted[word] += int(count)

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
        return None if _agree(nodes, claims) and is_whole else "count_mismatch"


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
            self.n_total = (self.n_total or 0) + int(found[2])
            self.counted.update(_counts_of(_JEST_COUNT, found[1]))
            self._file = None
        elif found := _JEST_FILES.fullmatch(line):
            self.n_failed_files = (self.n_failed_files or 0) + _counts_of(_JEST_COUNT, found[1])["failed"]
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
        return None if _agree(nodes, claims) else "count_mismatch"


def _counts_of(pattern: re.Pattern[str], said: str) -> Counter[str]:
    return Counter({found[2]: int(found[1]) for found in pattern.finditer(said)})


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
            self.n_said += int(found[1])
            self.is_open = True
        elif found := _CARGO_TEST.fullmatch(line):
            self.found.append((f"{self._binary}::{found[1]}" if self._binary else found[1], _CARGO[found[2]]))
        elif found := _CARGO_END.fullmatch(line):
            self.is_open = False
            self.counted = (self.counted or Counter()) + _counts_of(_CARGO_COUNT_OF, found[2])
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
        return None if _agree(nodes, claims) and is_told else "count_mismatch"


FAMILIES: Final[tuple[type[Pytest | Unittest | Sympy | Go | Jest | Cargo], ...]] = (
    Pytest,
    Unittest,
    Sympy,
    Go,
    Jest,
    Cargo,
)
