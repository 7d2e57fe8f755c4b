"""Names that say that their value is a secret. Refuses to look at a value."""

from __future__ import annotations

import re
from typing import Final

NAME_LENGTH: Final = 80
"""Characters at the end of a name that are looked at: the last words say what it is."""

_NAME = re.compile(r"[A-Za-z0-9_.\[\]-]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STRONG = re.compile(
    r"(?:\A|[^A-Za-z0-9])(?:passw(?:or)?d|passwd|pwd|passphrase|secret|credentials?|access[_-]?key"
    r"|(?:api|private|account|shared[_-]?access|secret|encryption|signing|master)[_-]?keys?)(?=[^A-Za-z0-9]|\Z)"
    r"|(?:password|passwd|passphrase|apikey)\Z",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"(?:\A|[^A-Za-z0-9])(?:token|auth|authorization|cookie|session[_-]?id|session[_-]?key|signature|sig)"
    r"(?=[^A-Za-z0-9]|\Z)",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """True for the name of a field whose value is taken out whole.

    >>> is_secret_name("env.DB_PASSWORD"), is_secret_name("env[clientSecret]"), is_secret_name("max_tokens")
    (True, True, False)
    """
    return _NAME.fullmatch(name) is not None and strength(name) is not None


def strength(name: str) -> str | None:
    """strong: whatever has this name is secret. weak: what has it and looks like no word is. None: neither."""
    words = _HUMP.sub("_", name[-NAME_LENGTH:])
    if _STRONG.search(words):
        return "strong"
    return "weak" if _WEAK.search(words) else None
