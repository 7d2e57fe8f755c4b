"""Which reader a source is for, from its content alone. A no says what was seen and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.decode import strict_json
from samework.decode.archive import GZIP_MAGIC, ZIP_MAGICS, ZSTD_MAGIC
from samework.decode.source import DirSource
from samework.decode.strict_json import NotJson
from samework.errors import UnknownFormat
from samework.ingest import registry
from samework.ingest.faults import sureness
from samework.text import shortened, visible

if TYPE_CHECKING:
    from samework.model.reader import Reader, Source

HEAD_BYTES = 65536
MIN_CONFIDENCE = 0.3
_LIKE: dict[str, tuple[str, frozenset[str]]] = {
    slug: (name, frozenset(keys.split()))
    for slug, name, keys in (
        ("swe_agent", "a SWE-agent trajectory", "trajectory history info environment replay_config"),
        ("mini_swe_agent", "a mini-swe-agent trajectory", "messages info trajectory_format instance_id"),
        ("predictions", "predictions for SWE-bench", "instance_id model_patch model_name_or_path"),
        (
            "swebench_report",
            "a SWE-bench report",
            "FAIL_TO_PASS PASS_TO_PASS FAIL_TO_FAIL PASS_TO_FAIL tests_status resolved",
        ),
        ("tau_bench", "a tau-bench result", "task_id traj reward trial"),
        ("tau2", "tau2 results", "simulations tasks info timestamp"),
        ("codex_rollout", "a Codex rollout", "timestamp type payload"),
        ("openai_chat", "OpenAI chat completions", "messages choices model request response object"),
        ("openai_responses", "OpenAI Responses", "object output previous_response_id instructions"),
        ("anthropic_messages", "Anthropic Messages", "role content stop_reason stop_sequence usage"),
        ("llamacpp", "a llama.cpp completion", "content tokens tokens_predicted generation_settings timings prompt"),
        ("events_jsonl", "events of a bundle", "kind text tool_calls call_id token_ids"),
        ("pytest_json", "a pytest-json-report", "tests summary collectors exitcode root environment"),
        ("ctrf", "a CTRF report", "reportFormat specVersion results"),
        ("jest", "a Jest report", "numTotalTests numPassedTests testResults success"),
        ("go_test", "go test -json", "Time Action Package Test Output"),
        ("claude_code", "a Claude Code session", "sessionId parentUuid uuid isSidechain cwd"),
        ("gemini_cli", "a Gemini CLI session", "sessionId projectHash startTime lastUpdated messages"),
        ("opencode", "an OpenCode export", "info messages parts sessionID"),
        ("kimi_cli", "a Kimi CLI log", "protocol_version event usage timestamp"),
        ("copilot_cli", "a Copilot CLI log", "type data id parentId timestamp"),
        ("atif", "an ATIF trajectory", "schema_version steps agent final_metrics"),
        ("harbor", "a Harbor trial", "trial_name task_name task_checksum verifier_result agent_result"),
        ("inspect_log", "an Inspect log", "eval plan samples results stats version"),
        ("openhands_v0", "OpenHands output", "source action observation args history instance test_result"),
        ("openhands_v1", "OpenHands events", "kind source id timestamp tool_call_id"),
        ("otel_genai", "OpenTelemetry spans", "resourceSpans traceId spanId scopeSpans spanContext"),
        ("openinference", "OpenInference spans", "openinference.span.kind llm.model_name attributes context"),
        ("mlflow", "an MLflow trace", "info data spans"),
        ("langfuse", "a Langfuse export", "observations traceId projectId sessionId usageDetails modelParameters"),
        ("langsmith", "LangSmith runs", "run_type dotted_order inputs outputs child_runs post patch"),
        ("ag_ui", "AG-UI events", "type threadId runId messageId toolCallId delta"),
        ("agent_trace", "agent-trace records", "version vcs files tool"),
    )
}
_OTHER: dict[str, frozenset[str]] = {
    "a JSON Schema, which describes records and holds none": frozenset({"$defs"}),
    "metadata of a checkpoint; the transcript lies beside it": frozenset(
        {"checkpoint_id", "session_id", "files_touched"}
    ),
    "a package manifest": frozenset({"name", "version", "dependencies", "scripts"}),
}
_BUNDLE_HINT = (
    'A bundle brings any run in: a directory with run.json, such as {"task": "t", "arm": "a", "transcript": '
    '"events.jsonl"}, and events.jsonl with an event a line ("kind", "text", "tool_calls"); see '
    "schema/run.schema.json. For many files of one kind, a reader is a module of a page: docs/writing-a-reader.md. "
    "`samework formats` lists what is read."
)


def detect(source: Source) -> Reader:
    """The reader that is surest of `source`.

    Raises: UnknownFormat: none claims it; the message says what was seen and which format it resembles. InputError: it
        cannot be read, or a reader failed on it: what another is less sure of is no answer then.
    """
    head = source.head(HEAD_BYTES)
    best, confidence = None, 0.0
    for candidate in registry.readers().values():
        sure = sureness(candidate, head, source)
        if sure > confidence:
            best, confidence = candidate, sure
    if best is None or confidence < MIN_CONFIDENCE:
        raise UnknownFormat(
            f"no reader knows this: {_seen_directory(source) if source.is_dir else seen(head)}",
            place=visible(source.path),
            hint=_BUNDLE_HINT,
        )
    return best


def _seen_directory(source: Source) -> str:
    if source.child("run.json") is None:
        return "a directory without run.json" if isinstance(source, DirSource) else "an archive that holds no run.json"
    return "a directory whose run.json has none of the keys of a bundle"


def seen(head: bytes) -> str:
    """What the first bytes look like, in words.

    >>> seen(b'{"sessionId": "1", "parentUuid": null, "cwd": "/w"}')
    'a JSON object with cwd, parentUuid, sessionId; it resembles a Claude Code session (claude_code), and is none'
    """
    if not head.strip():
        return "an empty file"
    if head.startswith((*ZIP_MAGICS, ZSTD_MAGIC, GZIP_MAGIC)):
        return "an archive that holds no run.json"
    value, what = _first_value(head)
    if value is None:
        return what
    keys = {key for key in value if isinstance(key, str)} if isinstance(value, dict) else set()
    if not keys:
        return f"{what} without keys"
    shown = ", ".join(shortened(key, 40) for key in sorted(keys)[:8])
    return f"{what} with {shown}{', …' if len(keys) > 8 else ''}{_resembles(keys)}"  # noqa: PLR2004


def _resembles(keys: set[str]) -> str:
    """Which format has the most of these keys; two in common say something, one says nothing."""
    other = next((name for name, known in _OTHER.items() if len(keys & known) >= min(2, len(known))), None)
    if other is not None:
        return f"; it resembles {other}"
    slug, (name, known) = max(_LIKE.items(), key=lambda found: len(keys & found[1][1]))
    if len(keys & known) < 2:  # noqa: PLR2004
        return ""
    return f"; it resembles {name} ({slug}), and is none" if slug in registry.BUILT_IN else f"; it resembles {name}"


def _first_value(head: bytes) -> tuple[object, str]:
    text = head.removeprefix(strict_json.BOM).lstrip().decode("utf-8", "replace")
    if not text.startswith(("{", "[")):
        return None, "text that is not JSON" if b"\0" not in head else "bytes that are no text"
    try:
        value, _ = strict_json.first_value(text, 0)
    except NotJson as error:
        is_cut = error.offset >= len(text) - 1 or "Unterminated" in error.message
        return None, "JSON whose first value is long or cut" if is_cut else "damaged JSON"
    is_lines = b"\n" in head.strip() and head.lstrip().split(b"\n", 1)[0].rstrip().endswith((b"}", b"]"))
    if isinstance(value, list):
        if value and isinstance(value[0], dict):
            return value[0], "a JSON list of objects"
        return None, "JSON Lines of lists, not of objects" if is_lines else "a JSON list, not of objects"
    return value, "JSON Lines, the first an object" if is_lines else "a JSON object"
