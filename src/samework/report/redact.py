"""Take secrets out of a report, after everything was compared: by name, by shape, by entropy.

What is taken out leaves its reason and the start of its sha256, so that one can still see whether two places held the
same value. Refuses to decide anything about a run; verdicts were made before, on the whole text.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from samework.report.data import Redaction, ReportData
from samework.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_VALUE = r"[^\s\"'`,;<>{}()\[\]|\\&]"
_STRONG = r"api[_-]?keys?|apikey|passw(?:or)?d|passwd|pwd|passphrase|secret|private[_-]?key|access[_-]?key|credentials?"
_WEAK = r"token|auth|authorization|cookie|session[_-]?id|session[_-]?key|signature"
_NAMED = re.compile(
    rf"(?P<name>(?<![A-Za-z])(?:[A-Za-z0-9]+[_.-])*(?:(?P<strong>{_STRONG})|(?P<weak>{_WEAK}))(?:[_.-][A-Za-z0-9]+)*)"
    rf"(?P<link>\\?[\"']?\s*(?:=>|:=|[:=])\s*\\?[\"']?(?:(?:Bearer|Basic|Token)\s+)?)(?P<value>{_VALUE}{{4,}})",
    re.IGNORECASE,
)
_SHAPES = (
    (
        "private key",
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    ),
    ("bearer", re.compile(r"(?<=\bbearer )[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)),
    ("url credentials", re.compile(r"(?<=://)[^\s/@:\"'\[\]]+:[^\s/@\"'\[\]]+(?=@)")),
    ("json web token", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?")),
    (
        "provider key",
        re.compile(
            r"\b(?:sk|pk|rk|tvly|glpat|xox[abeoprs]|xapp|hf|npm|gh[opsur]|github_pat|pypi|dop_v1|shpat|lin_api)"
            r"[-_][A-Za-z0-9_-]{16,}|\bAKIA[0-9A-Z]{16}\b|\bASIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{30,}"
        ),
    ),
    ("e-mail", re.compile(r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b")),
)
_DENSE = re.compile(r"[A-Za-z0-9+_=-]{24,}")
_PLAIN = re.compile(
    r"(?:true|false|none|null|undefined|required|optional|str|int|bytes|bool|string|\*+|x+|\.+)\Z", re.IGNORECASE
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_.]*\Z")
_MIN_ENTROPY_BITS = 4.0
_MIN_CHANGES = 0.4
_WEAK_LENGTH = 8
_CODE_LENGTH = 32
_DIGEST_HEX = 12


class Redactor:
    """Redacts text and counts what it took out."""

    def __init__(self) -> None:
        self._found: Counter[tuple[str, str]] = Counter()

    @property
    def found(self) -> tuple[Redaction, ...]:
        """What was taken out, by reason and digest."""
        return tuple(Redaction(reason, digest, n) for (reason, digest), n in sorted(self._found.items()))

    def text(self, value: str) -> str:
        """The text without its secrets. Redacting twice changes nothing."""
        for reason, shape in _SHAPES:
            value = shape.sub(partial(self._shaped, reason), value)
        value = _NAMED.sub(self._named, value)
        return _DENSE.sub(self._dense, value)

    def named(self, name: str, value: str) -> str:
        """The value of a field whose name says that it is secret is taken out whole; any other is redacted as text."""
        if value and not value.startswith("[redacted ") and _is_secret_name(name):
            return self._mark(name, value)
        return self.text(value)

    def _mark(self, reason: str, value: str) -> str:
        digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_HEX]
        self._found[reason, digest] += 1
        return f"[redacted {reason} sha256:{digest}]" + "\n" * value.count("\n")

    def _shaped(self, reason: str, found: re.Match[str]) -> str:
        return self._mark(reason, found.group())

    def _named(self, found: re.Match[str]) -> str:
        value, follows = found["value"], found.string[found.end() : found.end() + 1]
        is_code = len(value) <= _CODE_LENGTH and _IDENTIFIER.match(value) is not None and follows in {"(", "[", "."}
        if _PLAIN.match(value) or is_code or value.startswith("[redacted"):
            return found.group()
        is_word = _IDENTIFIER.match(value) is not None or value.replace(".", "").isdigit()
        if not found["strong"] and (len(value) < _WEAK_LENGTH or is_word):
            return found.group()
        return f"{found['name']}{found['link']}{self._mark(found['name'], value)}"

    def _dense(self, found: re.Match[str]) -> str:
        value = found.group()
        return self._mark("high entropy", value) if _looks_random(value) else value


def _is_secret_name(name: str) -> bool:
    found = _NAMED.match(f"{name}=0a0a0a0a")
    return found is not None and found["name"] == name


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


def cleaned(data: ReportData, *, redact: bool = True) -> ReportData:
    """The report with every text made visible and, unless asked otherwise, without secrets.

    Cleaning twice changes nothing.
    """
    redactor = Redactor()

    def whole(name: str, value: str) -> str:
        shown = visible(value)
        return redactor.named(name, shown) if redact else shown

    made = msgspec.convert(_walk(msgspec.to_builtins(data), "", whole), ReportData)
    found = redactor.found or data.redactions
    return msgspec.structs.replace(made, redactions=found, is_redacted=redact or data.is_redacted)


def _walk(value: object, name: str, whole: Callable[[str, str], str]) -> object:
    """Apply `whole(name, text)` to every string; the keys `a` and `b` beside a `field` go by the field's name."""
    if isinstance(value, str):
        return whole(name, value)
    if isinstance(value, dict):
        field = value.get("field")
        own = field if isinstance(field, str) else None
        return {
            whole("", key): _walk(item, own if own and key in {"a", "b"} else key, whole) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        if name == "lines":
            return _lines(value, whole)
        return [_walk(item, name, whole) for item in value]
    return value


def _lines(lines: Sequence[dict[str, str]], whole: Callable[[str, str], str]) -> list[dict[str, str]]:
    """Lines of one file, cleaned as one text: a key may span several. Their number stays."""
    cleaned_texts = whole("", "\n".join(line["text"].replace("\n", " ") for line in lines)).split("\n")
    return [line | {"text": text} for line, text in zip(lines, cleaned_texts, strict=True)]


def shared_head(left: str, right: str) -> int:
    """Number of leading characters that both texts share.

    >>> shared_head("return x", "return y")
    7
    """
    for place, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return place
    return min(len(left), len(right))
