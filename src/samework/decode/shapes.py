"""Values of decoded JSON as the type that a format says they have, or nothing: a reader trusts no shape.

Refuses to convert: a number in the place of a text is no text.
"""

from __future__ import annotations

import json
import math
import sys

import orjson

from samework.decode.strict_json import NotJson, loads

_MAX_DIGITS = 19
_FIRST_LONG = 10**_MAX_DIGITS
MAX_TOKEN_ID = (1 << 31) - 1
_MAX_FLOAT = int(sys.float_info.max)
_MAX_COUNT = (1 << 63) - 1  # what the store's columns hold


def as_text(value: object) -> str | None:
    """A string, else None."""
    return value if isinstance(value, str) else None


def as_name(value: object) -> str | None:
    """A name or id: text that is not empty, or a whole number in digits; else None.

    >>> as_name("a"), as_name(7), as_name(""), as_name(True)
    ('a', '7', None, None)
    """
    if isinstance(value, str):
        return value or None
    return str(value) if type(value) is int and abs(value) < _FIRST_LONG else None


def as_dict(value: object) -> dict[str, object]:
    """An object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """A list, else an empty one."""
    return value if isinstance(value, list) else []


def as_dicts(value: object) -> list[dict[str, object]]:
    """The objects of a list, in order; none where it is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def as_token_ids(value: object) -> tuple[int, ...] | None:
    """Token ids of a list of such, else None: also where the list is empty, for it says nothing.

    >>> as_token_ids([1, 2]), as_token_ids([1, -2]), as_token_ids([])
    ((1, 2), None, None)
    """
    if not isinstance(value, list) or set(map(type, value)) != {int}:
        return None
    return tuple(value) if min(value) >= 0 and max(value) <= MAX_TOKEN_ID else None


def as_count(value: object) -> int | None:
    """A whole number that is not negative and that a column holds, else None.

    >>> as_count(3), as_count(-1), as_count(True), as_count("3"), as_count(2**70)
    (3, None, None, None, None)
    """
    return value if type(value) is int and 0 <= value <= _MAX_COUNT else None


def as_number(value: object) -> int | float | None:
    """A finite number, else None; a whole number that no double holds is none either.

    >>> as_number(3), as_number(True), as_number(float("nan")), as_number(10**400)
    (3, None, None, None)
    """
    if type(value) is int:
        return value if abs(value) <= _MAX_FLOAT else None
    return value if type(value) is float and math.isfinite(value) else None


def as_whole(value: object) -> int | None:
    """As `as_count`, also from decimal text and from a float without a fraction, as traces write counts.

    >>> as_whole("12"), as_whole(3.0), as_whole("x")
    (12, 3, None)
    """
    if type(value) is int:
        return value if 0 <= value <= _MAX_COUNT else None
    if isinstance(value, float) and value.is_integer():
        return as_count(int(value))
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS:
        return as_count(int(value))
    return as_count(value)


def as_moment(value: object) -> str | None:
    """A time as the source writes it: text, or a number in text."""
    return str(value) if as_number(value) is not None else as_text(value) or None


def compact(value: object) -> str:
    """JSON without spaces, keys in their order: how a reader writes arguments that a format holds decoded."""
    return _COMPACT.encode(value)


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def content_bytes(value: object) -> bytes:
    """Bytes that stand for a decoded value, to make a digest of; equal values give equal bytes.

    >>> content_bytes({"a": [1, "b"]})
    b'{"a":[1,"b"]}'
    """
    try:
        return orjson.dumps(value)
    except (orjson.JSONEncodeError, RecursionError):  # integers beyond 64 bits, halves of characters
        return compact(value).encode("utf-8", "surrogatepass")


_BEGINNINGS = ("{", "[", '"')


def decoded(value: object) -> object:
    """The value that a text holds as JSON; the text itself where it holds none.

    >>> decoded('{"a": 1}'), decoded("plain")
    ({'a': 1}, 'plain')
    """
    if not isinstance(value, str) or not value.lstrip().startswith(_BEGINNINGS):
        return value
    try:
        return loads(value)
    except NotJson:
        return value
