"""Names of files as patches write them: quoting, prefixes, safety. Paths are bytes until they are shown.

Refuses names that could point outside a tree; it never guesses where a header with blanks in it is to be cut.
"""

from __future__ import annotations

import re

PREFIXES: tuple[tuple[bytes, bytes], ...] = (
    (b"a/", b"b/"),
    (b"i/", b"w/"),
    (b"c/", b"i/"),
    (b"c/", b"w/"),
    (b"o/", b"w/"),
    (b"1/", b"2/"),
    (b"b/", b"a/"),
    (b"w/", b"i/"),
    (b"i/", b"c/"),
    (b"w/", b"c/"),
    (b"w/", b"o/"),
    (b"2/", b"1/"),
    (b"", b""),
)
_QUOTED = re.compile(rb'"((?:[^"\\]|\\[abtnvfr"\\]|\\[0-3][0-7]{2})*)"')
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-3][0-7]{2})')
_LETTERS = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_MARKS = {value[0]: "\\" + key.decode() for key, value in _LETTERS.items()} | {0x22: '\\"', 0x5C: "\\\\"}
_FIRST_PRINTABLE, _DEL = 0x20, 0x7F


def unquoted(text: bytes) -> tuple[bytes, bytes] | None:
    r"""Read one C-quoted name at the start of `text`.

    Returns: (name, what follows it), or None where there is no well-formed quoted name.

    >>> unquoted(b'"a/\\303\\251" rest')
    (b'a/\xc3\xa9', b' rest')
    """
    found = _QUOTED.match(text)
    if found is None:
        return None
    return _ESCAPE.sub(_unescaped, found.group(1)), text[found.end() :]


def _unescaped(found: re.Match[bytes]) -> bytes:
    mark = found.group(1)
    return bytes([int(mark, 8)]) if len(mark) == 3 else _LETTERS.get(mark, mark)  # noqa: PLR2004 (octal digits)


def plain_name(text: bytes) -> bytes:
    """A name as it stands after `---`, `+++` or `rename from`: unquoted, a tab and what follows it dropped."""
    if text.startswith(b'"'):
        found = unquoted(text)
        return text if found is None else found[0]
    return text.split(b"\t", 1)[0]


def header_pair(rest: bytes) -> tuple[bytes, bytes] | None:
    """Cut what follows `diff --git ` into the two names, prefixes kept.

    Without quotes the cut is certain only where both halves name the same file; None elsewhere.
    """
    if rest.startswith(b'"'):
        first = unquoted(rest)
        if first is None or not first[1].startswith(b" "):
            return None
        return first[0], plain_name(first[1][1:])
    if rest.endswith(b'"'):
        cut = rest.find(b' "')
        second = unquoted(rest[cut + 1 :]) if cut > 0 else None
        return (rest[:cut], second[0]) if second is not None and second[1] == b"" else None
    middle = len(rest) // 2
    if len(rest) % 2 == 0 or rest[middle : middle + 1] != b" ":
        return None
    pair = rest[:middle], rest[middle + 1 :]
    return pair if any(_tail(pair[0], one) == _tail(pair[1], two) is not None for one, two in PREFIXES) else None


def stripped_pair(pair: tuple[bytes, bytes], *, renamed: bool) -> tuple[bytes, bytes, int] | None:
    """Drop the prefixes of two names.

    Args:
        pair: both names, prefixes kept.
        renamed: True where the two may differ.

    Returns: (old, new, number of leading components dropped), or None where no known prefix fits.
    """
    for one, two in PREFIXES:
        old, new = _tail(pair[0], one), _tail(pair[1], two)
        if old and new and (renamed or old == new):
            return old, new, 1 if one else 0
    return None


def joined_names(old: bytes, new: bytes, rest: bytes) -> tuple[bytes, bytes] | None:
    """Find the prefixes with which `old` and `new` give the unquoted header `rest`; both names with their prefix."""
    for one, two in PREFIXES:
        if rest == one + old + b" " + two + new:
            return one + old, two + new
    return None


def _tail(name: bytes, prefix: bytes) -> bytes | None:
    return name[len(prefix) :] if name.startswith(prefix) else None


def is_safe(path: bytes) -> bool:
    """False for a path that is empty, absolute, holds NUL, `.`, `..` or `.git`, or an empty component.

    >>> is_safe(b"src/a.py"), is_safe(b"../etc/passwd"), is_safe(b"x/.GIT/hooks/post-checkout")
    (True, False, False)
    """
    return b"\0" not in path and not any(
        part in (b"", b".", b"..") or part.lower() == b".git" for part in path.split(b"/")
    )


def shown_path(path: bytes) -> str:
    r"""A path as text, one form per path: itself where it is UTF-8, else C-quoted as Git does it.

    >>> shown_path("é.py".encode()), shown_path(b"a\xff")
    ('é.py', '"a\\377"')
    """
    if not path.startswith(b'"'):
        try:
            return path.decode("utf-8")
        except UnicodeDecodeError:
            pass
    return quoted(path)


def quoted(name: bytes) -> str:
    """A name in double quotes with escapes, as Git writes unusual ones."""
    return '"' + "".join(_mark(byte) for byte in name) + '"'


def _mark(byte: int) -> str:
    if byte in _MARKS:
        return _MARKS[byte]
    return chr(byte) if _FIRST_PRINTABLE <= byte < _DEL else f"\\{byte:03o}"
