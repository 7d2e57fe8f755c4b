"""The parsers beside the readers keep their promises on damaged texts of their own kind."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz import mutate, parsers

FEW = settings(max_examples=150, deadline=None, derandomize=True, database=None)


@pytest.mark.parametrize("name", sorted(parsers.TARGETS))
@FEW
@given(seed=st.integers(0, 2**32 - 1))
def test_damaged_text_breaks_no_promise(name, seed):
    rng = random.Random(seed)
    texts = parsers.seeds(name)
    parsers.TARGETS[name](mutate.mutant(rng, rng.choice(texts), texts))


@pytest.mark.parametrize("name", sorted(parsers.TARGETS))
@FEW
@given(data=st.binary(max_size=200))
def test_any_bytes_break_no_promise(name, data):
    parsers.TARGETS[name](data)
