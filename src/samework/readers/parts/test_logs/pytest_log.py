"""What pytest prints: `-v`, and the short summary of `-rA`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from samework.model.words import NodeResult
from samework.readers.parts.test_logs.claims import number

if TYPE_CHECKING:
    from samework.canon.report_nodes import NodeList

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
            self.n_collected = number(found[1])
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
    return {found[2]: number(found[1]) for found in _COUNT.finditer(said)}


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
