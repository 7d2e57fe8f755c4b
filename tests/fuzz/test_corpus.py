"""Faults that fuzzing found, kept as the bytes that showed them: none comes back.

A file is below `corpus/<reader>/`, or below `corpus/<target>/` for a parser that is no reader; see `parsers.py`.
"""

from __future__ import annotations

import pytest

from samework.ingest import registry
from tests.fuzz import lab, parsers

FOUND = [
    (folder.name, sample) for folder in sorted(lab.CORPUS.glob("*/")) for sample in lab.samples(folder.name, lab.CORPUS)
]


def test_the_corpus_names_readers_and_parsers_that_exist():
    assert {name for name, _ in FOUND} <= {*registry.names(), *parsers.TARGETS}


@pytest.mark.parametrize(("name", "sample"), FOUND, ids=lambda each: getattr(each, "name", each))
def test_a_fault_that_was_found_stays_mended(name, sample):
    if name in parsers.TARGETS:
        parsers.TARGETS[name](sample.data)
        return
    lab.judged(registry.reader(name), sample.files)
    for reader in registry.readers().values():
        try:
            source = sample.source()
            head = source.head()
        except lab.InputError:
            return
        assert 0 <= reader.sniff(head, source) <= 1
