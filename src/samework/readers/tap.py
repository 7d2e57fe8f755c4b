"""TAP reports (Test Anything Protocol, versions 12 to 14): test points by their descriptions, subtests below them.

A point is known by its description; points of one level that share one are numbered in order. `# SKIP` is skipped,
`# TODO` an expected failure (passed: xpassed). Complete iff the plan counts as many points as are listed, nobody
bailed out, and the last point ends with its line. Refuses what has neither plan nor point.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from samework.canon.report_nodes import NodeList
from samework.decode.document import read_bytes
from samework.decode.strict_json import BOM
from samework.errors import DamagedRecord
from samework.model.reader import Evidence
from samework.model.words import NodeResult
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record, SuiteReport

_VERSION = re.compile(r"TAP version \d+\s*")
_PLAN = re.compile(r"1\.\.(\d+)(?:\s*#.*)?\s*")
_POINT = re.compile(r"(not )?ok\b(?:\s+(\d+))?(?:\s+-)?(?:\s+(.*))?")
_DIRECTIVE = re.compile(r"(?<!\\)#\s*(skip|todo)\S*", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:not )?ok [0-9]+\b")
_INDENT = 4
_MAX_DEPTH = 50


class Tap:
    """Reader of TAP."""

    name = "tap"
    title = "TAP test report"
    detects = "text that begins with `TAP version`, or with a plan `1..N` or a numbered point and holds points"
    proven = False
    evidence = Evidence(tests="yes, with completeness where a plan is given")

    def sniff(self, head: bytes, source: Source) -> float:
        """0.9 for a version line, 0.6 for a plan or a point in front of points."""
        if source.is_dir:
            return 0.0
        text = head.removeprefix(BOM).decode("utf-8", "replace")
        lines = [line for line in text.split("\n")[:200] if line.strip() and not line.startswith("#")]
        if not lines:
            return 0.0
        if _VERSION.fullmatch(lines[0]):
            return 0.9
        begins = _PLAN.fullmatch(lines[0]) or _NUMBERED.match(lines[0])
        return 0.6 if begins and any(_NUMBERED.match(line) for line in lines) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield one `SuiteReport`.

        Raises: DamagedRecord: no plan and no point.
        """
        text = read_bytes(source).removeprefix(BOM).decode("utf-8", "replace")
        reading = _Reading()
        *lines, last = text.split("\n")
        for line in lines:
            reading.line(line.rstrip("\r"))
        is_cut = _POINT.fullmatch(last.lstrip(" ")) is not None  # its directive may be missing
        if not is_cut:
            reading.line(last)
        if reading.plans.get(0) is None and not reading.n_points and not is_cut:
            raise DamagedRecord("no TAP report: neither a plan nor a test point", place=visible(source.path))
        yield reading.report(is_cut=is_cut)


class _Point:
    """One test point, with those of its subtest."""

    def __init__(self, name: str, result: NodeResult, below: list[_Point]) -> None:
        self.name = name
        self.result = result
        self.below = below


class _Reading:
    """Points by level, as lines go by."""

    def __init__(self) -> None:
        self.levels: list[list[_Point]] = [[]]
        self.plans: dict[int, int] = {}
        self.mismatches: list[str] = []
        self.bailed: str | None = None
        self.n_points = 0
        self._in_yaml: int | None = None

    def line(self, line: str) -> None:
        """One line of the report."""
        body = line.lstrip(" ")
        indent = len(line) - len(body)
        if self._in_yaml is not None:
            if body.rstrip() == "..." and indent <= self._in_yaml:
                self._in_yaml = None
            return
        if body.rstrip() == "---" and self.n_points:
            self._in_yaml = indent
            return
        level = indent // _INDENT
        if indent % _INDENT or level > _MAX_DEPTH:
            return
        if found := _POINT.fullmatch(body):
            self._point(level, found)
        elif found := _PLAN.fullmatch(body):
            self.plans[level] = int(found[1][:9])
        elif body.startswith("Bail out!"):
            self.bailed = body.removeprefix("Bail out!").strip() or "no reason given"

    def _point(self, level: int, found: re.Match[str]) -> None:
        while len(self.levels) <= level:
            self.levels.append([])
        below: list[_Point] = []
        for deeper in range(len(self.levels) - 1, level, -1):
            self._check(deeper)
            below = self.levels[deeper] or below
            self.levels[deeper] = []
        self.n_points += 1
        said = found[3] or ""
        directive = _DIRECTIVE.search(said)
        name = (said[: directive.start()] if directive else said).strip()
        name = re.sub(r"\\([#\\])", r"\1", name) or f"test {len(self.levels[level]) + 1}"
        word = directive[1].lower() if directive else None
        self.levels[level].append(_Point(name, _result(ok=found[1] is None, word=word), below))

    def _check(self, level: int) -> None:
        plan, n_listed = self.plans.pop(level, None), len(self.levels[level])
        if plan is not None and plan != n_listed:
            self.mismatches.append(f"a plan of {plan} tests, {n_listed} are listed")

    def report(self, *, is_cut: bool) -> SuiteReport:
        """The report of all points."""
        nodes = NodeList()
        plan = self.plans.get(0)
        for level in range(len(self.levels) - 1, -1, -1):
            if self.levels[level] or level in self.plans:
                self._check(level)
        for points in self.levels:
            _add(nodes, points, "")
        nodes.findings += self.mismatches
        orphans = sum(map(len, self.levels[1:]))
        if orphans:
            nodes.findings.append(f"{orphans} points of a subtest that has no point of its own")
        if self.bailed is not None:
            nodes.findings.append(f"bailed out: {shortened(self.bailed, 200)}")
        rules = (
            (self.bailed is not None, "bailed_out"),
            (is_cut, "cut"),
            (plan is None, "plan_unrecorded"),
            (bool(self.mismatches) or orphans > 0, "count_mismatch"),
        )
        return nodes.report(Tap.name, next((reason for holds, reason in rules if holds), None), n_collected=plan)


def _result(*, ok: bool, word: str | None) -> NodeResult:
    if word == "skip":
        return NodeResult.SKIPPED
    if word == "todo":
        return NodeResult.XPASSED if ok else NodeResult.XFAILED
    return NodeResult.PASSED if ok else NodeResult.FAILED


def _add(nodes: NodeList, points: list[_Point], prefix: str) -> None:
    seen: dict[str, int] = {}
    for point in points:
        seen[point.name] = seen.get(point.name, 0) + 1
        name = point.name if seen[point.name] == 1 else f"{point.name} ({seen[point.name]})"
        node = f"{prefix}::{name}" if prefix else name
        _add(nodes, point.below, node)
        nodes.add(node, point.result)


READER = Tap()
