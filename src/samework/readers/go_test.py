"""Reports of `go test -json`: an event a line, a node for each test and subtest, one for a package that broke.

A package that fails though none of its tests failed is a node `package::<package>` of its own: it did not build, or it
was killed. A test that ran and got no result has none here. Complete iff every package and every test that began has an
end, all were built, and no test binary broke off: one that ran to its end prints PASS or FAIL on a line of its own, one
that panicked, ran out of time or was killed does not, and what it had still to run is absent; and no package passed
that printed FAIL or had a failing test. Without a package (`go tool test2json` alone) tests go by their names. The log
does not say which packages were asked for, nor that `-failfast` held tests back. Refuses lines that are no events: they
are damage, and leave the report incomplete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.canon.report_nodes import NodeList
from samework.decode.items import first_object
from samework.decode.shapes import as_dict, as_name, as_number, as_text
from samework.errors import DamagedRecord
from samework.model.reader import Evidence
from samework.model.words import NodeResult
from samework.readers.parts.report_lines import damaged_lines
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record, SuiteReport

_ACTIONS = frozenset(
    {
        "start", "run", "pause", "cont", "pass", "bench", "fail", "output", "skip", "build-output", "build-fail",
        "attr", "artifacts",
    }
)  # fmt: skip
_FIELDS = frozenset(
    {
        "Time", "Action", "Package", "ImportPath", "Test", "Elapsed", "Output", "OutputType", "FailedBuild", "Key",
        "Value", "Path",
    }
)  # fmt: skip
_VERDICTS = ("PASS\n", "FAIL\n")
_SUMMARY = "FAIL\t"
_PREAMBLE_LINES = 20
_NEAR_LINES = 100
_ENDS = {"pass": NodeResult.PASSED, "fail": NodeResult.FAILED, "skip": NodeResult.SKIPPED, "bench": NodeResult.PASSED}


class GoTest:
    """Reader of `go test -json`."""

    name = "go_test"
    title = "go test -json report"
    detects = "JSON Lines whose objects have `Action` and `Package` or `ImportPath`"
    proven = False
    evidence = Evidence(tests="yes, with completeness")

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for a first object that is an event; what the compiler printed may stand before it.

        An `Action` alone is many a program's word: without a package, a near event has to tell of a test or its time.
        """
        if source.is_dir:
            return 0.0
        lines = head.split(b"\n", _NEAR_LINES)[:_NEAR_LINES]
        starts = (at for at, line in enumerate(lines) if line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{"))
        first = next(starts, _PREAMBLE_LINES)
        if first >= _PREAMBLE_LINES or not _is_event(as_dict(first_object(lines[first]))):
            return 0.0
        near = (as_dict(first_object(line)) for line in lines[first:])
        return 0.95 if any(_is_event(event) and _is_told(event) for event in near) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield damage, then one `SuiteReport`.

        Raises: DamagedRecord: no event at all.
        """
        reading = _Reading()
        reading.n_damaged = yield from damaged_lines(source, reading.event, "no event of go test")
        if not reading.n_events:
            raise DamagedRecord("no event of `go test -json`", place=visible(source.path))
        yield reading.report()


def _is_event(event: dict[str, object]) -> bool:
    if as_name(event.get("Action")) not in _ACTIONS:
        return False
    named = as_name(event.get("Package")) or as_name(event.get("ImportPath"))
    return named is not None or event.keys() <= _FIELDS


def _is_told(event: dict[str, object]) -> bool:
    """True for an event that says of what it is."""
    named = any(as_name(event.get(key)) for key in ("Package", "ImportPath", "Test"))
    return named or as_number(event.get("Elapsed")) is not None


def _node(package: str, test: str) -> str:
    return f"{package}::{test}" if package else test


class _Reading:
    """Tests and packages as events go by."""

    def __init__(self) -> None:
        self.n_events = 0
        self.n_damaged = 0
        self.nodes = NodeList()
        self.running: dict[tuple[str, str], None] = {}
        self.benchmarks: dict[str, dict[str, None]] = {}  # running ones by package, apart: its end ends them
        self.packages: dict[str, str | None] = {}
        self.failing: set[str] = set()
        self.said: dict[str, str] = {}
        self.n_unbuilt = 0
        self.n_broken_off = 0
        self.n_benchmarks = 0
        self.n_contradicting = 0

    def event(self, event: dict[str, object]) -> bool:
        """One event; False where it is none."""
        action, package = as_name(event.get("Action")), as_name(event.get("Package"))
        if action not in _ACTIONS or (package is None and not _is_event(event)):
            return False
        self.n_events += 1
        if package is None:
            if as_name(event.get("ImportPath")):
                return True  # the compiler's output; the package that it belongs to says that it failed
            package = ""
        test = as_name(event.get("Test"))
        if action == "output":
            self.packages.setdefault(package, None)
            self._output(package, test, as_text(event.get("Output")) or "")
        elif test is None and action in _ENDS:
            self._package_end(package, action, is_unbuilt=as_name(event.get("FailedBuild")) is not None)
        else:
            self.packages[package] = None  # also one that had ended: the log of a rerun follows
            if test is not None:
                self._test(action, package, test)
        return True

    def _output(self, package: str, test: str | None, text: str) -> None:
        """Keep whether a binary came to its own verdict before `go test` summed it up."""
        said = self.said.get(package, "")
        if test is None and not said and (text in _VERDICTS or text.startswith(_SUMMARY)):
            said = text
        self.said[package] = said

    def _test(self, action: str, package: str, test: str) -> None:
        is_benchmark = test.startswith("Benchmark")
        if action == "run" and is_benchmark:
            self.benchmarks.setdefault(package, {})[test] = None
        elif action == "run":
            self.running[package, test] = None
        elif action in _ENDS:
            if is_benchmark:
                self.benchmarks.get(package, {}).pop(test, None)
            else:
                self.running.pop((package, test), None)
            self.nodes.add(_node(package, test), _ENDS[action])
            if action == "fail":
                self.failing.add(package)

    def _package_end(self, package: str, action: str, *, is_unbuilt: bool) -> None:
        """The end of one package's run; a later run of it counts for itself."""
        self.packages[package] = action
        said, has_failing = self.said.pop(package, None), package in self.failing
        self.failing.discard(package)
        if action != "fail":
            self.n_contradicting += has_failing or (said or "").startswith("FAIL")
            # Go writes no end of a benchmark that printed its numbers; none failed where the package passed.
            self.n_benchmarks += len(self.benchmarks.pop(package, ()))
            return
        is_unbuilt = is_unbuilt or (said is not None and said.rstrip().endswith(("[build failed]", "[setup failed]")))
        if not has_failing:
            self.nodes.add(_node(package, "<package>"), NodeResult.ERROR, "build" if is_unbuilt else "package")
        if is_unbuilt:
            self.n_unbuilt += 1
        elif said not in _VERDICTS and not (said is None and has_failing):
            self.n_broken_off += 1

    def report(self) -> SuiteReport:
        """The report of all events."""
        nodes = self.nodes
        running = [*self.running, *((package, test) for package, tests in self.benchmarks.items() for test in tests)]
        if running:
            named = ", ".join(shortened(_node(package, test), 120) for package, test in running[:5])
            nodes.findings.append(f"{len(running)} tests began and have no end: {named}")
        if self.n_broken_off:
            nodes.findings.append(f"{self.n_broken_off} packages broke off before all of their tests ran")
        if self.n_contradicting:
            nodes.findings.append(f"{self.n_contradicting} packages passed that printed FAIL or had a failing test")
        if self.n_benchmarks:
            nodes.findings.append(f"{self.n_benchmarks} benchmarks have no outcome of their own")
        unended = [package for package, end in self.packages.items() if end is None]
        if unended:
            nodes.findings.append(f"{len(unended)} packages have no end: {shortened(', '.join(unended), 200)}")
        rules = (
            (self.n_damaged > 0, "damaged_report"),
            (self.n_unbuilt > 0, "collection_failed"),
            (bool(running or unended or self.n_broken_off), "not_all_ran"),
            (self.n_contradicting > 0, "contradiction"),
        )
        return nodes.report(
            GoTest.name, next((reason for holds, reason in rules if holds), None), runner="go test", exit_code=None
        )


READER = GoTest()
