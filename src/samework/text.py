"""Make any string safe to show: no control character, bidi mark or lone surrogate reaches a terminal or a page raw.

Refuses nothing: every input has a visible form, and ordinary text is returned unchanged.
"""

from __future__ import annotations

import re

_LAST_BYTE = 0xFF
_ALIKE = re.compile(r"(?<!\\)\\++(?=[\ud800-\udfff]|ud[89a-f][0-9a-f]{2})|[\ud800-\udfff]")
_SURROGATE_LEAD = b"\xed"  # the first byte of every encoded surrogate, and of some letters
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def visible(value: str, *, one_line: bool = False) -> str:
    r"""Replace characters that a terminal or page would obey by an escape one can read.

    >>> visible("a\x1b[2Jb\u202egnp")
    'a\\x1b[2Jb\\u202egnp'
    >>> visible("two\nlines", one_line=True)
    'two\\nlines'
    """
    shown = _UNSAFE.sub(_escape, value)
    if one_line:
        shown = shown.replace("\n", "\\n").replace("\t", "\\t")
    return shown


def _escape(found: re.Match[str]) -> str:
    point = ord(found.group())
    return f"\\x{point:02x}" if point <= _LAST_BYTE else f"\\u{point:04x}"


def shortened(value: str, limit: int) -> str:
    """One line of at most `limit` characters, visible, with an ellipsis where it was cut.

    >>> shortened("abcdef", 4)
    'abc…'
    """
    shown = visible(value[: limit * 4], one_line=True)
    return shown if len(shown) <= limit and len(value) <= limit * 4 else shown[: max(limit - 1, 0)] + "…"


def storable(value: str) -> str:
    r"""Text that UTF-8 can hold: lone surrogates become U+FFFD. Identity is never computed on it.

    >>> storable("a\ud800b") == "a\ufffd\ufffd\ufffdb"
    True
    """
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return value


def storable_id(value: str) -> str:
    r"""Text that UTF-8 can hold, another for each id: lone surrogates are escaped.

    Where an id holds such text itself its backslashes are doubled, so an odd number of them is the escape.

    >>> storable_id("a[\ud800]"), storable_id(r"a[\ud800]"), storable_id(r"a[\d]")
    ('a[\\ud800]', 'a[\\\\ud800]', 'a[\\d]')
    """
    return _ALIKE.sub(_kept_apart, value)


def _kept_apart(found: re.Match[str]) -> str:
    text = found.group()
    return text * 2 if text[0] == "\\" else f"\\u{ord(text):04x}"


def raw_bytes(value: str) -> bytes:
    """The bytes on which identity is computed: UTF-8, lone surrogates passed through."""
    return value.encode("utf-8", "surrogatepass")


def storable_bytes(raw: bytes) -> bytes:
    """What `raw_bytes` gave, as UTF-8 that every program reads: lone surrogates become U+FFFD.

    >>> storable_bytes(raw_bytes("a")), storable_bytes(raw_bytes(chr(0xD800))) == storable(chr(0xD800)).encode()
    (b'a', True)
    """
    if _SURROGATE_LEAD in raw:
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError:
            return raw.decode("utf-8", "replace").encode("utf-8")
    return raw


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """`1 run`, `2 runs`, `1,500 runs`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
