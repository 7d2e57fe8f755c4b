"""What unittest and Django print."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from samework.model.words import NodeResult
from samework.readers.parts.test_logs.claims import agree, number
from samework.text import shortened

if TYPE_CHECKING:
    from samework.canon.report_nodes import NodeList

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
            self.n_ran, self.verdict = number(found[1]), None
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
        counted = {name.strip(): number(count) for name, count in _UNITTEST_COUNT.findall(self.verdict[1])}
        claims = [("tests", self.n_ran, len(self.found))]
        claims += [(name, counted.get(name, 0), listed[result]) for name, result in _UNITTEST_COUNTED.items()]
        is_bad = bool(listed[NodeResult.FAILED] or listed[NodeResult.ERROR] or listed[NodeResult.XPASSED])
        is_told = self.verdict[0] == ("FAILED" if is_bad else "OK")
        return None if agree(nodes, claims) and is_told else "count_mismatch"


def _unittest_result(word: str) -> NodeResult:
    return _UNITTEST.get(word.strip(), NodeResult.SKIPPED)
