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

from samework.secrets.names import is_secret_name
from samework.secrets.values import named_values
from samework.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SHAPES = (
    (
        "private key",
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.DOTALL,
        ),
    ),
    ("bearer", re.compile(r"(?<=\bbearer )[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)),
    ("url credentials", re.compile(r"(?<=://)[^\s/@:\"'\[\]]+:[^\s/@\"'\[\]]+(?=@)")),
    ("webhook", re.compile(r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[A-Za-z0-9/_-]{16,}")),
    ("webhook", re.compile(r"(?<=/api/webhooks/)[0-9]{8,}/[A-Za-z0-9_-]{16,}")),
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
    (
        "login",
        re.compile(r"\bmachine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,200}\s{1,8}password\s{1,8}(?P<secret>\S+)"),
    ),
)
_OF_PROGRAMS = (
    (
        ("curl", "wget", "http"),
        re.compile(
            r"(?<=[\s\"'])(?:-u|-U|--user|--proxy-user)(?:[\s=]|\\*+[\"']\s*+,\s*+)?\\*+[\"']?"
            r"[^\s:\"'\\]{1,200}:(?P<secret>[^\s\"'\\]{4,}+)"
        ),
    ),
    (("mysql", "mariadb"), re.compile(r"(?<=[\s\"'])-p(?P<secret>[^\s\"'\\]{4,}+)")),
)
_SAME_LINE = 400
_DENSE_LENGTH = 24
_SLASHES = 12  # at most one in so many characters: a path has more
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DENSE = (re.compile(r"[A-Za-z0-9+_-]{22,}+={0,2}"), re.compile(r"[A-Za-z0-9+/]{40,}+={0,2}"))
_MIN_ENTROPY_BITS = 4.0
_MIN_CHANGES = 0.4
_DIGEST_HEX = 12
TAKEN = "[redacted "
"""How what stands in the place of a secret begins."""


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
        Secret(*_span(match), kind)
        for kind, shape in _SHAPES
        for match in shape.finditer(text)
        if match.end() > match.start()
    ]
    found += [
        Secret(value.start, value.end, "named value" if _random_parts(value.name) else value.name)
        for value in named_values(text)
    ]
    found += _of_programs(text)
    found += [Secret(*span, "high entropy") for span in _random_parts(text)]
    return _joined([each for each in found if not text.startswith(TAKEN, each.start)])


def without_secrets(name: str, value: str) -> str:
    """The value of a field with a mark for each secret in it; one mark where the name is that of a secret.

    >>> without_secrets("env.DB_PASSWORD", "hunter2x"), without_secrets("kv.dtype", "q8_0")
    ('[redacted env.DB_PASSWORD sha256:f2fe04935ee0]', 'q8_0')
    """
    return mark(name, value) if is_secret_name(name) else replaced(value, mark)


def replaced(text: str, put: Callable[[str, str], str]) -> str:
    """The text with `put(kind, secret)` in the place of each secret."""
    parts: list[str] = []
    end = 0
    for secret in secrets(text):
        parts += [text[end : secret.start], put(secret.kind, text[secret.start : secret.end])]
        end = secret.end
    return "".join([*parts, text[end:]]) if parts else text


def mark(kind: str, value: str) -> str:
    """What stands in the place of a secret: its kind and the digest that tells it from others."""
    return f"{TAKEN}{kind} sha256:{digest_of(value)}]"


def digest_of(value: str) -> str:
    """Twelve hex digits of the sha256 of a secret as a report would show it: what tells two of them apart."""
    return hashlib.sha256(visible(value).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_HEX]


def may_be_said(name: str, value: str) -> bool:
    """True where neither name nor value looks like a secret, so that a sentence may quote the value, cut or whole.

    A sentence that is redacted later has lost the name by which a value is secret, and a cut value its digest.

    >>> may_be_said("kv.dtype", "q8_0"), may_be_said("env.DB_PASSWORD", "q8_0")
    (True, False)
    """
    return not is_secret_name(name) and not secrets(value)


def _span(found: re.Match[str]) -> tuple[int, int]:
    return found.span("secret" if "secret" in found.re.groupindex else 0)


def _of_programs(text: str) -> Iterator[Secret]:
    """Passwords in the arguments of programs of which one letter takes them."""
    for programs, option in _OF_PROGRAMS:
        for found in option.finditer(text):
            before = text[max(0, found.start() - _SAME_LINE) : found.start()].rpartition("\n")[2]
            if any(program in before for program in programs) and not found["secret"].isdigit():
                yield Secret(*found.span("secret"), "argument")


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


def _random_parts(text: str) -> list[tuple[int, int]]:
    return [match.span() for dense in _DENSE for match in dense.finditer(text) if _is_dense(match.group())]


def _is_dense(value: str) -> bool:
    """True for a random text that is no path, and names no commit on one."""
    is_path = "/" in value and (value.count("/") * _SLASHES > len(value) or _COMMIT.search(value) is not None)
    return len(value) >= _DENSE_LENGTH and not is_path and _looks_random(value)


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
