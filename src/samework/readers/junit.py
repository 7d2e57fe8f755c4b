"""JUnit XML reports: every outcome that is listed, ids as pytest names them where they can be rebuilt.

The format has no count of collected tests. A report is taken as complete iff it lists tests, each with a name and an
outcome, no collector failed or was skipped, no suite has an error of its own, and the counts in the headers are those
of the elements below: as many tests, as many failures and errors together (writers differ in which is which), no more
skipped or disabled tests than are listed. Suites within suites are counted below each of their headers. The worst that
a test's elements, `status` and `result` say is its outcome; a word or an element that is not known is none. What the
format cannot show: a session stopped early (`-x`), an xpass that passed, single subtests. Refuses DTDs; an id listed
twice keeps both outcomes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from junitparser import Error, Failure, Skipped, TestCase

from samework.canon.node_ids import masked_ids
from samework.decode.document import read_bytes
from samework.decode.shapes import as_whole
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
_SUITES = frozenset({"testsuite", "testsuites"})
_CHILDREN = {
    name.lower(): name
    for name in (
        "failure", "error", "skipped", "flakyFailure", "flakyError", "rerunFailure", "rerunError", "properties",
        "system-out", "system-err",
    )
}  # fmt: skip
_KNOWN = frozenset(_CHILDREN.values())
_BAD = ("failures", "errors")
_NOT_RUN = ("skipped", "skips", "disabled")
_COUNTS = ("tests", *_BAD, *_NOT_RUN)
_FAILING = frozenset({"failure", "error", "flakyFailure", "flakyError", "rerunFailure", "rerunError"})
_PASSED, _SKIPPED = NodeResult.PASSED, NodeResult.SKIPPED
_WORDS = {
    **dict.fromkeys(("passed", "pass", "ok", "success", "successful", "run", "completed"), _PASSED),
    **dict.fromkeys(("notrun", "skipped", "skip", "disabled", "ignored", "pending", "suppressed"), _SKIPPED),
    **dict.fromkeys(("failed", "fail", "failure"), NodeResult.FAILED),
    **dict.fromkeys(("error", "errored"), NodeResult.ERROR),
}
"""Of `status` and `result`. GoogleTest writes `run` and `completed` of a test that ran, whatever came of it."""


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
    suites = [element for element in root.iter() if element.tag in _SUITES]
    tallies: dict[Element, _Tally] = {}
    for suite in suites:
        from_pytest = suite.get("name") == "pytest"
        is_pytest = is_pytest or from_pytest
        tally = tallies[suite] = _Tally()
        for element in suite:
            _name_children(element)
            if element.tag == "testcase":
                tally.add(element, cases.add(element, from_pytest=from_pytest))
            elif element.tag in {"error", "failure"}:
                tally.n_most += 1
                cases.add_suite_error(suite.get("name") or "", element)
    cases.n_stray = sum(1 for _ in root.iter("testcase")) - cases.n_elements
    outcomes = cases.outcomes()
    header_reason = _compare_headers(suites, tallies, cases)
    reason = cases.incomplete_reason or header_reason
    return SuiteReport(
        outcomes=outcomes,
        complete=reason is None,
        format=Junit.name,
        incomplete_reason=reason,
        runner="pytest" if is_pytest else None,
        findings=tuple(cases.findings),
    )


def _name_children(element: Element) -> None:
    """Give the children of a suite's element the names of the format, whatever namespace or case they have."""
    for each in (element, *element):
        if isinstance(each.tag, str):
            each.tag = _CHILDREN.get(each.tag.rpartition("}")[2].lower(), each.tag)


class _Tally:
    """Counts of one suite and of those within it. n_fewest, n_most: failing tests, and all that says of a failure."""

    def __init__(self) -> None:
        self.n_tests = self.n_fewest = self.n_most = self.n_skipped = 0

    def add(self, element: Element, result: NodeResult | None) -> None:
        """One test."""
        is_failing = result in {NodeResult.FAILED, NodeResult.ERROR}
        self.n_tests += 1
        self.n_fewest += is_failing
        self.n_most += max(is_failing, sum(child.tag in _FAILING for child in element))
        self.n_skipped += result in {NodeResult.SKIPPED, NodeResult.XFAILED, NodeResult.XPASSED}

    def add_suite(self, other: _Tally) -> None:
        """All of a suite within this one."""
        self.n_tests += other.n_tests
        self.n_fewest += other.n_fewest
        self.n_most += other.n_most
        self.n_skipped += other.n_skipped


