"""Text of chat messages as providers and harnesses spell them."""

from __future__ import annotations

from samework.text import shortened


def content_text(content: object) -> str:
    """Text of a message: a string, or its text parts joined; parts of another kind are named.

    >>> content_text([{"type": "text", "text": "a"}, {"type": "image"}])
    'a[image]'
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = []
    for part in content:
        words = part.get("text") if isinstance(part, dict) else None
        kind = part.get("type") if isinstance(part, dict) else None
        parts.append(words if isinstance(words, str) else f"[{shortened(str(kind), 40)}]")
    return "".join(parts)
