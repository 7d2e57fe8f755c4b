"""What one reply in an Inspect log holds: calls, counts, ranked tokens. Refuses to guess a count."""

from __future__ import annotations

import re

from samework.decode.shapes import as_count, as_dict, as_dicts, as_text, compact
from samework.model.events import ToolCall, Usage

REFERENCE = re.compile(r"(?:attachment|tc)://([0-9a-f]{32})")


def with_error(text: str, error: dict[str, object]) -> str:
    """A failed call's content and the error that the model was told."""
    said = as_text(error.get("message"))
    if not said or said in text:
        return text
    return f"{text}\n{said}" if text else said


def tool_call(call: dict[str, object], exact: dict[str, str]) -> ToolCall:
    """A call. Its arguments were decoded, unless the provider's own reply was logged, or they could not be."""
    call_id, name = as_text(call.get("id")), as_text(call.get("function")) or ""
    written = exact.get(call_id or "")
    if written is not None:
        return ToolCall(name, written, call_id)
    arguments = call.get("arguments")
    text = arguments if isinstance(arguments, str) else compact(arguments)
    return ToolCall(name, text, call_id, exact=False, is_json=not isinstance(arguments, str))


def served_call(part: dict[str, object]) -> ToolCall:
    """A call that the provider ran itself, such as a search."""
    arguments = part.get("arguments")
    is_text = isinstance(arguments, str)
    name = as_text(part.get("name")) or as_text(part.get("tool_type")) or ""
    return ToolCall(name, str(arguments) if is_text else compact(arguments), as_text(part.get("id")), exact=False)


def exact_arguments(event: dict[str, object]) -> dict[str, str]:
    """Arguments as the provider's reply spells them, by call id: chat completions, or items of a response."""
    reply = as_dict(as_dict(event.get("call")).get("response"))
    found: dict[str, str] = {}
    for choice in as_dicts(reply.get("choices"))[:1]:
        for call in as_dicts(as_dict(choice.get("message")).get("tool_calls")):
            call_id, arguments = as_text(call.get("id")), as_text(as_dict(call.get("function")).get("arguments"))
            if call_id and arguments is not None and REFERENCE.fullmatch(arguments) is None:
                found[call_id] = arguments
    for item in as_dicts(reply.get("output")):
        call_id, arguments = as_text(item.get("call_id")), as_text(item.get("arguments"))
        if call_id and arguments is not None and REFERENCE.fullmatch(arguments) is None:
            found[call_id] = arguments
    return found


def usage_of(given: object) -> Usage | None:
    """Counts of a reply. Whether input_tokens holds the cached ones depends on the provider; the total tells."""
    if not isinstance(given, dict):
        return None
    sent, made, total = (as_count(given.get(name)) for name in ("input_tokens", "output_tokens", "total_tokens"))
    cached, written = (as_count(given.get(f"input_tokens_cache_{name}")) for name in ("read", "write"))
    apart = (cached or 0) + (written or 0)
    prompt = sent
    if apart and sent is not None:
        is_known = total is not None and made is not None
        is_apart, is_within = is_known and total == sent + (made or 0) + apart, is_known and total == sent + (made or 0)
        prompt = sent + apart if is_apart else sent if is_within else None
    return Usage(prompt, cached, written, made, as_count(given.get("reasoning_tokens")))
