"""Make the samples of the readers from what their tests write: few, small, together as wide as all of them.

Usage, from the root of the checkout:

    python -m pytest -q -p tests.fuzz.collect tests/readers tests/unit/ingest     # takes every source that is read
    python tests/fuzz/collect.py [READER ...]                                     # chooses, writes samples/<reader>/

A source is a candidate where its reader alone is sure of it and reads it without damage; of these the fewest are kept
that together run every line and yield every facet that any of them does. What lies in the shared data is never taken.
"""

from __future__ import annotations

import hashlib
import pickle
import re
import shutil
import sys
import tempfile
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from samework.decode.archive import CompressedSource, ZipSource  # noqa: E402
from samework.errors import InputError  # noqa: E402
from samework.ingest import registry  # noqa: E402
from tests.fuzz import lab  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from samework.model.reader import Source

TAKEN = Path(tempfile.gettempdir()) / "samework-taken"
MAX_BYTES, MAX_CANDIDATES, MAX_SAMPLES = 24_000, 1500, 12
MIN_NEW_LINES = 2
_MACHINE = re.compile(rb"/tmp/pytest-of-[^/]+/pytest-\d+/[^/\"']+|/(?:root|home)/[^\"']*?/lib/python3\.\d+")
"""Paths of the machine on which a test ran its tool."""
_OWN = str(ROOT / "src" / "samework")


def pytest_configure() -> None:
    """Take a copy of every source that a reader reads from here on."""
    for reader in registry.readers().values():
        kind: Any = type(reader)
        kind.read = _taking(kind.read)


def _taking(read: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(read)
    def taken(self: Any, source: Source) -> Any:
        take(self.name, source)
        return read(self, source)

    return taken


def take(reader: str, source: Source) -> None:
    """Keep a copy of a source that is small and ours."""
    if "shared" in Path(source.path).parts:
        return
    try:
        files = _files(source)
    except InputError:
        return
    if files is None or _is_shared(files):
        return
    whole = pickle.dumps(files)
    path = TAKEN / reader / hashlib.sha256(whole).hexdigest()[:24]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(whole)


def _files(source: Source) -> dict[str, bytes] | None:
    if isinstance(source, CompressedSource | ZipSource):
        source = source.packed
    if isinstance(source, CompressedSource | ZipSource):
        return None
    if source.is_dir:
        names = source.names()
        if len(names) > 40:
            return None
        files = {name: _data(child) for name in names if (child := source.child(name)) is not None}
    else:
        files = {lab.FILE: _data(source)}
    return files if sum(map(len, files.values())) <= MAX_BYTES else None


def _data(source: Source) -> bytes:
    with source.open() as stream:
        return stream.read(MAX_BYTES + 1)


@cache
def _shared_heads() -> frozenset[bytes]:
    shared = ROOT.parent / "shared" / "data"
    return frozenset(path.read_bytes()[:48] for path in shared.rglob("*") if path.is_file())


def _is_shared(files: dict[str, bytes]) -> bool:
    return any(len(data) > 48 and data[:48] in _shared_heads() for data in files.values())


def candidates(name: str) -> list[dict[str, bytes]]:
    """What was taken for a reader, smallest first, where it alone is sure of it and finds no damage."""
    found = []
    for path in (TAKEN / name).glob("*"):
        files = pickle.loads(path.read_bytes())  # we wrote it
        found.append((sum(map(len, files.values())), files))
    found.sort(key=lambda each: each[0])
    reader = registry.reader(name)
    kept = []
    for _, files in found:
        try:
            source = lab.source_of(files)
            sure = _claims(source)
            first = max(sure, key=lambda each: sure[each], default=None)
            if first != name or sorted(sure.values())[-2:-1] == [sure[name]]:
                continue
            if lab.has_damage(reader.read(source)):
                continue
        except InputError:
            continue
        kept.append(files)
    return kept[:MAX_CANDIDATES]


def _claims(source: Source) -> dict[str, float]:
    try:
        return lab.claims(source)
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError) as error:
        print(f"a reader's sniff fails: {error!r}")  # noqa: T201
        return {}


def covered(name: str, files: dict[str, bytes]) -> frozenset[Any]:
    """Lines of ours that reading the sample runs, and the facets that it yields."""
    reader = registry.reader(name)
    lines: set[Any] = set()

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(_OWN):
            return None
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    source = lab.source_of(files)
    sys.settrace(trace)
    try:
        records = list(reader.read(source))
    finally:
        sys.settrace(None)
    lines.update(f"facet {facet}" for facet in lab.facets_of(reader, source))
    lines.update(f"record {type(record).__name__}" for record in records)
    return frozenset(lines)


def chosen(name: str) -> list[dict[str, bytes]]:
    """The fewest candidates that together run what all of them run."""
    found = [(files, covered(name, files)) for files in candidates(name)]
    kept: list[dict[str, bytes]] = []
    seen: set[Any] = set()
    while found and len(kept) < MAX_SAMPLES:
        files, lines = max(found, key=lambda each: _gain(each[1] - seen))
        if _gain(lines - seen) < MIN_NEW_LINES:
            break
        kept.append(files)
        seen |= lines
    return kept


def _gain(lines: set[Any] | frozenset[Any]) -> int:
    return sum(100 if isinstance(each, str) else 1 for each in lines)


def suffix(files: dict[str, bytes]) -> str:
    """An ending that lets people open a sample; nothing reads it."""
    data = files.get(lab.FILE)
    if data is None:
        return ""
    for magic, ending in ((b"PK", ".zip"), (b"\x1f\x8b", ".gz"), (b"\x28\xb5", ".zst"), (b"<", ".xml")):
        if data.lstrip().startswith(magic):
            return ending
    if data.lstrip().startswith((b"{", b"[", b"\xef\xbb\xbf")):
        return ".jsonl" if len(data.strip().splitlines()) > 1 and data.startswith(b"{") else ".json"
    return ".txt"


def main(asked: list[str]) -> None:
    for name in asked or registry.names():
        kept = chosen(name)
        if not kept:
            print(f"{name:20} nothing was taken; its samples stay")  # noqa: T201
            continue
        folder = lab.SAMPLES / name
        for old in folder.glob("made-*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        for number, files in enumerate(kept):
            scrubbed = {inner: _MACHINE.sub(b"/w", data) for inner, data in files.items()}
            lab.write_sample(folder, f"made-{number:02}{suffix(files)}", scrubbed)
        n_bytes = sum(len(data) for files in kept for data in files.values())
        print(f"{name:20} {len(kept):3} samples, {n_bytes:7} bytes")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
