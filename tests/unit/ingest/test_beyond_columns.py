"""Values that no column holds, in places where a source may put anything, stop no ingest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samework.equivalence.pairs import compare
from samework.model.words import Facet
from samework.text import storable_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from samework.model.results import FacetVerdict, IngestSummary
    from samework.store.connection import StoreHandle
    from tests.unit.ingest.conftest import Lab


def test_counts_beyond_a_column_and_halves_of_characters_in_facts_stop_no_ingest(
    store: StoreHandle, lab: Lab, take: Callable[..., IngestSummary]
) -> None:
    usage = {"prompt_tokens": 2**70, "completion_tokens": 2**63 - 1}
    reply = {"object": "chat.completion", "created": "\ud800", "usage": usage, "model": "\ud800"}
    reply["choices"] = [{"message": {"role": "assistant", "content": "a"}}]
    operation = {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}
    span = {"traceId": "t", "spanId": "s", "attributes": [operation]}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "\ud800"}}]}
    spans = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]}
    summary = take(lab.write("reply.json", reply), lab.write("spans.json", spans))
    assert [each.status for each in summary.sources] == ["new", "incomplete"]
    found = store.db.execute("select prompt_tokens, completion_tokens from call_usage").fetchone()
    assert found == (None, 2**63 - 1)


def two_reports(store: StoreHandle, lab: Lab, take: Callable[..., IngestSummary], *reports: bytes) -> FacetVerdict:
    """The tests of two runs that differ in their reports alone."""
    for arm, report in zip("ab", reports, strict=True):
        lab.write(f"{arm}/report", report)
        told = [{"report": "report", "suite": "s", "env": "e"}]
        lab.write(f"{arm}/run.json", {"task": "t", "arm": arm, "tests": told})
    take(lab.root / "a", lab.root / "b")
    return compare(store, 1, 2).facets[Facet.TESTS]


def pytest_report(*nodes: str, **more: object) -> bytes:
    tests = [{"nodeid": node, "outcome": "passed"} for node in nodes]
    summary = {"total": len(tests), "collected": len(tests)}
    return json.dumps({"exitcode": 0, "root": "/w", "summary": summary, "tests": tests, **more}).encode()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pytest_report("m.py::a[\ud800]"), pytest_report("m.py::a[\udfff]")),
        (pytest_report("m.py::a[\ud800]"), pytest_report("m.py::a[\\ud800]")),
        (pytest_report("m.py::a[\ud800]"), pytest_report("m.py::a[\ufffd\ufffd\ufffd]")),
        (b"1..1\nok 1 - a\xff\n", b"1..1\nok 1 - a\xfe\n"),
        (b"PASSED t.py::a\xff\n== 1 passed in 1s ==\n", b"PASSED t.py::a\xfe\n== 1 passed in 1s ==\n"),
    ],
)
def test_ids_that_no_column_holds_stay_apart(
    store: StoreHandle, lab: Lab, take: Callable[..., IngestSummary], first: bytes, second: bytes
) -> None:
    found = two_reports(store, lab, take, first, second)
    assert (found.verdict, found.reason) == ("different", "differs_single_run")
    assert store.db.execute("select count(distinct node), count(*) from test_outcome").fetchone() == (2, 2)
    assert store.db.execute("select count(distinct map_sha256) from test_report").fetchone() == (2,)


def test_ids_with_a_lone_surrogate_are_still_equal_to_themselves(
    store: StoreHandle, lab: Lab, take: Callable[..., IngestSummary]
) -> None:
    report = pytest_report("m.py::a[\ud800]")
    assert two_reports(store, lab, take, report, report + b"\n").verdict == "same"
    assert store.db.execute("select distinct node from test_outcome").fetchall() == [("m.py::a[\\ud800]",)]


PIECES = st.sampled_from(["\\", "u", "d800", "udfff", "\ud800", "\udfff", "x"])


@given(st.lists(st.lists(PIECES, max_size=6).map("".join), min_size=2, max_size=2, unique=True))
def test_no_two_ids_are_stored_as_one(ids: list[str]) -> None:
    one, other = map(storable_id, ids)
    assert one != other
    assert (one + other).encode()


def test_a_module_that_could_not_be_imported_differs_from_one_whose_tests_passed(
    store: StoreHandle, lab: Lab, take: Callable[..., IngestSummary]
) -> None:
    """Passed collectors are in neither report's outcomes: that a test of the module is listed tells of them."""
    broken = pytest_report(exitcode=2, collectors=[{"nodeid": "m.py", "outcome": "failed"}])
    whole = pytest_report("m.py::a", collectors=[{"nodeid": "m.py", "outcome": "passed"}])
    found = two_reports(store, lab, take, broken, whole)
    assert (found.verdict, found.reason, found.detail) == ("different", "collection_differs", "m.py::<collection>")


@pytest.mark.parametrize("more", [{}, {"exitcode": 1}, {"exitcode": 1, "summary": {"total": 0}}])
def test_a_report_of_no_tests_is_neither_the_same_nor_different(
    store: StoreHandle, lab: Lab, take: Callable[..., IngestSummary], more: dict[str, object]
) -> None:
    found = two_reports(store, lab, take, pytest_report(**more), pytest_report("m.py::a"))
    assert (found.verdict, found.reason, found.vacuous) == ("unknown", "vacuous", True)
