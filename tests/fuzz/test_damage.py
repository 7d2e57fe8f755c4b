"""Every reader of the registry on damaged samples: records or a refusal, whole records kept, never a traceback."""

from __future__ import annotations

import json
import random
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from samework.errors import InputError
from samework.ingest import registry
from tests.fuzz import lab, mutate

READERS = sorted(registry.BUILT_IN)
ALL = [found for name in READERS if (found := lab.samples(name))]
by_reader = pytest.mark.parametrize("name", READERS)
MAX_PEAK_BYTES = 64 << 20
"""For inputs of at most half a megabyte; the buffers of streams are the most of it."""
N_MISTYPED = 80
"""Draws for each sample, which are small: most places are met with most types."""
FEW = settings(
    max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
"""The same examples each time: the suite says whether a known fault is back; bench/fuzz.py looks for new ones."""


def files_of(name: str) -> list[lab.Sample]:
    return [sample for sample in lab.samples(name) if not sample.is_dir]


def is_lines(data: bytes) -> bool:
    """JSON Lines: each line by itself an object, and more than one."""
    lines = data.splitlines()
    try:
        return len(lines) > 1 and all(isinstance(json.loads(line), dict) for line in lines if line.strip())
    except ValueError:
        return False


@by_reader
def test_every_reader_has_samples_that_it_reads_without_damage(name):
    found = lab.samples(name)
    assert found, f"no sample: write tests/readers/test_{name}.py, then see tests/fuzz/collect.py"
    for sample in found:
        records = lab.judged(registry.reader(name), sample.files)
        assert records is not None, sample.name
        assert not lab.has_damage(records), sample.name


@by_reader
def test_a_cut_takes_nothing_from_the_whole_records_before_it(name):
    reader, rng = registry.reader(name), random.Random(name)
    for sample in files_of(name):
        data = sample.data
        if not is_lines(data):
            continue
        ends = [at + 1 for at, byte in enumerate(data) if byte == 0x0A]
        for start, end in zip([0, *ends], [*ends, len(data)], strict=True):
            whole = lab.judged(reader, {lab.FILE: data[:start]})
            cut = lab.judged(reader, {lab.FILE: data[: rng.randint(start, max(end - 2, start))]})
            if whole is not None:
                assert cut is not None
                n_whole = len(lab.events_of(whole))
                assert lab.events_of(cut)[:n_whole] == lab.events_of(whole), f"{sample.name}, byte {start}"


@by_reader
def test_a_cut_file_is_refused_or_says_that_it_is_cut(name):
    reader, rng = registry.reader(name), random.Random(name)
    for sample in files_of(name):
        data = sample.data.rstrip()
        is_json = data.startswith((b"{", b"["))
        for at in sorted({rng.randrange(len(data)) for _ in range(40)}):
            records = lab.judged(reader, {lab.FILE: data[:at]})
            inside = is_json and not is_whole(data[:at])
            assert records is None or not inside or lab.has_damage(records), f"{sample.name}, byte {at}"


def is_whole(data: bytes) -> bool:
    """Nothing, or a number of whole lines of JSON."""
    try:
        for line in data.splitlines():
            if line.strip():
                json.loads(line)
    except ValueError:
        return False
    return True


@by_reader
@FEW
@given(seed=st.integers(0, 2**32 - 1))
def test_anything_may_stand_in_the_place_of_anything(name, seed):
    rng = random.Random(seed)
    sample = rng.choice(lab.samples(name))
    lab.judged(registry.reader(name), mutate.mutant_files(rng, sample.files, mutate.others_of(name)))


@by_reader
def test_a_value_of_any_type_may_stand_in_any_place(name):
    """A list where a word should be is damage, and no error of the table that is asked for it."""
    reader, rng = registry.reader(name), random.Random(name)
    for sample in lab.samples(name):
        for _ in range(N_MISTYPED):
            inner = rng.choice(sorted(sample.files))
            data = mutate.mistyped(rng, sample.files[inner])
            if data is not None:
                lab.judged(reader, {**sample.files, inner: data})


@by_reader
def test_a_number_of_any_size_may_stand_in_the_place_of_any_number(name):
    """What no double holds is no number, and no clock shows it."""
    reader = registry.reader(name)
    for sample in lab.samples(name):
        for inner in sorted(sample.files):
            for _, data in mutate.numbered(sample.files[inner]):
                lab.judged(reader, {**sample.files, inner: data})


@by_reader
@FEW
@given(seed=st.integers(0, 2**32 - 1))
def test_a_reader_that_is_told_to_read_another_format_reads_it_or_refuses(name, seed):
    """What `--format` allows."""
    rng = random.Random(seed)
    lab.judged(registry.reader(name), rng.choice(rng.choice(ALL)).files)


@by_reader
@pytest.mark.parametrize(
    "data",
    [
        b"", b"\n\n", b"null", b"[]", b"{}", b"[{}]", b"[[]]", b'"x"', b"0", b"\x00" * 64, b"\xef\xbb\xbf",
        b"\xff\xfe{\x00", b"[" * 100_000,
        b'{"a":' * 100_000, b"\xed\xa0\x80", b"PK\x03\x04", b"PK\x05\x06" + b"\x00" * 18, b"\x1f\x8b",
        b"\x28\xb5\x2f\xfd", b"<", b"<?xml", b"<testsuite/>", b"9" * 6000, b'{"a": 1}\r{"a": 1}',
    ],
    ids=repr,
)  # fmt: skip
def test_bytes_of_no_format_are_refused_or_named_in_little_memory(name, data):
    tracemalloc.start()
    try:
        lab.judged(registry.reader(name), {lab.FILE: data})
        assert tracemalloc.get_traced_memory()[1] < MAX_PEAK_BYTES
    finally:
        tracemalloc.stop()


@by_reader
def test_memory_is_of_the_order_of_a_damaged_sample(name):
    reader, rng, others = registry.reader(name), random.Random(name), mutate.others_of(name)
    tracemalloc.start()
    try:
        for sample in lab.samples(name)[:3]:
            for _ in range(5):
                tracemalloc.reset_peak()
                lab.judged(reader, mutate.mutant_files(rng, sample.files, others))
                assert tracemalloc.get_traced_memory()[1] < MAX_PEAK_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.shared
@by_reader
def test_real_files_are_survived_when_damaged(shared_path, name):
    """Samples of the shared data that this reader claims, a few of each, cut and changed."""
    reader, rng = registry.reader(name), random.Random(name)
    for path in claimed(shared_path("data"), name)[:4]:
        data = path.read_bytes()
        for _ in range(3):
            lab.judged(reader, {lab.FILE: data[: rng.randrange(len(data) + 1)]})
            lab.judged(reader, {lab.FILE: mutate.mutant(rng, data)})


def claimed(folder, name):
    """Files below the folder, up to 200 kB, that the reader is surest of."""
    paths = sorted((folder / "formats").rglob("*")) + sorted((folder / "test-reports").rglob("*"))
    return [path for path in paths if path.is_file() and path.stat().st_size <= 200_000 and _surest(path) == name]


_CLAIMS: dict[str, str | None] = {}


def _surest(path):
    if str(path) not in _CLAIMS:
        try:
            sure = lab.claims(lab.source_of({lab.FILE: path.read_bytes()}))
        except InputError:
            sure = {}
        _CLAIMS[str(path)] = max(sure, key=sure.get, default=None)
    return _CLAIMS[str(path)]
