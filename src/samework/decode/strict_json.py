"""One policy for JSON text: nothing is changed in silence, what cannot be kept is refused with its byte offset.

Integers keep every digit, lone surrogates stay, NaN and Infinity are floats, a repeated key keeps its last value, a
byte order mark is dropped; `loads_checked` and `loads_reported` say so. Refused: what is not JSON, nesting beyond the
limit, integers beyond `max_digits`, decimals beyond a double. docs/decisions/0030 has the table.
"""

from __future__ import annotations

import json
import math
import re

import orjson

from samework.decode.limits import DEFAULT, Limits
from samework.errors import DamagedRecord
from samework.text import shortened

REPEATED = "occurs twice in one object"
BOM = b"\xef\xbb\xbf"
_DIGITS_ALIKE = bytes(ord("0") if chr(byte) in "0123456789" else byte for byte in range(256))
_LONG_RUN = b"0" * 19
_STRIDE, _SAMPLED_RUN = 6, b"000"  # nineteen digits cover three samples at a distance of six, wherever they begin
_HEAD_BYTES = 1 << 16
_AFTER_RUN = re.compile(rb"[^0]")
_KEY_END = b'":'
_BLANK_BEFORE_COLON, _AFTER_KEY = (b" :", b"\t:", b"\r:", b"\n:"), re.compile(rb'"[ \t\r\n]+:')
_ESCAPED_KEY_END = (rb"\u0022", rb"\u003a", rb"\u003A")
# A string that has no end goes to the end of the text: else each quote in it would be tried as a beginning.
_STRUCTURE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


class NotJson(DamagedRecord):
    """JSON text that cannot be kept as it is. offset: byte where it fails, from the start of the given text."""

    def __init__(self, reason: str, offset: int, code: str = "damaged-record") -> None:
        super().__init__(reason, place=f"byte {offset}", code=code)
        self.offset = offset


def loads(data: bytes | str, limits: Limits = DEFAULT) -> object:
    r"""Decode one JSON text.

    Raises: NotJson: it is not JSON, or it cannot be kept without loss.

    >>> loads(b'{"n": 18446744073709551616, "n": 2}')
    {'n': 2}
    >>> loads(b'[18446744073709551616, "\\ud83d"]')
    [18446744073709551616, '\ud83d']
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if has_long_integer(raw):
        return _decode(raw, limits, _plain_decoder(limits))
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _decode(raw, limits, _plain_decoder(limits))
    if len(raw) > 2 * limits.max_depth and _is_too_deep(raw, value, limits):
        raise _too_deep(0, limits)
    return value


def has_long_integer(raw: bytes) -> bool:
    """True where the text may hold an integer that a fast decoder would turn into a float.

    Linear, without a regular expression on ordinary text; a false alarm costs time, never a digit.
    """
    if len(raw) < len(_LONG_RUN) or _SAMPLED_RUN not in raw[::_STRIDE].translate(_DIGITS_ALIKE):
        return False
    alike = raw.translate(_DIGITS_ALIKE)
    at = alike.find(_LONG_RUN)
    while at >= 0:
        if raw[at - 1 : at] != b".":  # else they are decimals, which a double holds as well as it can
            return True
        found = _AFTER_RUN.search(alike, at)
        at = -1 if found is None else alike.find(_LONG_RUN, found.start())
    return False


def loads_checked(data: bytes | str, limits: Limits = DEFAULT) -> tuple[object, list[str]]:
    """Decode one JSON text and report what a plain decoder hides.

    Returns: the value, and a sentence for each repeated key and each number that JSON does not know.
    Raises: NotJson: as `loads`.

    >>> loads_checked(b'{"a": 1, "a": 2}')
    ({'a': 2}, ['the key "a" occurs twice in one object; the last value is kept'])
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    findings: list[str] = []

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        kept = dict(items)
        if len(kept) != len(items):
            seen: set[str] = set()
            for key, _ in items:
                if key in seen:
                    findings.append(f'the key "{shortened(key, 60)}" {REPEATED}; the last value is kept')
                seen.add(key)
        return kept

    def constant(word: str) -> float:
        findings.append(f"{word} is not JSON; it is kept as a float")
        return float(word.replace("Infinity", "inf"))

    decoder = json.JSONDecoder(
        object_pairs_hook=pairs, parse_int=_Numbers(limits).whole, parse_float=_finite, parse_constant=constant
    )
    return _decode(raw, limits, decoder), findings


def has_repeated(findings: list[str]) -> bool:
    """Whether what `loads_checked` found is that a key occurs twice, so that a value of it is nowhere."""
    return any(REPEATED in finding for finding in findings)


