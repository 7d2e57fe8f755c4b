"""What these readers say that they can give is what they give on real samples: no more, and nothing left out."""

from __future__ import annotations

import pytest

from samework.decode.source import FileSource
from samework.ingest import registry
from samework.model.events import Event
from samework.model.records import PatchRecord, SuiteReport
from samework.model.words import EventKind

SAMPLES = {
    "otel_genai": ("otel-genai/vs-copilot-sample-1.jsonl", "openinference/all-spans.json"),
    "openinference": ("openinference/openinference_client_span_tool_calls.json",),
    "langsmith": ("langsmith/langsmith_js_wrap_openai_default.json",),
    "ag_ui": ("ag-ui/events.json", "ag-ui/Step06_RawEvents_Response.Server.AGUI.verified.json"),
}
REPORTS = ("ctrf", "tap", "go_test", "pytest_reportlog", "jest", "swebench_log")
PROVEN = (*SAMPLES, "swebench_log", "jest")
UNPROVEN = (
    "ctrf", "tap", "go_test", "pytest_reportlog", "mlflow", "langfuse", "agent_trace", "openai_responses",
    "anthropic_messages", "llamacpp",
)  # fmt: skip


def given(records: list[object]) -> set[str]:
    """Facets that some records evidence."""
    events = [record for record in records if isinstance(record, Event)]
    completions = [event for event in events if event.kind is EventKind.COMPLETION]
    calls = [call for event in completions for call in event.calls]
    usages = [event.usage for event in completions if event.usage is not None]
    found = {
        "tokens": any(event.token_ids for event in completions),
        "text": any(event.text for event in completions),
        "actions": bool(calls),
        "raw_arguments": any(call.exact for call in calls),
        "observations": any(event.kind is EventKind.OBSERVATION for event in events),
        "reuse": any(usage.cached_tokens is not None for usage in usages),
        "patch": any(isinstance(record, PatchRecord) for record in records),
        "tests": any(isinstance(record, SuiteReport) for record in records),
    }
    return {facet for facet, holds in found.items() if holds}


@pytest.mark.shared
@pytest.mark.parametrize("name", SAMPLES)
def test_no_sample_gives_what_its_reader_does_not_claim(shared_path, name):
    reader = registry.reader(name)
    claimed = {facet for facet in type(reader.evidence).__struct_fields__ if getattr(reader.evidence, facet) != "no"}
    found: set[str] = set()
    for sample in SAMPLES[name]:
        found |= given(list(reader.read(FileSource(shared_path("data", "formats", *sample.split("/"))))))
    assert found <= claimed
    assert "text" in found


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_claims_tests_alone(name):
    evidence = registry.reader(name).evidence
    assert {facet for facet in type(evidence).__struct_fields__ if getattr(evidence, facet) != "no"} == {"tests"}


def test_only_readers_with_a_sample_are_proven():
    assert all(registry.reader(name).proven for name in PROVEN)
    assert not any(registry.reader(name).proven for name in UNPROVEN)
