"""Damage: bytes flipped, cut, glued and filled with NULs; JSON whose values, keys and depths are not what they were.

Everything is drawn from a `random.Random`, so that a seed, hypothesis or a fuzzer decides and a fault can be repeated.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

from tests.fuzz import lab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

_MARK = "\x01raw\x02"
RAW = {
    "nested lists": "[" * 190 + "]" * 190,
    "lists beyond the limit": "[" * 400 + "]" * 400,
    "objects beyond the limit": '{"a":' * 5000 + "1" + "}" * 5000,
    "an integer of 25 digits": "1" * 25,
    "an integer beyond a double": "1" * 400,
    "an integer of 5000 digits": "9" * 5000,
    "a decimal beyond a double": "1e999",
    "a number that is none": "NaN",
    "an infinity": "-Infinity",
    "a repeated key": '{"id": 1, "id": [], "type": "a", "type": "b"}',
    "a lone surrogate": '"\\ud800"',
    "an escaped NUL": '"a\\u0000b"',
    "a terminal escape": '"\\u001b[31m\\u202e"',
}
"""Texts that stand for a JSON value and that no Python value is written as."""
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 2**70, 0.5, 1e308, -0.0,
    "", "0", "x", " ", "\n", "a" * 300, "\ud800", "\x00", "é\u2028", "[]", "{}", '{"a": 1}', "/", "../x", "true",
    "null", [], [None], [[]], [{}], [0], [""], ["x", 1], [True] * 3, {}, {"": None}, {"type": {}}, {"type": []},
    {"type": "text", "text": 1}, {"text": {"text": {}}}, {"id": []}, {"id": {}}, {"role": 1}, {"content": [[]]},
    {"name": None}, {"value": {"value": [1]}}, {"message": "x"}, {"function": "f"}, {"arguments": {}}, {"usage": 1},
]  # fmt: skip
"""Values of every type, of shapes that readers look for in places where they do not look for them."""
PLAIN: tuple[Any, ...] = ([], {}, 7, True, None)
"""One of each type that is no text: what a set or a table is asked for by a reader that took a word for granted."""

NUMBERS: tuple[Any, ...] = (10**400, -(10**400), 2**63, 2**31, -1, 1e308, -1e308)
"""What a number may be that no column, no double and no clock holds."""


def mutant(rng: Random, data: bytes, others: list[bytes] | None = None, n_steps: int = 0) -> bytes:
    """The bytes, damaged in one to four ways. others: of the same format, to splice from."""
    for _ in range(n_steps or rng.choice((1, 1, 1, 2, 2, 3, 4))):
        if data.startswith(b"PK") and rng.random() < 0.7:
            data = _of_archive(rng, data)
            continue
        draw = rng.random()
        done = mistyped(rng, data) if draw < 0.2 else _of_json(rng, data) if draw < 0.7 else None
        data = done if done is not None else rng.choice(_BYTES)(rng, data, others or [data])
    return data


def mutant_files(rng: Random, files: dict[str, bytes], others: list[bytes] | None = None) -> dict[str, bytes]:
    """A sample with one of its files damaged, left out, or in the place of another."""
    name = rng.choice(sorted(files))
    changed = dict(files)
    if len(files) > 1 and rng.random() < 0.1:
        changed[name] = files[rng.choice(sorted(files))]
    elif len(files) > 1 and rng.random() < 0.05:
        del changed[name]
    else:
        changed[name] = mutant(rng, files[name], others)
    return changed


# Bytes and lines


def _flip(rng: Random, data: bytes, _others: list[bytes]) -> bytes:
    changed = bytearray(data or b"0")
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(changed))
        changed[at] = rng.choice((changed[at] ^ 1 << rng.randrange(8), rng.randrange(256), 0, 10, 34, 44, 92, 123, 125))
    return bytes(changed)


def _cut(rng: Random, data: bytes, _others: list[bytes]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _without(rng: Random, data: bytes, _others: list[bytes]) -> bytes:
    start, end = _span(rng, data)
    return data[:start] + data[end:]


def _twice(rng: Random, data: bytes, _others: list[bytes]) -> bytes:
    start, end = _span(rng, data)
    return data[:end] + data[start:]


def _filled(rng: Random, data: bytes, _others: list[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    junk = (
        b"\x00" * 16, b"\xef\xbb\xbf", b"\xff\xfe", b"}{", b"\n", b"\r\n", b"\r", b"\x1b[2J", b"\xe2\x80\xa8", b"\xc3",
        b"[" * 300, b'"', b"\\", b"<!DOCTYPE x>", b"&a;", b"]]>", b"<a>", b"1" * 5000, b"PASSED ",
        b"not ok 1\n", b"1..3\n",
    )  # fmt: skip
    return data[:at] + rng.choice(junk) + data[at:]


def _spliced(rng: Random, data: bytes, others: list[bytes]) -> bytes:
    other = rng.choice(others)
    start, end = _span(rng, other)
    at = rng.randrange(len(data) + 1)
    return data[:at] + other[start:end] + data[at:]


def _lines(rng: Random, data: bytes, others: list[bytes]) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    way = rng.randrange(5)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines[at], lines[to] = lines[to], lines[at]
    elif way == 2:
        lines.insert(to, lines[at])
    elif way == 3:
        lines[at] = lines[at].rstrip(b"\r\n")
    else:
        lines.insert(at, rng.choice(rng.choice(others).splitlines(keepends=True) or [b"\n"]))
    return b"".join(lines)


def _utf16(_rng: Random, data: bytes, _others: list[bytes]) -> bytes:
    return data.decode("utf-8", "replace").encode("utf-16")


def _span(rng: Random, data: bytes) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 4, 16, 64, 256)))


_BYTES: tuple[Callable[[Random, bytes, list[bytes]], bytes], ...] = (
    _flip, _flip, _cut, _without, _twice, _filled, _spliced, _lines, _lines, _utf16,
)  # fmt: skip


# JSON


def _of_json(rng: Random, data: bytes) -> bytes | None:
    """The document, or one of the lines, with one place changed; None where it is no JSON."""
    return _with_one(rng, data, changed)


def mistyped(rng: Random, data: bytes) -> bytes | None:
    """The document, or one of the lines, with one of `PLAIN` in some place; None where it is no JSON."""
    return _with_one(rng, data, _mistyped)


def _mistyped(rng: Random, value: Any) -> Any:
    """A copy with a value of another type in one place, mostly one where a single value stood."""
    paths = list(places(value))[1:] or [()]
    leaves = [path for path in paths if not isinstance(at_place(value, path), dict | list)]
    path = rng.choice(leaves if leaves and rng.random() < 0.8 else paths)
    return replaced(value, path, rng.choice(PLAIN))


def _with_one(rng: Random, data: bytes, change: Callable[[Random, Any], Any]) -> bytes | None:
    whole = _parsed(data)
    if whole is not None:
        return written(change(rng, whole))
    lines = data.splitlines(keepends=True)
    if not lines:
        return None
    at = rng.randrange(len(lines))
    value = _parsed(lines[at])
    if value is None:
        return None
    lines[at] = written(change(rng, value)) + b"\n"
    return b"".join(lines)


def _parsed(data: bytes) -> Any:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def written(value: Any) -> bytes:
    """JSON text of a value that may hold places for raw text."""
    try:
        text = json.dumps(value)
    except (ValueError, RecursionError):  # an integer that Python itself does not write, or nesting
        return b"{}"
    for name, raw in RAW.items():
        text = text.replace(json.dumps(_MARK + name), raw)
    return text.encode()


def numbered(data: bytes) -> Iterator[tuple[tuple[Any, ...], bytes]]:
    """The document, or each of the lines, with one number in turn by each of `NUMBERS`, once for each kind of path."""
    whole = _parsed(data)
    lines = [data] if whole is not None else data.splitlines(keepends=True)
    seen: set[tuple[Any, ...]] = set()
    for at, line in enumerate(lines):
        value = _parsed(line)
        for path in places(value):
            kind = tuple(step for step in path if isinstance(step, str))
            if type(at_place(value, path)) not in (int, float) or kind in seen:
                continue
            seen.add(kind)
            for number in NUMBERS:
                changed = [*lines[:at], written(replaced(value, path, number)) + b"\n", *lines[at + 1 :]]
                yield kind, b"".join(changed)


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to every value inside, the whole first."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def at_place(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def replaced(value: Any, path: tuple[Any, ...], by: object) -> Any:
    """A copy with another value at a path."""
    if not path:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], by)
    return copy


def removed(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy without the key or element at a path."""
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = removed(value[path[0]], path[1:])
    return copy


