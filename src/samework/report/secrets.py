"""Where a text holds what looks like a secret: by the name before it, by its shape, by entropy.

One pass over the text, in time linear in its length whatever it holds: no expression can look twice at one run of
characters. Refuses to judge whether a secret is a real one.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from samework.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHAPES = (
    (
        "private key",
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    ),
    ("bearer", re.compile(r"(?<=\bbearer )[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)),
    ("url credentials", re.compile(r"(?<=://)[^\s/@:\"'\[\]]+:[^\s/@\"'\[\]]+(?=@)")),
    (
        "json web token",
        re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"),
    ),
    (
        "provider key",
        re.compile(
            r"\b(?:sk|pk|rk|tvly|glpat|xox[abeoprs]|xapp|hf|npm|gh[opsur]|github_pat|pypi|dop_v1|shpat|lin_api)"
            r"[-_][A-Za-z0-9_-]{16,}|\bAKIA[0-9A-Z]{16}\b|\bASIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{30,}"
        ),
    ),
    (
        "e-mail",
        re.compile(
            r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]++@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)*?\.[A-Za-z]{2,}+"
            r"(?![A-Za-z0-9-]|\.[A-Za-z0-9])"
        ),
    ),
)
_ASSIGNED = re.compile(
    r"(?<![A-Za-z0-9_.-])(?P<name>[A-Za-z0-9_.-]++)"
    r"\\?[\"']?\s*+(?:=>|:=|[:=])\s*+\\?[\"']?(?:(?:Bearer|Basic|Token)\s++)?",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_VALUE = re.compile(r"[^\s\"'`,;<>{}()\[\]|\\&]{4,}+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STRONG = re.compile(
    r"(?:\A|[_.-])(?:api[_-]?keys?|passw(?:or)?d|passwd|pwd|passphrase|secret|private[_-]?key|access[_-]?key"
    r"|credentials?)(?=[_.-]|\Z)|(?:password|passwd|passphrase|apikey)\Z",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"(?:\A|[_.-])(?:token|auth|authorization|cookie|session[_-]?id|session[_-]?key|signature)(?=[_.-]|\Z)",
    re.IGNORECASE,
)
_DENSE = re.compile(r"[A-Za-z0-9+_=-]{24,}+")
_PLAIN = re.compile(
    r"(?:true|false|none|null|undefined|required|optional|str|int|bytes|bool|string|\*+|x+|\.+)\Z", re.IGNORECASE
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_.]*\Z")
_MIN_ENTROPY_BITS = 4.0
_MIN_CHANGES = 0.4
_WEAK_LENGTH = 8
_CODE_LENGTH = 32
_NAME_LENGTH = 80
_DIGEST_HEX = 12


class Secret(msgspec.Struct, frozen=True, order=True):
    """What looks like a secret: characters `start` to `end` of a text. kind: a shape, or the name before the value."""

    start: int
    end: int
    kind: str


def secrets(text: str) -> list[Secret]:
    """The secrets of a text in order, none within or over another.

    >>> secrets("user=me password=hunter2x")
    [Secret(start=17, end=25, kind='password')]
    """
    found = [
        Secret(match.start(), match.end(), kind)
        for kind, shape in _SHAPES
        for match in shape.finditer(text)
        if match.end() > match.start()
    ]
    found += _assigned(text)
    found += [
        Secret(match.start(), match.end(), "high entropy")
        for match in _DENSE.finditer(text)
        if _looks_random(match.group())
    ]
    return _joined(found)


def digest_of(value: str) -> str:
    """Twelve hex digits of the sha256 of a secret as a report would show it: what tells two of them apart."""
    return hashlib.sha256(visible(value).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_HEX]


def is_secret_name(name: str) -> bool:
    """True for the name of a field whose value is taken out whole."""
    return len(name) <= _NAME_LENGTH and _NAME.fullmatch(name) is not None and _strength(name) is not None


def _joined(found: list[Secret]) -> list[Secret]:
    """Secrets that overlap become one; of two that begin alike the longer, then the earlier found, names it."""
    joined: list[Secret] = []
    for each in sorted(found, key=lambda each: (each.start, -each.end)):
        if joined and each.start < joined[-1].end:
            last = joined[-1]
            joined[-1] = Secret(last.start, max(last.end, each.end), last.kind)
        else:
            joined.append(each)
    return joined


def _assigned(text: str) -> Iterator[Secret]:
    """Values of assignments whose name says that they are secret."""
    end = 0
    for found in _ASSIGNED.finditer(text):
        if found.start() < end:
            continue  # inside a value that was taken already
        name = found["name"]
        if found.start() and text[found.start() - 1] == "\\" and name[0] in "nrt":
            name = name[1:]  # the name follows a line end that JSON has escaped
        name = name[-_NAME_LENGTH:].lstrip("_.-")
        strength = _strength(name)
        value = _VALUE.match(text, found.end()) if strength else None
        if value is not None and not _is_ordinary(value.group(), text[value.end() : value.end() + 1], strength):
            end = value.end()
            yield Secret(value.start(), end, name)


def _strength(name: str) -> str | None:
    words = _HUMP.sub("_", name)
    if _STRONG.search(words):
        return "strong"
    return "weak" if _WEAK.search(words) else None


def _is_ordinary(value: str, follows: str, strength: str | None) -> bool:
    """True for a value that is a word of documentation or code."""
    is_code = len(value) <= _CODE_LENGTH and _IDENTIFIER.match(value) is not None and follows in {"(", "[", "."}
    if _PLAIN.match(value) or is_code:
        return True
    is_word = _IDENTIFIER.match(value) is not None or value.replace(".", "").isdigit()
    return strength == "weak" and (len(value) < _WEAK_LENGTH or is_word)


def _looks_random(value: str) -> bool:
    """True for text like a generated key: three kinds of characters, often changing, with high entropy.

    >>> _looks_random("q8Zr2LxV7nB4kT9wYd3HcJ6m"), _looks_random("test_parser_keeps_the_last_line")
    (True, False)
    """
    kinds = "".join("d" if c.isdigit() else "u" if c.isupper() else "l" if c.islower() else "-" for c in value)
    if not {"d", "u", "l"} <= set(kinds):
        return False
    changes = sum(left != right for left, right in pairwise(kinds)) / (len(kinds) - 1)
    counts = Counter(value).values()
    entropy_bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts)
    return changes >= _MIN_CHANGES and entropy_bits >= _MIN_ENTROPY_BITS
