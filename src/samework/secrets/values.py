"""Values that stand beside a name which says that they are secret: assignments, options, blocks of YAML.

Every character is looked at a bounded number of times: what was taken as a value is not searched again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from samework.secrets.names import NAME_LENGTH, strength

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLOUR = r"(?:\x1b|(?<!\\)\\++(?:x1b|u001b))\[[0-9;]*+[A-Za-z]"  # raw, or made visible
_NAMED = r"(?P<name>[A-Za-z0-9_.-]++)"
_ASSIGNED = re.compile(
    rf"(?:{_COLOUR}|(?<![A-Za-z0-9_.-])){_NAMED}(?:{_COLOUR}){{0,4}}+(?:\\*+[\"'])?\s*+"
    r"(?:==+(?=\s*+\\*+[\"'])|=>|:=|:\s*+(?:str|string|bytes|SecretStr)(?:\s*+\|\s*+None)?\s*+=|[:=])",
    re.IGNORECASE,
)
_OPTION = re.compile(rf"(?<![^\s\"'`(,=\[])--{_NAMED}(?:[ \t]++|\\*+[\"']\s*+,\s*+)(?!-)")
_BLANK = re.compile(rf"(?:\s|{_COLOUR})*+")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token)\s++", re.IGNORECASE)
_OPENING = re.compile(r"(?P<backslashes>\\*+)(?P<quote>[\"'])")
_CLOSING = {quote: re.compile(rf"(?<!\\)(?P<backslashes>\\*+){quote}|\n") for quote in "\"'"}
_BLOCK = re.compile(
    r"[|>][-+0-9]*+[ \t]*+(?:\r?\n|\\++n)(?P<indent>[ \t]++)"
    r"(?P<value>(?:(?!\\n)[^\n])++(?:(?:\n|\\n)(?P=indent)(?:(?!\\n)[^\n])*+)*+)"
)
_BARE = r"(?:[^\s\"'`,;<>{}()\[\]|\\&\x1b]|\\u(?!00)[0-9a-fA-F]{4})"  # a letter may be escaped by JSON
_WORD = re.compile(rf"{_BARE}++")
# A separator belongs to a password where neither a blank nor the next name follows it.
_WORDS = re.compile(rf"{_BARE}++(?:(?:[;&](?![A-Za-z0-9_.-]++=)|,(?![A-Za-z0-9_.-]++\\*+[\"']?[:=])){_BARE}++)*+")
_LINE = re.compile(r"[^\n\r]++")
_ESCAPED_LINE = re.compile(r"(?:(?!\\[nr])[^\n\r\"])++")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*=")
_LEAST = 4

_ORDINARY = re.compile(
    r"(?:true|false|none|null|undefined|required|optional|str|int|bytes|bool|string|\*+|x+|\.+"
    r"|\$\{?\w+\}?|\$\{\{[^{}]*\}\}|\$\([^()]*\)|<[^<>]*>|\{{1,2}[^{}]*\}{1,2}|%\w+%"
    r"|(?:process\.env|os\.environ)\b\S*)\Z",
    re.IGNORECASE,
)
_NO_CONTENT = re.compile(r"\s|[,)}\]+]")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_.]*\Z")
_OF_USAGE = re.compile(
    r"(?:[A-Z][A-Z_]*|flags?|options?|arguments?|parameters?|values?|must|from|with|that|this|when|will|should|which"
    r"|instead|into|because|file|stdin|before|after|then|requires?|needs?|does|have|only|also|here|used|using)\Z"
)
_WEAK_LENGTH = 8
_CODE_LENGTH = 32


class NamedValue(NamedTuple):
    """Characters `start` to `end` of a text, under a name that says that they are secret."""

    start: int
    end: int
    name: str


def named_values(text: str) -> Iterator[NamedValue]:
    """The secret values of a text, in the order of their names.

    >>> [text[found.start : found.end] for text in ['"password": "two words"'] for found in named_values(text)]
    ['two words']
    """
    yield from _after(text, _ASSIGNED)
    yield from _after(text, _OPTION)


def _after(text: str, form: re.Pattern[str]) -> Iterator[NamedValue]:
    end = 0
    for found in form.finditer(text):
        if found.start() < end:
            continue  # inside a value that was taken already
        name = _name(text, found)
        how = strength(name)
        if how is None:
            continue
        value = _value(text, found, is_strong=how == "strong")
        if value is None:
            continue
        start, end = value
        shown = text[start:end]
        is_usage = form is _OPTION and _OF_USAGE.match(shown) is not None
        if not is_usage and not _is_ordinary(shown, text[end : end + 1], how):
            yield NamedValue(start, end, name)


def _name(text: str, found: re.Match[str]) -> str:
    name, at = found["name"], found.start("name")
    if at and text[at - 1] == "\\" and name[0] in "nrt":
        name = name[1:]  # the name follows a line end that JSON has escaped
    return name[-NAME_LENGTH:].lstrip("_.-")


def _value(text: str, found: re.Match[str], *, is_strong: bool) -> tuple[int, int] | None:
    """Where the value begins and ends: a block of YAML, all between quotes, the rest of an environment's line, a word.

    Under a weak name a word alone, for prose is no token.
    """
    blank = _BLANK.match(text, found.end())
    at = blank.end() if blank else found.end()
    block = _BLOCK.match(text, at) if is_strong and text[at - 1] in ": " else None
    if block is not None:
        return block.span("value")
    opening = _OPENING.match(text, at)
    at = opening.end() if opening else at
    scheme = _SCHEME.match(text, at)
    at = scheme.end() if scheme else at
    if not is_strong:
        span = _span(_WORD.match(text, at))
    elif opening is not None:
        span = _quoted(text, at, opening)
    else:
        form = _line_of_variable(text, found) if at == found.end() else None
        span = _span((form or _WORDS).match(text, at))
    return span if span is not None and span[1] - span[0] >= _LEAST else None


def _span(found: re.Match[str] | None) -> tuple[int, int] | None:
    return found.span() if found is not None else None


def _line_of_variable(text: str, found: re.Match[str]) -> re.Pattern[str] | None:
    """The rest of the line after `NAME=` at its start, as an environment is listed: nothing is quoted there."""
    start = found.start("name")
    if start == 0 or text[start - 1] == "\n":
        return _LINE if _VARIABLE.fullmatch(text, start, found.end()) else None
    is_escaped = text[start - 1] == "\\" and text[start] == "n"
    return _ESCAPED_LINE if is_escaped and _VARIABLE.fullmatch(text, start + 1, found.end()) else None


def _quoted(text: str, start: int, opening: re.Match[str]) -> tuple[int, int] | None:
    """What stands between an opening quote and its like, or the end of the line where there is none."""
    if _NO_CONTENT.match(text, start):
        return None  # the quote ends another text, as in "a=" + b
    return start, _closing(text, start, opening["quote"], len(opening["backslashes"]))


def _closing(text: str, start: int, quote: str, level: int) -> int:
    """Where the quote is closed that `level` backslashes opened: by as many, or by fewer, which end a text around it.

    In a text escaped again and again, a quote inside the value has twice the backslashes and one.
    """
    for found in _CLOSING[quote].finditer(text, start):
        if found["backslashes"] is None:
            return found.start()
        count = len(found["backslashes"])
        if count < level:
            return found.start()
        if count % (2 * (level + 1)) == level:
            return found.end() - 1 - level
    return len(text)


def _is_ordinary(value: str, follows: str, how: str) -> bool:
    """True for a word of documentation or code, and for a reference to where the secret is."""
    is_code = len(value) <= _CODE_LENGTH and _IDENTIFIER.match(value) is not None and follows in {"(", "[", "."}
    if _ORDINARY.match(value) or is_code:
        return True
    is_word = _IDENTIFIER.match(value) is not None or value.replace(".", "").isdigit()
    return how == "weak" and (len(value) < _WEAK_LENGTH or is_word)
