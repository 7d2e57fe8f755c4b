"""Which reader a source is for, from its content alone. A no says what was seen and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.decode import strict_json
from samework.decode.archive import GZIP_MAGIC, ZIP_MAGICS, ZSTD_MAGIC
from samework.decode.source import DirSource
from samework.decode.strict_json import NotJson
from samework.errors import UnknownFormat
from samework.ingest import registry
from samework.text import shortened, visible

if TYPE_CHECKING:
    from samework.model.reader import Reader, Source

HEAD_BYTES = 65536
MIN_CONFIDENCE = 0.3
_LIKE: dict[str, frozenset[str]] = {
    "a SWE-agent trajectory": frozenset({"trajectory", "history", "info", "environment", "replay_config"}),
    "a mini-swe-agent trajectory": frozenset({"messages", "info", "trajectory_format", "instance_id"}),
    "predictions for SWE-bench": frozenset({"instance_id", "model_patch", "model_name_or_path"}),
    "a tau-bench result": frozenset({"task_id", "traj", "reward", "trial"}),
    "a Codex rollout": frozenset({"timestamp", "type", "payload"}),
    "OpenAI chat completions": frozenset({"messages", "choices", "model", "request", "response", "object"}),
    "events of a bundle": frozenset({"kind", "text", "tool_calls", "call_id", "token_ids"}),
    "a pytest-json-report": frozenset({"tests", "summary", "collectors", "exitcode", "root", "environment"}),
    "a Claude Code session (no reader yet)": frozenset({"sessionId", "parentUuid", "uuid", "isSidechain", "cwd"}),
    "an ATIF trajectory": frozenset({"schema_version", "steps", "agent", "final_metrics"}),
    "an Inspect log": frozenset({"eval", "plan", "samples", "results", "stats", "version"}),
    "an OpenHands event": frozenset({"source", "action", "observation", "args", "history", "instance"}),
    "OpenTelemetry spans (no reader yet)": frozenset({"resourceSpans", "traceId", "spanId", "scopeSpans"}),
}
_BUNDLE_HINT = (
    'A bundle brings any run in: a directory with run.json, such as {"task": "t", "arm": "a", "transcript": '
    '"events.jsonl"}, and events.jsonl with an event a line ("kind", "text", "tool_calls"); see schema/run.schema.json.'
)


def detect(source: Source) -> Reader:
    """The reader that is surest of `source`.

    Raises: UnknownFormat: none claims it; the message says what was seen and which format it resembles.
    """
    head = source.head(HEAD_BYTES)
    best, confidence = None, 0.0
    for candidate in registry.readers().values():
        sure = candidate.sniff(head, source)
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
    'a JSON object with cwd, parentUuid, sessionId; it resembles a Claude Code session (no reader yet)'
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
    like, n_common = max(((name, len(keys & known)) for name, known in _LIKE.items()), key=lambda found: found[1])
    resembles = f"; it resembles {like}" if n_common >= 2 else ""  # noqa: PLR2004 (one key in common says nothing)
    return f"{what} with {shown}{', …' if len(keys) > 8 else ''}{resembles}"  # noqa: PLR2004


def _first_value(head: bytes) -> tuple[object, str]:
    text = head.removeprefix(strict_json.BOM).lstrip().decode("utf-8", "replace")
    if not text.startswith(("{", "[")):
        return None, "text that is not JSON" if b"\0" not in head else "bytes that are no text"
    try:
        value, _ = strict_json.first_value(text, 0)
    except NotJson as error:
        is_cut = error.offset >= len(text) - 1 or "Unterminated" in error.message
        return None, "JSON whose first value is long or cut" if is_cut else "damaged JSON"
    if isinstance(value, list):
        return (value[0], "a JSON list of objects") if value and isinstance(value[0], dict) else (None, "a JSON list")
    return value, "a JSON object"
