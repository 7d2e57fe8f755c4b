"""Which reader is asked: one and one only for each sample, whatever the others make of it."""

from __future__ import annotations

import random

import pytest

from samework.errors import InputError
from samework.ingest import registry
from samework.ingest.detect import MIN_CONFIDENCE, detect
from tests.fuzz import lab, mutate

READERS = sorted(registry.BUILT_IN)
by_reader = pytest.mark.parametrize("name", READERS)


@by_reader
def test_one_reader_is_surest_of_a_sample(name):
    for sample in lab.samples(name):
        source = sample.source()
        assert detect(source).name == name, sample.name
        sure = lab.claims(source)
        rest = {other: value for other, value in sure.items() if other != name}
        assert sure[name] >= MIN_CONFIDENCE
        assert all(value < sure[name] for value in rest.values()), (sample.name, rest)


@by_reader
def test_no_reader_fails_to_say_whether_a_damaged_sample_is_its_own(name):
    rng, others = random.Random(name), mutate.others_of(name)
    for sample in lab.samples(name):
        for _ in range(12):
            try:
                source = lab.source_of(mutate.mutant_files(rng, sample.files, others))
                head = source.head()
            except InputError:
                continue
            for reader in registry.readers().values():
                assert 0 <= reader.sniff(head, source) <= 1
