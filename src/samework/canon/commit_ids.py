"""Ids of commits as records write them: only hex names one for certain, for a branch moves."""

from __future__ import annotations

import re

_HEX = re.compile(r"[0-9a-f]{7,64}\Z")


def commit_id(text: str | None) -> str | None:
    """A commit's id in lower case, maybe abbreviated; None for what is not 7 to 64 hex digits, and for zeros only.

    >>> commit_id("DEADBEEF"), commit_id("main"), commit_id("abc")
    ('deadbeef', None, None)
    """
    digits = (text or "").strip().lower()
    return digits if _HEX.match(digits) and digits.strip("0") else None
