"""TAP reports (Test Anything Protocol, versions 12 to 14): test points by their descriptions, subtests below them.

A point is known by its description, without the time that some writers put behind it; points of one level that share
one are numbered in order. The words `in 5ms` are such a time only where all points of the report end so, unnested and
without a dash as bats writes them, and no two descriptions differ in them alone. A subtest stands indented before its
point, or in braces after it. `# SKIP` is skipped, `# TODO` an expected failure (passed: xpassed). A `not ok` that says
SKIP is skipped in version 14, which says so, and failed in older ones, whose harness counts it as failed. Complete iff
the plan counts as many points as are listed, each number once, nobody bailed out, the last point ends with its line,
each brace before a subtest is closed, and no remark counts more failures than are listed (`# fail 1`, `# Looks like you
failed 1 test`) or tells that the program died. What a remark counts as passed is not compared: writers differ in what
they take for a test. Refuses what has neither plan nor point.
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

_VERSION = re.compile(r"TAP version (\d+)\s*", re.IGNORECASE)
_PLAN = re.compile(r"1\.\.(\d+)(?:\s*#.*)?\s*")
_POINT = re.compile(r"(not )?ok\b(?:\s+(\d+))?(?:\s+(-))?(?:\s+(.*))?")
_HASH = re.compile(r"(?:^|(?<=\s))#")
_DIRECTIVE = re.compile(
    r"(?:^|(?<=\s))#\s*(?:(?P<todo_skip>todo & skip\b)|(?P<skip>skip(?:ped)?\b)|(?P<todo>todo\b)|(?P<like>skip))",
    re.IGNORECASE,
)
_TIME = re.compile(r"#\s{0,4}+(?:time=[\d.]{1,24}+\s?\w{0,12}+|in \d{1,12}+ ms|timeout after \d{1,12}+ ?s)")
_MAX_TIMES = 3
_BARE_TIME = re.compile(r" in \d{1,12}+ms\Z")
_FIRST_FORGIVING = 14
_BRACE = " {"
_NUMBERED = re.compile(r"(?:not )?ok [0-9]+\b")
_FAILURES = re.compile(r"#\s{1,4}+(?:fail|failed|cancelled|looks like you failed)\s{1,4}+(\d{1,9}+)\b.*", re.IGNORECASE)
_DIED = "# looks like your test exited with "
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
        """0.9 for a version line, 0.6 for a plan or a numbered point in front, 0.4 where other lines precede."""
        if source.is_dir:
            return 0.0
        text = head.removeprefix(BOM).decode("utf-8", "replace")
        lines = [line.rstrip("\r") for line in text.split("\n")[:200] if line.strip() and not line.startswith("#")]
        first = lines[0] if lines else ""
        if _VERSION.fullmatch(first):
            return 0.9
        plan = _PLAN.fullmatch(first)
        is_planned = plan is not None and (not int(plan[1][:9]) or any(map(_POINT.fullmatch, lines)))
        if is_planned or _NUMBERED.match(first):
            return 0.6
        is_numbered = any(_NUMBERED.match(line) for line in lines)
        is_told = any(_VERSION.fullmatch(line) or _PLAN.fullmatch(line) for line in lines)
        return 0.4 if is_numbered and is_told else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield one `SuiteReport`.

        Raises: DamagedRecord: no plan and no point.
        """
        text = read_bytes(source).removeprefix(BOM).decode("utf-8", "surrogateescape")
        reading = _Reading()
        *lines, last = text.split("\n")
        for line in lines:
            reading.line(line.rstrip("\r"))
        is_cut = _POINT.fullmatch(last.lstrip(" ")) is not None  # its directive may be missing
        if not is_cut:
            reading.line(last)
        if reading.plan is None and not reading.n_points and not is_cut:
            raise DamagedRecord("no TAP report: neither a plan nor a test point", place=visible(source.path))
        yield reading.report(is_cut=is_cut)


class _Point:
    """One test point, with those of its subtest. timed: what stands behind its number may end with a bare time."""

    def __init__(self, name: str, number: int | None, result: NodeResult, below: list[_Point], *, timed: bool) -> None:
        self.name = name
        self.timed = timed
        self.number = number
        self.result = result
        self.below = below


