"""What a record of Claude Code is by its words: a prompt, a local command, a reply, a failure.

No definition is published; the words are those that the program itself writes.
"""

from __future__ import annotations

from samework.decode.shapes import as_dict, as_dicts, as_text

SYNTHETIC = "<synthetic>"
MESSAGES = frozenset({"user", "assistant"})
_LOCAL = ("<command-name>", "<command-args>", "<local-command-", "<bash-")
_NO_REPLY = "No response requested."
_API_ERROR = "API Error"


def is_prompt(value: dict[str, object]) -> bool:
    """True for what a person asked, in words or by a command that has a prompt of its own.

    Results, notes of the program and commands that it carries out itself are none.
    """
    if value.get("type") != "user" or value.get("isMeta") is True or value.get("isCompactSummary") is True:
        return False
    content = as_dict(value.get("message")).get("content")
    if isinstance(content, str):
        return not content.startswith(_LOCAL)
    said = next((as_text(block.get("text")) for block in as_dicts(content) if block.get("type") == "text"), None)
    return isinstance(content, list) and not has_results(value) and not (said or "").startswith(_LOCAL)


def has_results(value: dict[str, object]) -> bool:
    """True where a message holds results of calls."""
    content = as_dict(value.get("message")).get("content")
    return any(block.get("type") == "tool_result" for block in as_dicts(content))


def is_reply(value: dict[str, object]) -> bool:
    """True for what the model wrote, not the program in its place."""
    return value.get("type") == "assistant" and as_dict(value.get("message")).get("model") != SYNTHETIC


def is_failure(value: dict[str, object], text: str) -> bool:
    """True where what the program wrote in the model's place says that no reply came.

    Older versions do not mark errors: there it is one unless the words are those for a turn that wanted no reply.
    """
    marked = value.get("isApiErrorMessage")
    if marked is True or value.get("error") or text.startswith(_API_ERROR):
        return True
    return marked is None and text != _NO_REPLY


def fingerprint(message: dict[str, object]) -> int:
    """What tells the content of one record from that of another with its uuid; no digest, for it need not last."""
    content = message.get("content")
    if isinstance(content, str):
        return hash(content)
    marks = [
        as_text(block.get(name))
        for block in as_dicts(content)
        for name in ("type", "text", "thinking", "id", "tool_use_id", "content")
    ]
    return hash(tuple(marks))
