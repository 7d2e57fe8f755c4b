"""Reports of `jest --json` (Vitest writes the same): test files with the tests of each.

The format has absolute paths; ids are relative to the directory that all test files share, so that a checkout in
another place is the same suite. A file that could not run is a node `file::<collection>`. `pending`, `todo` and
`disabled` did not run: skipped. A test that passed after a retry keeps its failure: it is flaky. Complete iff the
counts are those of the tests listed, every file ran, and the run was not interrupted.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from samework.canon.report_nodes import NodeList
from samework.decode.document import read_document_checked
from samework.decode.shapes import as_count, as_dict, as_dicts, as_list, as_name, as_text
from samework.errors import DamagedRecord
from samework.model.reader import Evidence
from samework.model.words import NodeResult
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record, SuiteReport

_KEYS = (rb'"numTotalTests"\s*:', rb'"numPassedTests"\s*:')
_RESULTS = {
    "passed": NodeResult.PASSED,
    "failed": NodeResult.FAILED,
    "pending": NodeResult.SKIPPED,
    "skipped": NodeResult.SKIPPED,
    "todo": NodeResult.SKIPPED,
    "disabled": NodeResult.SKIPPED,
}


class Jest:
    """Reader of Jest's JSON."""

    name = "jest"
    title = "Jest JSON report (also Vitest)"
    detects = "a JSON object with `numTotalTests` and `numPassedTests`"
    proven = True
    evidence = Evidence(tests="yes, with completeness")

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for an object with the counts of Jest."""
        if source.is_dir or not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return 0.0
        return 0.95 if all(re.search(key, head) for key in _KEYS) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield one `SuiteReport`.

        Raises: DamagedRecord: not JSON, or no report of Jest.
        """
        document, findings = read_document_checked(source)
        if not isinstance(document, dict) or not isinstance(document.get("testResults"), list):
            raise DamagedRecord("not a report of Jest: `testResults` is no list", place=visible(source.path))
        yield _report(document, findings)


def _report(document: dict[str, object], findings: list[str]) -> SuiteReport:
    nodes = NodeList()
    nodes.findings += findings
    files = as_dicts(document.get("testResults"))
    paths = [(as_name(file.get("name")) or "").replace("\\", "/") for file in files]
    shared = _shared_folder(paths)
    n_listed = n_unknown = n_broken = 0
    for file, path in zip(files, paths, strict=True):
        name = path[len(shared) :]
        tests = as_list(file.get("assertionResults"))
        n_listed += len(tests)
        n_unknown += sum(not _add(nodes, name, as_dict(test)) for test in tests)
        if not tests and file.get("status") == "failed":
            n_broken += 1
            nodes.add(f"{name}::<collection>", NodeResult.ERROR, "collection")
    total = as_count(document.get("numTotalTests"))
    if total is not None and total != n_listed:
        nodes.findings.append(f"{total} tests are counted, {n_listed} are listed")
    rules = (
        (len(files) != len(as_list(document.get("testResults"))), "damaged_report"),
        (document.get("wasInterrupted") is True, "interrupted"),
        (bool(n_broken or as_count(document.get("numRuntimeErrorTestSuites"))), "collection_failed"),
        (n_unknown > 0, "unknown_outcome"),
        (total is None, "count_unrecorded"),
        (total != n_listed, "count_mismatch"),
    )
    reason = next((reason for holds, reason in rules if holds), None)
    return nodes.report(Jest.name, reason, runner="jest", n_collected=total)


def _add(nodes: NodeList, file: str, test: dict[str, object]) -> bool:
    """Add a test; False where it has no outcome."""
    titles = [as_name(title) or "" for title in as_list(test.get("ancestorTitles"))]
    title = as_name(test.get("title")) or as_name(test.get("fullName"))
    result = _RESULTS.get(as_text(test.get("status")) or "")
    if title is None or result is None:
        word = shortened(str(test.get("status")), 40)
        nodes.findings.append(f"{shortened(title or 'a test without a title', 200)}: no outcome in status {word!r}")
        return False
    node = "::".join((file, *titles, title))
    invocations = as_count(test.get("invocations"))
    if result is NodeResult.PASSED and (as_list(test.get("retryReasons")) or (invocations or 1) > 1):
        nodes.add(node, NodeResult.FAILED, "flaky")
    nodes.add(node, result)
    return True


def _shared_folder(paths: list[str]) -> str:
    """The directory that all absolute paths share, with its final slash; "" where there is none.

    >>> _shared_folder(["/w/a/x.test.js", "/w/b/y.test.js"]), _shared_folder(["a.test.js"])
    ('/w/', '')
    """
    folders = [posixpath.dirname(path) for path in paths if path]
    if not folders or not all(posixpath.isabs(folder) or folder[1:2] == ":" for folder in folders):
        return ""
    try:
        shared = posixpath.commonpath(folders)
    except ValueError:
        return ""
    return shared if shared.endswith("/") else f"{shared}/"


READER = Jest()
