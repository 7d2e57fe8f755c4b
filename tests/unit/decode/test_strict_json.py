"""One policy for JSON: nothing changes in silence, what cannot be kept is refused with its place."""

from __future__ import annotations

import json
import math
import sys
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samework.decode.limits import Limits
from samework.decode.strict_json import (
    REPEATED,
    NotJson,
    first_value,
    has_long_integer,
    loads,
    loads_checked,
    loads_reported,
)

if TYPE_CHECKING:
    from collections.abc import Callable

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(), part, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_the_standard_decoder_gives_is_kept_with_every_digit(value: object) -> None:
    text = json.dumps(value)
    assert loads(text) == json.loads(text)
    assert repr(loads(text.encode())) == repr(json.loads(text))
    assert loads_checked(text)[0] == json.loads(text)


@given(st.binary(max_size=60))
def test_any_bytes_decode_or_are_refused_with_an_offset_inside(data: bytes) -> None:
    try:
        loads(data)
    except NotJson as error:
        offset = error.offset
    else:
        offset = 0
    assert 0 <= offset <= len(data)


@given(st.integers(0, 40), st.integers(10**18, 10**25), st.booleans())
def test_the_quick_look_misses_no_long_integer(n_before: int, number: int, is_negative: bool) -> None:
    text = json.dumps({"a" * n_before: -number if is_negative else number})
    assert has_long_integer(text.encode())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"18446744073709551616", 18446744073709551616),
        (b"[-9223372036854775809]", [-9223372036854775809]),
        (b'"\\ud83d"', "\ud83d"),
        (b'{"k\\udc00":1}', {"k\udc00": 1}),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"a\\u0000b"', "a\0b"),
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b"[0.12345678901234567890123]", [0.12345678901234567890123]),
    ],
)
def test_values_that_fast_decoders_lose_are_kept(text: bytes, value: object) -> None:
    assert loads(text) == value
    assert type(loads(text)) is type(value)


def test_not_a_number_is_kept_as_a_float_and_reported() -> None:
    value = loads(b"[NaN]")
    assert isinstance(value, list)
    assert math.isnan(value[0])
    assert loads_checked(b"-Infinity") == (-math.inf, ["-Infinity is not JSON; it is kept as a float"])


def test_a_repeated_key_is_reported_in_visible_text() -> None:
    _, findings = loads_checked(b'{"a\\u001b":1,"a\\u001b":2}')
    assert findings == ['the key "a\\x1b" occurs twice in one object; the last value is kept']


@pytest.mark.parametrize(
    ("text", "words", "offset"),
    [
        (b"[" * 100_000, "nested deeper than 200", 200),
        (b'[{"a":' * 300, "nested deeper than 200", None),
        (b"[" * 201 + b"]" * 201, "nested deeper than 200", None),
        (b"9" * 5000, "5000 digits", None),
        (b"1e400", "beyond a double", None),
        (b"1" + b"0" * 400 + b".0", "beyond a double", None),
        (b'{"a":1,}', "not JSON", 7 if sys.version_info < (3, 13) else 6),  # at the brace, later at the comma
        (b'{"a":\xff}', "not UTF-8", 5),
        (b"", "not JSON", 0),
        (b"{} {}", "not JSON", 3),
        ('{"ü":'.encode(), "not JSON", 6),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_place(text: bytes, words: str, offset: int | None) -> None:
    with pytest.raises(NotJson, match=words) as caught:
        loads(text)
    assert offset is None or caught.value.offset == offset


def test_a_value_is_read_though_a_deep_one_follows() -> None:
    text = '{"a": 1}\n' + "[" * 100_000
    assert first_value(text, 0) == ({"a": 1}, 8)
    with pytest.raises(NotJson, match="nested deeper"):
        first_value(text, 9)


def test_nesting_up_to_the_limit_is_read() -> None:
    assert loads(b"[" * 200 + b"]" * 200) is not None
    with pytest.raises(NotJson):
        loads(b"[[[]]]", Limits(max_depth=2))


@pytest.mark.parametrize("read", [loads, loads_reported])
def test_nesting_behind_a_long_text_is_refused(read: Callable[[bytes], object]) -> None:
    before = b'["' + b"x" * (1 << 17) + b'",'
    assert read(before + b"[" * 199 + b"]" * 200)
    with pytest.raises(NotJson, match="nested deeper than 200"):
        read(before + b"[" * 200 + b"]" * 201)


@given(VALUES)
def test_text_without_oddities_has_nothing_to_report(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, separators=(",", ":"))):
        raw = text.encode("utf-8", "surrogatepass")
        assert loads_reported(raw) == (json.loads(text), [])


@given(VALUES, st.sampled_from(["a", 'q"', "b\\", "\ud83d", "c:"]))
def test_a_key_given_twice_is_reported_wherever_it_stands(value: object, key: str) -> None:
    once = f"{json.dumps(key)}: {json.dumps(value)}"
    raw = f'[{{"x": {{{once}, {once}}}}}]'.encode()
    found, findings = loads_reported(raw)
    assert (found, findings) == loads_checked(raw)
    assert any(REPEATED in finding for finding in findings)


def test_a_cut_string_full_of_quotes_takes_time_in_proportion():
    text = '{"a": ["' + '\\"aaa' * 200_000
    began = time.process_time()
    with pytest.raises(NotJson):
        first_value("[" * 300 + text, 0)
    with pytest.raises(NotJson):
        first_value('{"b": ' + "[[]," * 300 + text, 0)
    assert time.process_time() - began < 5


SHORT = st.sampled_from(
    [b"{", b"}", b"[", b"]", b'"a"', b'"', b":", b" :", b",", b"1", b'"a":1', b'"b\\":"', b"9" * 19, b"1e400"]
)


@given(st.lists(SHORT, max_size=14), st.integers(0, 4))
def test_short_texts_are_held_to_the_same_limits_and_report_as_long_ones(pieces: list[bytes], max_depth: int) -> None:
    text, limits = b"".join(pieces), Limits(max_depth=max_depth)
    for read in (loads, lambda text, limits: loads_reported(text, limits)[0]):
        assert refusal_or_value(read, text, limits) == refusal_or_value(read, text + b" " * 1000, limits)


def refusal_or_value(read: object, text: bytes, limits: Limits) -> object:
    try:
        return repr(read(text, limits))  # type: ignore[operator]
    except NotJson as error:
        return error.code


@pytest.mark.parametrize("blank", ["", " " * 500])
@pytest.mark.parametrize(
    ("text", "n_findings"),
    [
        ('{"a":1,"a":2}', 1),
        ('{"a":1,"b":2}', 0),
        ('{"a":"\\":","b":2}', 0),
        ('{"a":{"b":1},"b":{"b":1,"b":2}}', 1),
        ('{"a":[{"b":1}],"c":3}', 0),
        ('{"a" :1,"a" :2}', 1),
        ('{"a"\t  :1,"a":2}', 1),
        ('{"b":"\\u0022:","a":1,"a":2}', 1),
        ('{"b":"\\"\\u003a","a":1,"a":2}', 1),
        ('{"b" : "x" , "c" : " :"}', 0),
        ("{}", 0),
        ('"a"', 0),
    ],
)
def test_a_repeated_key_is_reported_of_short_and_long_texts(text: str, n_findings: int, blank: str) -> None:
    value, findings = loads_reported((text + blank).encode())
    assert (value, len(findings)) == (json.loads(text), n_findings)
