"""Text of chat messages as providers and harnesses spell them."""

from __future__ import annotations

import json

from samework.canon.model_calls import marked
from samework.text import shortened

_TOLD_ELSEWHERE = frozenset({"tool_use", "tool_call", "thinking", "redacted_thinking", "reasoning"})
"""Parts whose ids and signatures change with each run; what they hold stands in other fields of an event."""


def content_text(content: object) -> str:
    """Text of a message: a string, or its text parts joined; a part of another kind gives a mark of what it holds.

    >>> content_text([{"type": "text", "text": "a"}, "b", {"type": "image", "data": "x"}, {"type": "tool_use"}])
    'ab<image sha256 f21a3d8f49a5a8d6>[tool_use]'
    """
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content] if isinstance(content, dict) else []
    return "".join(_part_text(part) for part in parts)


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    words, kind = (part.get("text"), part.get("type")) if isinstance(part, dict) else (None, None)
    if isinstance(words, str):
        return words
    name = shortened(kind, 40) if isinstance(kind, str) else "part"
    if name in _TOLD_ELSEWHERE:
        return f"[{name}]"
    return marked(name, json.dumps(part, ensure_ascii=False, separators=(",", ":")))
