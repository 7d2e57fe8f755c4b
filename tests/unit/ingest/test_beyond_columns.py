"""Values that no column holds, in places where a source may put anything, stop no ingest."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from samework.model.results import IngestSummary
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