def changed(rng: Random, value: Any) -> Any:
    """A copy with one place changed: by another type, by a value from elsewhere, gone, twice, or wrapped."""
    paths = list(places(value))
    path = rng.choice(paths)
    way = rng.randrange(8)
    if way == 0 and path:
        return removed(value, path)
    if way == 1:
        return replaced(value, path, at_place(value, rng.choice(paths)))
    if way <= 3:
        return replaced(value, path, _MARK + rng.choice(list(RAW)))
    if way <= 5:
        return replaced(value, path, rng.choice(VALUES))
    return replaced(value, path, _reshaped(rng, at_place(value, path)))


def _reshaped(rng: Random, here: Any) -> Any:
    if isinstance(here, dict) and here and rng.random() < 0.5:
        key = rng.choice(list(here))
        return {**here, rng.choice(("", "type", "id", key + "2", "\ud800")): here[key]}
    if isinstance(here, list) and here and rng.random() < 0.5:
        return rng.choice((here * 2, here[::-1], [*here, None], [here], here[:1]))
    return rng.choice(([here], {"value": here}, str(here)[:200], [here, here], None))


# Archives


def _of_archive(rng: Random, data: bytes) -> bytes:
    """The archive with one member damaged inside; the bytes themselves flipped where it cannot be opened."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {each.filename: archive.read(each) for each in archive.infolist() if not each.is_dir()}
    except Exception:  # noqa: BLE001 (zipfile fails in many ways, and only an undamaged archive is of use here)
        return _flip(rng, data, [data])
    if not members:
        return _flip(rng, data, [data])
    name = rng.choice(sorted(members))
    members[name] = mutant(rng, members[name], n_steps=1)
    return zipped(members)


def zipped(members: dict[str, bytes]) -> bytes:
    """A zip of the members, deflated."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return packed.getvalue()


def others_of(reader: str) -> list[bytes]:
    """Bytes of all samples of a reader, to splice from."""
    return [data for sample in lab.samples(reader) for data in sample.files.values()]
