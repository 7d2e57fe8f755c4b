"""Alignment and reconvergence, for showing only."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samework.forks.align import Span, aligned, reconvergence
from tests.forklab import Made, completion, user

words = st.lists(st.sampled_from("abc"), max_size=12)


def changed(spans: list[Span]) -> int:
    return sum(s.a_end - s.a_start + s.b_end - s.b_start for s in spans if s.kind == "changed")


def shortest_script(a: list, b: list) -> int:
    """Deletions plus insertions, by dynamic programming."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], last if x == y else 1 + min(row[j], row[j - 1])
    return row[-1]


def check(a, b, spans: list[Span]) -> None:
    """Spans cover both sequences in order, and equal ones are equal."""
    at = (0, 0)
    for span in spans:
        assert (span.a_start, span.b_start) == at
        if span.kind == "equal":
            assert list(a[span.a_start : span.a_end]) == list(b[span.b_start : span.b_end])
        at = (span.a_end, span.b_end)
    assert at == (len(a), len(b))
    assert all(one.kind != other.kind for one, other in itertools.pairwise(spans))


@given(words, words)
def test_alignment_is_a_shortest_script(a, b):
    spans = aligned(a, b)
    check(a, b, spans)
    assert changed(spans) == shortest_script(a, b)


@given(words, words, st.integers(0, 4))
def test_a_narrow_band_still_covers_both(a, b, band):
    check(a, b, aligned(a, b, band=band))


def test_a_run_of_100000_steps_is_aligned():
    a = list(range(100_000))
    b = [n if n % 1000 else -n - 1 for n in a]
    b[50_000:50_000] = [-7] * 300
    start = time.perf_counter()
    spans = aligned(a, b)
    check(a, b, spans)
    assert time.perf_counter() - start < 10
    assert len(spans) > 90


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (["x", "p", "q"], ["y", "p", "q"], (2, 2, "actions")),
        (["x", "p", "q"], ["y", "z", "p", "q"], (2, 3, "actions")),
        (["x", "p"], ["x", "q"], None),
        (["x"], ["x"], None),
    ],
)
def test_reconvergence_by_actions(made, first, second, expected):
    runs = [[user("u"), *(completion("c", ("t", f'{{"do":"{word}"}}')) for word in way)] for way in (first, second)]
    found = reconvergence(made(Made("a", runs[0]), Made("b", runs[1])), 1, 2)
    assert (found and (found.step_a, found.step_b, found.by)) == expected


def test_reconvergence_by_workspace_where_every_step_has_one(made):
    def run(name: str, *trees: str) -> Made:
        return Made(name, [user("u"), *(completion(name, ("t", f'"{name}"'), workspace_tree_oid=t) for t in trees)])

    found = reconvergence(made(run("a", "1", "2", "4"), run("b", "1", "3", "3", "4")), 1, 2)
    assert (found.step_a, found.step_b, found.by) == (3, 4, "workspace")
