"""Logs of test runs, as SWE-bench and its kin keep them in `test_output.txt`: each status beside its test's id.

Runners are told by what they print: pytest, unittest and Django, SymPy, go, Jest, cargo; the one with the most results
counts. Between SWE-bench's marks of start and end, where they are there, lies what counts. A log is complete iff its
own summary counts what it lists, outcome by outcome, nothing tells of a stop, its end mark is not missing, and no other
runner summed up tests of its own; a test that the log does not name has no outcome, whatever a grader would assume.
Refuses a log without any status.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from samework.canon.report_nodes import NodeList
from samework.decode.limits import MIB
from samework.decode.strict_json import BOM
from samework.errors import DamagedRecord
from samework.model.reader import Evidence
from samework.readers.parts.test_logs import FAMILIES, Family
from samework.text import counted, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_START, _END = ">>>>> Start Test Output", ">>>>> End Test Output"
_FAILED = (">>>>> Patch Apply Failed", ">>>>> Tests Timed Out", ">>>>> Tests Errored")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_UNSUMMED = "no_summary"
_MAX_LINE_BYTES = 64 * 1024
_FAR_BYTES = 1 << 20
_MARKUP = (b"{", b"[", b"<", b"# ")


class SwebenchLog:
    """Reader of logs of test runs."""

    name = "swebench_log"
    title = "SWE-bench test log (pytest, unittest, Django, SymPy, go, Jest, cargo)"
    detects = "text with SWE-bench's marks of test output, or with lines that give the status of a test"
    proven = True
    evidence = Evidence(tests="yes, with completeness where a summary is printed")

    def sniff(self, head: bytes, source: Source) -> float:
        """0.85 for SWE-bench's marks, 0.5 for lines with statuses; 0 for what begins as JSON, XML or Markdown."""
        if source.is_dir or b"\0" in head:
            return 0.0
        if _START.encode() in head:
            return 0.85
        if head.lstrip(BOM + b" \t\r\n").startswith(_MARKUP):
            return 0.0
        if len(head) < source.size() and _START.encode() in source.head(_FAR_BYTES):
            return 0.85
        families = _families([_plain(line) for line in head.split(b"\n")])
        return 0.5 if max(family.n_nodes for family in families) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield one `SuiteReport`.

        Raises: DamagedRecord: no status of any test, and no mark of test output.
        """
        marks = _Marks()
        families = _families(marks.within(_lines(source)))
        best = max(families, key=lambda family: family.n_nodes)
        if not best.n_nodes and not marks.has_start:
            raise DamagedRecord("no status of any test", place=visible(source.path))
        nodes = NodeList()
        nodes.findings += [f"the log says {said}" for said in marks.failures]
        reason = best.fill(nodes)
        others = [each for each in families if each is not best and each.n_nodes and each.fill(NodeList()) != _UNSUMMED]
        if others:
            told = ", ".join(f"{counted(each.n_nodes, 'result')} of {each.runner}" for each in others)
            nodes.findings.append(f"{told} not read beside those of {best.runner}")
            reason = reason or "several_runners"
        if not best.n_nodes:
            reason = "no_tests"
        elif marks.has_start and not marks.has_end:
            reason = "cut"
        elif marks.failures:
            reason = "harness_failed"
        yield nodes.report(SwebenchLog.name, reason, runner=best.runner if best.n_nodes else None)


READER = SwebenchLog()


def _families(lines: Iterator[str] | list[str]) -> list[Family]:
    families: list[Family] = [family() for family in FAMILIES]
    for line in lines:
        for family in families:
            family.line(line)
    return families


def _lines(source: Source) -> Iterator[str]:
    """Lines without colours and carriage returns; of a line that is no result of a test, the beginning is enough."""
    with source.open() as opened:
        stream = io.BufferedReader(opened, MIB) if isinstance(opened, io.RawIOBase) else opened
        while raw := stream.readline(_MAX_LINE_BYTES):
            yield _plain(raw)
            while not raw.endswith(b"\n") and len(raw) == _MAX_LINE_BYTES:
                raw = stream.readline(_MAX_LINE_BYTES)


def _plain(raw: bytes) -> str:
    return _ANSI.sub("", raw.decode("utf-8", "surrogateescape")).rstrip("\r\n").rsplit("\r", 1)[-1]


class _Marks:
    """SWE-bench's marks in a log."""

    def __init__(self) -> None:
        self.has_start = False
        self.has_end = False
        self.failures: list[str] = []

    def within(self, lines: Iterator[str]) -> Iterator[str]:
        """Lines of test output: all of them until a start mark is met, from there to the end mark."""
        for line in lines:
            if _START in line:
                self.has_start, self.has_end = True, False
            elif _END in line:
                self.has_end = True
            elif any(mark in line for mark in _FAILED):
                self.failures.append(line[line.index(">>>>>") :][:80])
            elif not self.has_end:
                yield line