class _Reading:
    """Points by level, as lines go by."""

    def __init__(self) -> None:
        self.levels: list[list[_Point]] = [[]]
        self.plans: dict[int, int] = {}
        self.plan: int | None = None
        self.mismatches: list[str] = []
        self.bailed: str | None = None
        self.n_points = 0
        self.n_not_ok = 0
        self.n_claimed = 0
        self.version = 0
        self.n_unclosed = 0
        self.n_orphans = 0
        self.braces: list[int] = []
        self._named_brace = False
        self._point_indent = 0
        self._is_not = False
        self._in_yaml: int | None = None

    def line(self, line: str) -> None:
        """One line of the report."""
        body = line.lstrip(" ")
        indent = len(line) - len(body)
        found = _POINT.fullmatch(body)
        plan = None if found else _PLAN.fullmatch(body)
        if self._is_yaml(body.rstrip(), indent, is_record=bool(found or plan)):
            return
        level = indent // _INDENT
        if indent % _INDENT or level > _MAX_DEPTH:
            return
        is_not, self._is_not = self._is_not, body.rstrip() == "not"  # a point whose two words stand on two lines
        if found:
            self._point_indent = indent
            self._point(level, found, ok=found[1] is None and not is_not)
        elif plan:
            self._plan(level, int(plan[1][:9]))
        elif not self.n_points and self.plan is None and (version := _VERSION.fullmatch(line)):
            self.version = int(version[1][:9])
        elif level == 0 and (claim := _FAILURES.fullmatch(line)):
            self.n_claimed = max(self.n_claimed, int(claim[1]))
        elif line.lower().startswith(_DIED):
            self.mismatches.append(shortened(line[1:].strip(), 120))
        elif body.lower().startswith("bail out!"):
            self.bailed = body[len("bail out!") :].strip() or "no reason given"
        else:
            self._brace(level, body.rstrip())

    def _is_yaml(self, body: str, indent: int, *, is_record: bool) -> bool:
        """True for a line of a block of YAML, which stands further in than its point."""
        if self._in_yaml is None:
            if body == "---" and self.n_points and indent > self._point_indent:
                self._in_yaml = indent
            return self._in_yaml is not None
        is_end = body == "..." and indent <= self._in_yaml
        is_left = is_record and indent < self._in_yaml  # nobody ended the block, and this is not its text
        if is_end or is_left:
            self._in_yaml = None
        return not is_left

    def _brace(self, level: int, body: str) -> None:
        # Where deeper points stand already, they await their own point, and a brace is some program's output.
        if body == "{" and any(self.levels[level : level + 1]) and not any(self.levels[level + 1 :]):
            self._open(level, named=False)
        elif body == "}" and self.braces and self.braces[-1] == level:
            self.braces.pop()
            self.levels[level][-1].below += self._taken(level)

    def _plan(self, level: int, n_planned: int) -> None:
        self._not_braces(level)
        self._reach(level)
        if level in self.plans:
            self.mismatches.append(f"a second plan, of {n_planned} tests after {self.plans[level]}")
        self.plans[level] = n_planned
        if level == 0:
            self.plan = n_planned

    def _reach(self, level: int) -> None:
        while len(self.levels) <= level:
            self.levels.append([])

    def _open(self, level: int, *, named: bool) -> None:
        """A brace: until the one that closes it, deeper points are those of the last point of its level."""
        self._not_braces(level)
        self._named_brace = named
        self.braces.append(level)

    def _not_braces(self, level: int) -> None:
        """A point or plan where a brace is to close: it was none, but the end of a description.

        Unless a subtest stands in it: whose that is cannot be told, and its rest may be lost.
        """
        while self.braces and self.braces[-1] >= level:
            of = self.braces.pop()
            point = self.levels[of][-1]
            point.name += _BRACE if self._named_brace else ""
            self.n_unclosed += any(self.levels[of + 1 :]) or any(deeper > of for deeper in self.plans)

    def _taken(self, level: int) -> list[_Point]:
        """All points below a level, which is their own again."""
        below: list[_Point] = []
        for deeper in range(len(self.levels) - 1, level, -1):
            self._check(deeper)
            found, self.levels[deeper] = self.levels[deeper], []
            self.n_orphans += len(below) if found else 0  # their point should have come after the last one found
            below = found + below
        return below

    def _point(self, level: int, found: re.Match[str], *, ok: bool) -> None:
        self._not_braces(level)
        self._reach(level)
        below = self._taken(level)
        self.n_points += 1
        self.n_not_ok += not ok
        said = (found[4] or "").rstrip()
        has_brace = f" {said}".endswith(_BRACE)
        said = _untimed(said[:-1].rstrip() if has_brace else said)
        first = None if ok else _HASH.search(said)  # only the first mark excuses a failure, another may be a title's
        directive = _DIRECTIVE.match(said, first.start()) if first else _DIRECTIVE.search(said)
        result = _result(ok=ok, directive=directive, forgives_skip=self.version >= _FIRST_FORGIVING)
        is_read = directive is not None and (ok or directive["like"] is None)
        name = (said[: directive.start()] if directive and is_read else said).strip()
        name = re.sub(r"\\([#\\])", r"\1", name) or f"test {len(self.levels[level]) + 1}"
        number = int(found[2][:9]) if found[2] else None
        timed = number is not None and not has_brace and found[3] is None
        self.levels[level].append(_Point(name, number, result, below, timed=timed))
        if has_brace:
            self._open(level, named=True)

    def _check(self, level: int) -> None:
        plan, points = self.plans.pop(level, None), self.levels[level]
        if plan is not None and plan != len(points):
            self.mismatches.append(f"a plan of {plan} tests, {len(points)} are listed")
        numbers = [point.number for point in points if point.number is not None]
        if len(set(numbers)) != len(numbers):
            self.mismatches.append("two points of one number")
        elif plan is not None and any(not 0 < number <= plan for number in numbers):
            self.mismatches.append(f"a number outside of a plan of {plan} tests")

    def report(self, *, is_cut: bool) -> SuiteReport:
        """The report of all points."""
        nodes = NodeList()
        for level in range(len(self.levels) - 1, -1, -1):
            if self.levels[level] or level in self.plans:
                self._check(level)
        if not any(self.levels[1:]):
            _drop_bare_times(self.levels[0])
        for points in self.levels:
            _add(nodes, points, "")
        if self.n_claimed > self.n_not_ok:
            self.mismatches.append(f"a remark counts {self.n_claimed} failures, {self.n_not_ok} are listed")
        nodes.findings += self.mismatches
        orphans = self.n_orphans + sum(map(len, self.levels[1:]))
        if orphans:
            nodes.findings.append(f"{orphans} points of a subtest that has no point of its own")
        if self.n_unclosed:
            nodes.findings.append(f"{self.n_unclosed} subtests in braces that nobody closed")
        if self.bailed is not None:
            nodes.findings.append(f"bailed out: {shortened(self.bailed, 200)}")
        rules = (
            (self.bailed is not None, "bailed_out"),
            (is_cut or bool(self.braces) or self.n_unclosed > 0, "cut"),
            (self.plan is None, "plan_unrecorded"),
            (bool(self.mismatches) or orphans > 0, "count_mismatch"),
        )
        return nodes.report(Tap.name, next((reason for holds, reason in rules if holds), None), n_collected=self.plan)


