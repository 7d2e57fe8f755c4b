"""docs/formats.md says what the readers say, and the readers say what they yield: no facet more, and none less."""

from __future__ import annotations

import csv
import importlib.util
from contextlib import suppress
from functools import cache

import pytest

from samework.errors import InputError
from samework.ingest import registry
from samework.model.reader import Evidence
from tests.conftest import ROOT, SHARED
from tests.fuzz import lab

READERS = sorted(registry.BUILT_IN)
FACETS = Evidence.__struct_fields__
by_reader = pytest.mark.parametrize("name", READERS)
NOT_EXACT = frozenset({"decoded"})
"""What a reader may say of raw arguments that it can give no more; then no sample may yield exact ones."""


def said(name: str, facet: str) -> str:
    return getattr(registry.reader(name).evidence, facet)


@cache
def made_facets(name: str) -> frozenset[str]:
    """Facets that the samples in the suite yield."""
    reader = registry.reader(name)
    return frozenset(facet for sample in lab.samples(name) for facet in lab.facets_of(reader, sample.source()))


@cache
def real_facets(name: str) -> frozenset[str]:
    """Facets that files of the shared data yield; none where it is absent."""
    found: set[str] = set()
    for path in real_files().get(name, ()):
        with suppress(InputError):  # a file of a test suite may be a damaged one
            found |= lab.facets_of(registry.reader(name), lab.source_of({lab.FILE: path.read_bytes()}))
    return frozenset(found)


@cache
def synthetic():
    """Names of the files that no tool wrote, by the list of the shared data."""
    listed = SHARED / "data" / "formats" / "SOURCES.tsv"
    with listed.open(encoding="utf-8", newline="") as lines:
        return {row["file"] for row in csv.DictReader(lines, delimiter="\t") if "synthetic" in (row["kind"] or "")}


@cache
def real_files():
    found = {}
    for folder in ("formats", "test-reports"):
        for path in sorted((SHARED / "data" / folder).rglob("*")):
            name = path.relative_to(SHARED / "data" / folder).as_posix()
            if not path.is_file() or path.stat().st_size > 1_500_000 or name in synthetic():
                continue
            try:
                sure = lab.claims(lab.source_of({lab.FILE: path.read_bytes()}))
            except InputError:
                continue
            if sure and max(sure.values()) >= 0.3:
                found.setdefault(max(sure, key=sure.get), []).append(path)
    return found


@by_reader
def test_a_facet_that_a_format_is_said_to_give_is_yielded_by_a_sample(name):
    missing = {
        facet: said(name, facet)
        for facet in FACETS
        if said(name, facet) not in {"no", *NOT_EXACT} and facet not in made_facets(name)
    }
    assert not missing


@by_reader
def test_a_facet_that_a_format_is_said_not_to_give_is_yielded_by_none(name):
    denied = {facet for facet in FACETS if said(name, facet) in {"no", *NOT_EXACT}}
    assert not denied & made_facets(name)


@pytest.mark.shared
@by_reader
def test_real_files_yield_no_facet_that_is_denied(shared_path, name):
    shared_path("data", "formats")
    denied = {facet for facet in FACETS if said(name, facet) in {"no", *NOT_EXACT}}
    assert not denied & real_facets(name)


@pytest.mark.shared
@by_reader
def test_a_reader_is_called_proven_only_where_a_real_file_was_read(shared_path, name):
    """A reader of ours alone (a bundle, its events, predictions) is proven by what this program and its users write."""
    shared_path("data", "formats")
    if name in real_files():
        assert registry.reader(name).proven, [path.name for path in real_files()[name]]
    elif name not in {"bundle", "events_jsonl", "swebench_report", "swebench_log"}:
        assert not registry.reader(name).proven


def test_the_page_is_what_the_readers_say():
    spec = importlib.util.spec_from_file_location("make_formats", ROOT / "docs" / "make_formats.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), "make docs writes docs/formats.md anew"
