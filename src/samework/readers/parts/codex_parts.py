"""Parts of Codex's records that stand by themselves: token counts, calls, contents, ids.

Refuses to add a count that is repeated, and to read a status from what a command printed.
"""

from __future__ import annotations

import hashlib
import json
import re

from samework.decode.shapes import as_dict, as_text, compact
from samework.model.events import ToolCall, Usage
from samework.model.records import RunEnd
from samework.model.words import EndReason
from samework.text import raw_bytes, shortened

_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?[0-9]{1,9})$", re.MULTILINE)
_OUTPUT_HEADING = re.compile(r"^Output:$", re.MULTILINE)
_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class TokenCounts:
    """Token counts of a file: each call once, repeats left out, resets noticed."""

    def __init__(self) -> None:
        self.total: dict[str, int] | None = None

    def add_record(self, given: dict[str, object], thread: dict[str, object]) -> Usage | None:
        """A `token_usage_record`: one response; None where it holds no counts."""
        counts = _counts(given)
        if not counts:
            return None
        known = _counts(thread)
        self.total = known or {key: (self.total or {}).get(key, 0) + count for key, count in counts.items()}
        return self._added(counts)

    def add_count(self, info: dict[str, object]) -> tuple[Usage | None, bool, bool]:
        """A `token_count`: the usage it adds (None: a repeat), whether the total fell, whether the shape is known."""
        total, last = _counts(as_dict(info.get("total_token_usage"))), _counts(as_dict(info.get("last_token_usage")))
        if not total and not last:
            return None, False, False
        before = self.total
        if before is not None and total and all(total.get(key, 0) == before.get(key, 0) for key in _TOTALLED):
            return None, False, True
        is_reset = before is not None and any(total.get(key, 0) < before.get(key, 0) for key in _TOTALLED if total)
        if not last:
            last = total if before is None or is_reset else {key: n - before.get(key, 0) for key, n in total.items()}
        self.total = total or self.total
        return self._added(last), is_reset, True

    @staticmethod
    def _added(counts: dict[str, int]) -> Usage:
        return Usage(
            prompt_tokens=counts.get("input_tokens"),
            cached_tokens=counts.get("cached_input_tokens"),
            cache_write_tokens=counts.get("cache_write_input_tokens"),
            completion_tokens=counts.get("output_tokens"),
            reasoning_tokens=counts.get("reasoning_output_tokens"),
        )


_TOTALLED = ("input_tokens", "output_tokens")


def _counts(given: dict[str, object]) -> dict[str, int]:
    return {
        key: count
        for key, count in given.items()
        if key.endswith("_tokens") and isinstance(count, int) and not isinstance(count, bool) and count >= 0
    }


def call_of(kind: str, payload: dict[str, object]) -> ToolCall | None:
    """A tool call; None for a kind that is not known."""
    call_id = as_text(payload.get("call_id")) or as_text(payload.get("id"))
    if kind == "function_call":
        namespace, name = as_text(payload.get("namespace")), as_text(payload.get("name")) or ""
        arguments = payload.get("arguments")
        is_text = isinstance(arguments, str)
        text = str(arguments) if is_text else "" if arguments is None else compact(arguments)
        return ToolCall(f"{namespace}.{name}" if namespace else name, text, call_id, exact=is_text)
    if kind == "custom_tool_call":
        return ToolCall(as_text(payload.get("name")) or "", as_text(payload.get("input")) or "", call_id, is_json=False)
    told = {"local_shell_call": "action", "web_search_call": "action", "tool_search_call": "arguments",
            "image_generation_call": "revised_prompt"}.get(kind)  # fmt: skip
    if told is None:
        return None
    return ToolCall(kind.removesuffix("_call"), compact(payload.get(told)), call_id, exact=False)


def content(given: object) -> str:
    """Text of a content: a string, one part or a list of parts; what is no text becomes a mark with its digest."""
    if isinstance(given, str):
        return given
    if isinstance(given, dict):
        if "content" in given and "type" not in given:
            return content(given["content"])
        given = [given]
    if not isinstance(given, list):
        return ""
    return "\n".join(_part(part) for part in given)


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    if isinstance(part, dict) and str(part.get("type")) in {"input_image", "encrypted_content"}:
        digest = hashlib.sha256(raw_bytes(compact(part))).hexdigest()[:16]
        return f"<{part['type']} sha256 {digest}>"
    return compact(part)


def is_plain_object(given: object) -> bool:
    """True for structured output that is neither text nor parts of content."""
    if isinstance(given, dict):
        return not ({"content", "text"} & given.keys())
    return isinstance(given, list) and not all(_is_part(part) for part in given)


def _is_part(part: object) -> bool:
    return isinstance(part, str) or (
        isinstance(part, dict) and ("text" in part or str(part.get("type")) in {"input_image", "encrypted_content"})
    )


def compaction(payload: dict[str, object]) -> str:
    """What the model sees from now on: the summary, and the history that replaces the old one."""
    history = payload.get("replacement_history")
    items = [item for item in history if isinstance(item, dict)] if isinstance(history, list) else []
    said = [
        f"{item.get('role', item.get('type'))}: {content(item.get('content', item.get('output')))}" for item in items
    ]
    message = as_text(payload.get("message")) or content(payload.get("summary"))
    return "\n".join([*([message] if message else []), *said])


def exit_status_of(text: str) -> int | None:
    """The status that the header of an output names, above the line `Output:`; None where it does not."""
    heading = _OUTPUT_HEADING.search(text)
    if heading is not None and (found := _EXIT.search(text, 0, heading.start())):
        return int(found[1])
    if text.startswith('{"output":'):
        try:
            code = as_dict(as_dict(json.loads(text)).get("metadata")).get("exit_code")
        except (ValueError, RecursionError):
            return None
        return code if isinstance(code, int) and not isinstance(code, bool) else None
    return None


def uuid7_ms(given: object) -> int | None:
    """Milliseconds since 1970 in a UUID of version 7, None for anything else."""
    found = _UUID7.fullmatch(given) if isinstance(given, str) else None
    return int(found[1] + found[2], 16) if found else None


def ended_turn(kind: str, payload: dict[str, object], before: RunEnd | None, time: str | None) -> RunEnd:
    """How a turn ended, by the message that says so.

    Args: before: an end that was told of the same turn. A turn that failed or was stopped is also told to be complete,
    without a last message of the agent: then what was told before stands.
    """
    if kind == "turn_aborted":
        return RunEnd(EndReason.CANCELLED, as_text(payload.get("reason")) or kind, time)
    if kind == "error":
        return RunEnd(EndReason.ERROR, shortened(as_text(payload.get("message")) or kind, 200), time)
    if error := payload.get("error"):
        return RunEnd(EndReason.ERROR, compact(error), time)
    if before is not None and payload.get("last_agent_message") is None:
        return before
    return RunEnd(EndReason.FINISHED, kind, time)