def _untimed(said: str) -> str:
    """What is said of a point without the times that stand at its end, or right before its last mark.

    Only there: a mark further in belongs to the description. Looks from the end, so that a long line costs little.
    """
    said = _cut_times(said)
    at = _last_mark(said)
    if at is None:
        return said
    before = said[:at].rstrip()
    kept = _cut_times(before)
    return said if kept == before else f"{kept} {said[at:]}".lstrip()


def _cut_times(said: str) -> str:
    for _ in range(_MAX_TIMES):
        at = _last_mark(said)
        if at is None or not _TIME.fullmatch(said, at):
            break
        said = said[:at].rstrip()
    return said


def _last_mark(said: str) -> int | None:
    """Where the last `#` stands, if as a word's beginning."""
    at = said.rfind("#")
    return at if at == 0 or (at > 0 and said[at - 1].isspace()) else None


def _drop_bare_times(points: list[_Point]) -> None:
    """Take ` in 5ms` off the names of a report of `bats --timing`, which has it in each.

    Where two names differ in it alone it tells tests apart: it is part of what they are called, there and everywhere.
    """
    names = [_BARE_TIME.sub("", point.name) for point in points if point.timed and not point.below]
    is_timed = len(names) == len(points) and all(map(_BARE_TIME.search, (point.name for point in points)))
    if is_timed and len(set(names)) == len(names):
        for point, name in zip(points, names, strict=True):
            point.name = name


def _result(*, ok: bool, directive: re.Match[str] | None, forgives_skip: bool) -> NodeResult:
    """Outcome of a point. A word that only begins like `skip` says so of a point that is ok, and excuses no other."""
    outcome = NodeResult.PASSED if ok else NodeResult.FAILED
    if directive is None:
        return outcome
    if directive["todo"]:
        return NodeResult.XPASSED if ok else NodeResult.XFAILED
    is_skip = directive["skip"] is not None and forgives_skip
    return NodeResult.SKIPPED if ok or directive["todo_skip"] or is_skip else outcome


def _add(nodes: NodeList, points: list[_Point], prefix: str) -> None:
    seen: dict[str, int] = {}
    for point in points:
        seen[point.name] = seen.get(point.name, 0) + 1
        name = point.name if seen[point.name] == 1 else f"{point.name} ({seen[point.name]})"
        node = f"{prefix}::{name}" if prefix else name
        _add(nodes, point.below, node)
        nodes.add(node, point.result)


READER = Tap()
