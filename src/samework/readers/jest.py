"""Reports of `jest --json` (Vitest writes the same): test files with the tests of each.

The format has absolute paths; ids are relative to the directory that all test files share, so that a checkout in
another place is the same suite. A file that could not run is a node `file::<collection>`, one that failed though none
of its tests did (in `afterAll`) a node `file::<file>`. `pending`, `todo` and `disabled` did not run: skipped. A test
that passed after a retry keeps its failure: it is flaky. Complete iff the counts are those of the tests and files
listed, `success` says what they say, every file ran to its end, no key stands twice in one object, and the run was not
interrupted.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from typing import TYPE_CHECKING

from samework.canon.report_nodes import NodeList
from samework.decode.document import read_document_checked
from samework.decode.shapes import as_count, as_dict, as_dicts, as_list, as_name, as_text
from samework.decode.strict_json import has_repeated
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
    listed: Counter[str | None] = Counter()
    n_unknown = n_broken = n_failed = 0
    for file, path in zip(files, paths, strict=True):
        name = path[len(shared) :]
        tests = as_list(file.get("assertionResults"))
        words = [as_text(as_dict(test).get("status")) for test in tests]
        listed.update(words)
        n_unknown += sum(not _add(nodes, name, as_dict(test)) for test in tests)
        if "failed" in words or not _is_failed(file):
            continue
        n_broken += not tests
        n_failed += bool(tests)
        where, phase = ("file", "file") if tests else ("collection", "collection")
        nodes.add(f"{name}::<{where}>", NodeResult.ERROR, phase)
    total = as_count(document.get("numTotalTests"))
    differing = _differing(document, listed, len(files), has_failing=bool(listed["failed"] or n_broken or n_failed))
    nodes.findings += differing
    rules = (
        (has_repeated(findings), "repeated_key"),
        (len(files) != len(as_list(document.get("testResults"))), "damaged_report"),
        (document.get("wasInterrupted") is True, "interrupted"),
        (bool(n_broken or as_count(document.get("numRuntimeErrorTestSuites"))), "collection_failed"),
        (n_failed > 0, "file_failed"),
        (n_unknown > 0, "unknown_outcome"),
        (total is None, "count_unrecorded"),
        (bool(differing), "count_mismatch"),
    )
    reason = next((reason for holds, reason in rules if holds), None)
    return nodes.report(Jest.name, reason, runner="jest", n_collected=total)


def _is_failed(file: dict[str, object]) -> bool:
    """A message is that of a failure: Jest leaves it empty where all passed."""
    message = as_text(file.get("failureMessage")) or as_text(file.get("message"))
    return file.get("status") == "failed" or bool(message)


def _differing(
    document: dict[str, object], listed: Counter[str | None], n_files: int, *, has_failing: bool
) -> list[str]:
    """What the report says of itself that the files and tests listed do not bear out, in sentences."""
    claims = [("numTotalTests", "tests", listed.total())]
    claims += [(f"num{word.title()}Tests", word, listed[word]) for word in ("passed", "failed")]
    if "numRuntimeErrorTestSuites" in document:  # Vitest, which has none, counts describe blocks as suites
        claims.append(("numTotalTestSuites", "files", n_files))
    found = [
        f"{count} {what} are counted, {n_listed} are listed"
        for key, what, n_listed in claims
        if (count := as_count(document.get(key))) is not None and count != n_listed
    ]
    success, n_suites = document.get("success"), as_count(document.get("numFailedTestSuites"))
    if isinstance(success, bool) and success is has_failing:
        found.append(f"success is {str(success).lower()}, {'a' if has_failing else 'no'} failure is listed")
    if n_suites is not None and bool(n_suites) is not has_failing:
        found.append(f"{n_suites} suites are counted as failed, {'a' if has_failing else 'no'} failure is listed")
    return found


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
    # Vitest keeps the messages of the attempts that failed.
    is_retried = as_list(test.get("retryReasons")) or as_list(test.get("failureMessages")) or (invocations or 1) > 1
    if result is NodeResult.PASSED and is_retried:
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