def loads_reported(data: bytes, limits: Limits = DEFAULT) -> tuple[object, list[str]]:
    """As `loads_checked`, at the speed of `loads` for text that has nothing to report.

    A repeated key shows where the text has more keys than what was read of it, written again.

    >>> loads_reported(b'{"a": 1, "a": 2}')
    ({'a': 2}, ['the key "a" occurs twice in one object; the last value is kept'])
    """
    if has_long_integer(data):
        return loads_checked(data, limits)
    try:
        value = orjson.loads(data)
        written = orjson.dumps(value)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return loads_checked(data, limits)
    # Most programs write as compactly, and then there is nothing to count.
    if written != data and (data.count(_KEY_END) > written.count(_KEY_END) or _may_hide_keys(data)):
        return loads_checked(data, limits)
    if len(data) > 2 * limits.max_depth and _is_too_deep(data, value, limits):
        raise _too_deep(0, limits)
    return value, []


def _may_hide_keys(data: bytes) -> bool:
    """True where ends of keys cannot be counted: blanks before a colon, or a string that is written with more."""
    if any(escape in data for escape in _ESCAPED_KEY_END):
        return True
    return any(blank in data for blank in _BLANK_BEFORE_COLON) and _AFTER_KEY.search(data) is not None


def first_value(text: str, start: int, limits: Limits = DEFAULT) -> tuple[object, int]:
    """Decode the JSON value that begins at `start` of `text` and say where it ends (characters).

    Raises: NotJson: there is none; `offset` counts characters here.
    """
    _refuse_deep(text, limits, start)
    try:
        return _plain_decoder(limits).raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise NotJson(f"not JSON ({error.msg})", error.pos) from error
    except RecursionError as error:
        raise _too_deep(start, limits) from error


class _Numbers:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def whole(self, digits: str) -> int:
        if len(digits) > self.limits.max_digits:
            raise NotJson(f"an integer of {len(digits)} digits, beyond {self.limits.max_digits}", 0, "limit-exceeded")
        return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise NotJson(f"the number {shortened(digits, 30)} is beyond a double", 0)
    return value


def _plain_decoder(limits: Limits) -> json.JSONDecoder:
    return json.JSONDecoder(parse_int=_Numbers(limits).whole, parse_float=_finite)


def _decode(raw: bytes, limits: Limits, decoder: json.JSONDecoder) -> object:
    skipped = len(BOM) if raw.startswith(BOM) else 0
    try:
        text = raw[skipped:].decode("utf-8")
    except UnicodeDecodeError as error:
        try:  # a str with lone surrogates was given
            text = raw[skipped:].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise NotJson("not UTF-8", skipped + error.start) from error
    _refuse_deep(text, limits)
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        at = skipped + len(text[: error.pos].encode("utf-8", "surrogatepass"))
        raise NotJson(f"not JSON ({error.msg})", at) from error
    except RecursionError as error:
        raise _too_deep(skipped, limits) from error


def _refuse_deep(text: str, limits: Limits, start: int = 0) -> None:
    """Refuse a value at `start` that is too deep; what follows it is not looked at, however deep."""
    if not start and text.count("[") + text.count("{") <= limits.max_depth:
        return
    depth = 0
    for found in _STRUCTURE.finditer(text, start):
        mark = found.group()
        if mark in "[{":
            depth += 1
            if depth > limits.max_depth:
                raise _too_deep(len(text[: found.start()].encode("utf-8", "surrogatepass")), limits)
        elif mark in "]}":
            depth -= 1
        if not depth:
            return


def _is_too_deep(raw: bytes, value: object, limits: Limits) -> bool:
    """Whether a value is nested beyond the limit; walks it only where its text has brackets enough for that.

    Each level takes two bytes, so a shorter text need not be asked.
    """
    # The beginning of a long text has enough of them as a rule, and need not be counted to its end.
    n_brackets = raw.count(b"[", 0, _HEAD_BYTES) + raw.count(b"{", 0, _HEAD_BYTES)
    if n_brackets <= limits.max_depth and len(raw) > _HEAD_BYTES:
        n_brackets = raw.count(b"[") + raw.count(b"{")
    return n_brackets > limits.max_depth and _depth(value) > limits.max_depth


def _depth(value: object) -> int:
    """Levels of nesting of decoded JSON, without recursion."""
    level, depth = [value], 0
    while level:
        below: list[object] = []
        for node in level:
            if type(node) is dict:
                below += node.values()
            elif type(node) is list:
                below += node
        level = [node for node in below if type(node) is dict or type(node) is list]
        depth += 1
    return depth


def _too_deep(offset: int, limits: Limits) -> NotJson:
    return NotJson(f"nested deeper than {limits.max_depth} levels", offset, "limit-exceeded")
