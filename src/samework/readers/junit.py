"""JUnit XML reports: every outcome that is listed, ids as pytest names them where they can be rebuilt.

The format has no count of collected tests. A report is taken as complete iff it lists tests, each named, no collector
failed or was skipped, and the counts in its header are those of its elements. What it cannot show: a session stopped
early (`-x`), an xpass that passed, single subtests. Refuses DTDs; an id listed twice keeps both outcomes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from junitparser import Error, Failure, Skipped, TestCase

from samework.canon.node_ids import masked_ids
from samework.decode.document import read_bytes
from samework.decode.strict_json import BOM
from samework.decode.xml import parse_xml
from samework.errors import DamagedRecord, InputError
from samework.model.reader import Evidence
from samework.model.records import NodeOutcome, SuiteReport
from samework.model.words import NodeResult
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

    from samework.model.reader import Source
    from samework.model.records import Record

_ROOT = re.compile(
    rb"(?:<\?xml[^>]*+>|<!--.*?-->|<!DOCTYPE(?:[^\[>]|\[[^\]]*+\])*+>|\s)*+<testsuites?[\s/>]", re.DOTALL
)
_TEST_MODULE = re.compile(r"test_.+|.+_test|tests?|conftest|__init__")
_CRASHED = re.compile(r"worker '[^']*' crashed while running")
_COLLECTED_BADLY = frozenset({"collection failure", "collection skipped"})
_SKIPPED_STATUS = frozenset({"notrun", "skipped", "disabled", "ignored"})


class Junit:
    """Reader of JUnit XML."""

    name = "junit"
    title = "JUnit XML report"
    detects = "an XML document whose root is testsuites or testsuite"
    proven = True
    evidence = Evidence(tests="yes, without xpassed and single subtests")

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for a root element testsuites or testsuite."""
        return 0.95 if not source.is_dir and _ROOT.match(head.removeprefix(BOM)) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield one `SuiteReport`.

        Raises: InputError: not well-formed XML, a DTD, or no JUnit report; the place names the file.
        """
        try:
            root = parse_xml(read_bytes(source))
        except InputError as error:
            error.place = error.place or visible(source.path)
            raise
        if root.tag not in {"testsuites", "testsuite"}:
            raise DamagedRecord(
                f"not a JUnit report: its root is {shortened(str(root.tag), 60)}", place=visible(source.path)
            )
        yield _report(root)


def _report(root: Element) -> SuiteReport:
    cases = _Cases()
    is_pytest = False
    for suite in root.iter():
        if suite.tag not in {"testsuite", "testsuites"}:
            continue
        from_pytest = suite.get("name") == "pytest"
        is_pytest = is_pytest or from_pytest
        for element in suite.findall("testcase"):
            cases.add(element, from_pytest=from_pytest)
    outcomes = cases.outcomes()
    header_reason = _compare_headers(root, cases)
    reason = cases.incomplete_reason or header_reason
    return SuiteReport(
        outcomes=outcomes,
        complete=reason is None,
        format=Junit.name,
        incomplete_reason=reason,
        runner="pytest" if is_pytest else None,
        findings=tuple(cases.findings),
    )


class _Cases:
    """Test cases of one report, in order."""

    def __init__(self) -> None:
        self.findings: list[str] = []
        self.seen: list[tuple[str, NodeResult, str | None]] = []
        self.n_elements = 0
        self.n_merged = 0
        self.n_unnamed = 0
        self.has_bad_collector = False
        self.has_internal_error = False

    @property
    def incomplete_reason(self) -> str | None:
        """Slug of what the elements themselves show to be missing."""
        rules = (
            (self.has_internal_error, "internal_error"),
            (self.has_bad_collector, "collection_failed"),
            (self.n_unnamed > 0, "unnamed_tests"),
            (self.n_elements == 0, "no_tests"),
        )
        return next((reason for holds, reason in rules if holds), None)

    def add(self, element: Element, *, from_pytest: bool) -> None:
        """One <testcase>."""
        self.n_elements += 1
        name, classname = element.get("name") or "", element.get("classname") or ""
        case = TestCase.fromelem(element)  # type: ignore[no-untyped-call]
        results = [(type(result), result.message or "", result.type or "") for result in case.result]
        if from_pytest and any(message in _COLLECTED_BADLY for _, message, _ in results):
            self._add_collector(name, results[0][0])
            return
        if from_pytest and any(message == "internal error" for _, message, _ in results):
            self.has_internal_error = True
        if not name:
            self.n_unnamed += 1
            return
        node = node_id(classname, name, element.get("file") or "", from_pytest=from_pytest)
        self._add_flakes(node, element)
        self._add_result(node, *_outcome(results, element.get("status") or element.get("result") or ""))

    def _add_collector(self, name: str, kind: type) -> None:
        self.has_bad_collector = True
        result = NodeResult.SKIPPED if kind is Skipped else NodeResult.ERROR
        path = name if name.endswith(".py") else name.replace(".", "/") + ".py"
        self.seen.append((f"{path}::<collection>", result, "collection"))

    def _add_flakes(self, node: str, element: Element) -> None:
        """Earlier outcomes of a test that passed in the end (flakyFailure, flakyError of Surefire)."""
        for tag, result in (("flakyFailure", NodeResult.FAILED), ("flakyError", NodeResult.ERROR)):
            if element.find(tag) is not None:
                self.seen.append((node, result, "flaky"))

    def _add_result(self, node: str, result: NodeResult, detail: str | None) -> None:
        if detail == "teardown":
            for place in range(len(self.seen) - 1, -1, -1):
                earlier, outcome, _ = self.seen[place]
                if earlier == node and outcome is NodeResult.FAILED:
                    del self.seen[place]
                    self.n_merged += 1
                    detail = "failed, then an error in teardown"
                    break
        self.seen.append((node, result, detail))

    def outcomes(self) -> tuple[NodeOutcome, ...]:
        """Every observation, memory addresses in ids masked."""
        names = masked_ids([node for node, _, _ in self.seen])
        n_masked = sum(node != name for (node, _, _), name in zip(self.seen, names, strict=True))
        if n_masked:
            self.findings.append(f"{n_masked} test ids hold a memory address, masked")
        results: dict[str, set[NodeResult]] = {}
        for name, (_, result, _) in zip(names, self.seen, strict=True):
            results.setdefault(name, set()).add(result)
        if self.n_merged:
            self.findings.append(f"{self.n_merged} tests are listed twice, failed and with an error in teardown")
        if len(results) != len(names):
            self.findings.append(f"{len(names) - len(results)} entries repeat the id of another; all are kept")
        for name, found in results.items():
            if len(found) > 1:
                words = ", ".join(sorted(found))
                self.findings.append(f"{shortened(name, 200)}: conflicting outcomes {words}")
        return tuple(
            NodeOutcome(name, result, detail) for name, (_, result, detail) in zip(names, self.seen, strict=True)
        )


def node_id(classname: str, name: str, file: str, *, from_pytest: bool) -> str:
    """The id as pytest names it, where class name and file allow; else `classname::name`.

    >>> node_id("tests.api.test_b.TestX", "test_y[1.5]", "", from_pytest=True)
    'tests/api/test_b.py::TestX::test_y[1.5]'
    >>> node_id("TestAcme", "test_a", "tests/test_lib.py", from_pytest=False)
    'tests/test_lib.py::TestAcme::test_a'
    >>> node_id("org.acme.FooTest", "bar", "", from_pytest=False)
    'org.acme.FooTest::bar'
    """
    parts = classname.split(".") if classname else []
    n_module = _n_module_parts(parts, file, from_pytest=from_pytest)
    if n_module:
        return "::".join(["/".join(parts[:n_module]) + ".py", *parts[n_module:], name])
    is_relative_python = file.endswith(".py") and not file.startswith("/")
    if is_relative_python and len(parts) <= 1:
        return "::".join([file, *parts, name])
    return f"{classname}::{name}" if classname else name


def _n_module_parts(parts: list[str], file: str, *, from_pytest: bool) -> int:
    """How many parts of a class name are its module; 0 where that cannot be told."""
    if file.endswith(".py"):
        path = file.removesuffix(".py").replace("\\", "/").split("/")
        for n_parts in range(len(parts), 0, -1):
            if path[-n_parts:] == parts[:n_parts]:
                return n_parts
    elif not from_pytest:
        return 0
    for place in range(len(parts) - 1, -1, -1):
        if _TEST_MODULE.fullmatch(parts[place]):
            return place + 1
    n_parts = len(parts)
    while n_parts and parts[n_parts - 1][:1].isupper():
        n_parts -= 1
    return n_parts if from_pytest else 0


def _outcome(results: list[tuple[type, str, str]], status: str) -> tuple[NodeResult, str | None]:
    """Outcome of one element and a word on it: an error outweighs a failure, a failure a skip."""
    for kind, message, _ in results:
        if kind in {Error, Failure} and _CRASHED.search(message):
            return NodeResult.ERROR, "crash"
    errors = [message for kind, message, _ in results if kind is Error]
    if errors:
        phase = next((word for word in ("teardown", "setup") if f"failed on {word} with" in errors[-1]), None)
        return NodeResult.ERROR, phase
    if any(kind is Failure for kind, _, _ in results):
        return NodeResult.FAILED, None
    if results:
        return _skip(results[0][1], results[0][2]), None
    if status.lower() in _SKIPPED_STATUS:
        return NodeResult.SKIPPED, None
    return NodeResult.FAILED if status.lower() in {"failed", "failure"} else NodeResult.PASSED, None


def _skip(message: str, kind: str) -> NodeResult:
    if "xfail-marked test passes unexpectedly" in message:
        return NodeResult.XPASSED
    return NodeResult.XFAILED if kind == "pytest.xfail" else NodeResult.SKIPPED


def _compare_headers(root: Element, cases: _Cases) -> str | None:
    """Slug of what the counts of the suites say, None where they agree with the elements."""
    has_count, reason = False, None
    for suite in root.iter():
        claimed = suite.get("tests") if suite.tag in {"testsuite", "testsuites"} else None
        if claimed is None:
            continue
        has_count = True
        listed = sum(1 for _ in suite.iter("testcase"))
        if claimed.strip() in {str(listed), str(listed - cases.n_merged)}:
            continue
        reason = "count_mismatch"
        name = shortened(suite.get("name") or "", 60)
        cases.findings.append(f"suite {name!r}: its header says {shortened(claimed, 20)} tests, {listed} are listed")
    return reason if has_count else "count_unrecorded"


READER = Junit()