class _Cases:
    """Test cases of one report, in order."""

    def __init__(self) -> None:
        self.findings: list[str] = []
        self.seen: list[tuple[str, NodeResult, str | None]] = []
        self.n_elements = 0
        self.n_merged = 0
        self.n_unnamed = 0
        self.n_unknown = 0
        self.n_stray = 0
        self.has_bad_collector = False
        self.has_internal_error = False
        self.has_suite_error = False

    @property
    def incomplete_reason(self) -> str | None:
        """Slug of what the elements themselves show to be missing."""
        rules = (
            (self.has_internal_error, "internal_error"),
            (self.has_bad_collector, "collection_failed"),
            (self.has_suite_error, "suite_error"),
            (self.n_unnamed > 0, "unnamed_tests"),
            (self.n_unknown > 0, "unknown_outcome"),
            (self.n_stray > 0, "damaged_report"),
            (self.n_elements == 0, "no_tests"),
        )
        return next((reason for holds, reason in rules if holds), None)

    def add(self, element: Element, *, from_pytest: bool) -> NodeResult | None:
        """One <testcase>; returns its outcome, None where it has none."""
        self.n_elements += 1
        name, classname = element.get("name") or "", element.get("classname") or ""
        case = TestCase.fromelem(element)  # type: ignore[no-untyped-call]
        results = [(type(result), result.message or "", result.type or "") for result in case.result]
        if from_pytest and any(message in _COLLECTED_BADLY for _, message, _ in results):
            return self._add_collector(name, results[0][0])
        if from_pytest and any(message == "internal error" for _, message, _ in results):
            self.has_internal_error = True
        result, detail = _outcome(element, results)
        if not name:
            self.n_unnamed += 1
            return result
        node = node_id(classname, name, element.get("file") or "", from_pytest=from_pytest)
        self._add_flakes(node, element)
        if result is None:
            self.n_unknown += 1
            self.findings.append(f"{shortened(node, 200)}: no outcome in {shortened(detail or '', 60)}")
        else:
            self._add_result(node, result, detail)
        return result

    def add_suite_error(self, suite: str, element: Element) -> None:
        """A failure that belongs to no test, but to its suite: in its set-up or its end."""
        self.has_suite_error = True
        self.findings.append(f"suite {shortened(suite, 60)!r} failed: {shortened(element.get('message') or '', 200)}")
        self.seen.append((f"{suite}::<suite>", NodeResult.ERROR, "suite"))

    def _add_collector(self, name: str, kind: type) -> NodeResult:
        self.has_bad_collector = True
        result = NodeResult.SKIPPED if kind is Skipped else NodeResult.ERROR
        path = name if name.endswith(".py") else name.replace(".", "/") + ".py"
        self.seen.append((f"{path}::<collection>", result, "collection"))
        return result

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
        if self.n_stray:
            self.findings.append(f"{self.n_stray} tests stand in no suite, and are not read")
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


def _outcome(element: Element, results: list[tuple[type, str, str]]) -> tuple[NodeResult | None, str | None]:
    """The worst that one element says of its test, and a word on it: on what is not known where it has no outcome."""
    for kind, message, _ in results:
        if kind in {Error, Failure} and _CRASHED.search(message):
            return NodeResult.ERROR, "crash"
    errors = [message for kind, message, _ in results if kind is Error]
    if errors:
        phase = next((word for word in ("teardown", "setup") if f"failed on {word} with" in errors[-1]), None)
        return NodeResult.ERROR, phase
    tags = {child.tag for child in element}
    said = [word.strip().lower() for word in (element.get("status"), element.get("result")) if word]
    words = {_WORDS.get(word) for word in said if word}
    is_failed = any(kind is Failure for kind, _, _ in results)
    if NodeResult.ERROR in words or ("rerunError" in tags and not is_failed):
        return NodeResult.ERROR, None
    if is_failed or NodeResult.FAILED in words or "rerunFailure" in tags:
        return NodeResult.FAILED, None
    unknown = [*(word for word in said if word and word not in _WORDS), *sorted(tags - _KNOWN)]
    if unknown:
        return None, repr(unknown[0])
    skipped = _skip(results[0][1], results[0][2]) if results else _SKIPPED if _SKIPPED in words else None
    return skipped or _PASSED, None


def _skip(message: str, kind: str) -> NodeResult:
    if "xfail-marked test passes unexpectedly" in message:
        return NodeResult.XPASSED
    return NodeResult.XFAILED if kind == "pytest.xfail" else NodeResult.SKIPPED


def _compare_headers(suites: list[Element], tallies: dict[Element, _Tally], cases: _Cases) -> str | None:
    """Slug of what the counts of the suites say, None where they agree with the elements."""
    for suite in reversed(suites):  # those within a suite come before it
        for inner in suite:
            if inner.tag in _SUITES:
                tallies[suite].add_suite(tallies[inner])
    reason = None
    for suite in suites:
        for claimed, listed in _differing(suite, tallies[suite], cases.n_merged):
            reason = "count_mismatch"
            name = shortened(suite.get("name") or "", 60)
            cases.findings.append(f"suite {name!r}: its header says {shortened(claimed, 60)}, {listed} are listed")
    has_count = any(suite.get("tests") is not None for suite in suites)
    return reason if has_count or reason else "count_unrecorded"


def _differing(suite: Element, tally: _Tally, n_merged: int) -> Iterator[tuple[str, int]]:
    """What a header counts otherwise than its elements, and how many those are."""
    given = {name: count for name in _COUNTS if (count := suite.get(name)) is not None}
    counts = {name: as_whole(text.strip()) for name, text in given.items()}
    if "tests" in given and counts["tests"] not in {tally.n_tests, tally.n_tests - n_merged}:
        yield f"{given['tests']} tests", tally.n_tests
    bad = [name for name in _BAD if name in given]
    n_bad = sum(counts[name] or 0 for name in bad)
    is_short = len(bad) == len(_BAD) and n_bad < tally.n_fewest
    if any(counts[name] is None for name in bad) or n_bad > tally.n_most or is_short:
        yield " and ".join(f"{given[name]} {name}" for name in bad), tally.n_fewest
    for name in _NOT_RUN:
        if name in given and (counts[name] is None or (counts[name] or 0) > tally.n_skipped):
            yield f"{given[name]} {name}", tally.n_skipped


READER = Junit()
