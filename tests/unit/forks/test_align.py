"""Alignment and reconvergence, for showing only."""

from __future__ import annotations

import itertools
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samework.forks.align import Span, after_fork, aligned
from tests.forklab import Made, completion, user

N_STEPS = 100_000
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
            assert np.array_equal(a[span.a_start : span.a_end], b[span.b_start : span.b_end])
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


def _edited() -> tuple[list, list]:
    a = list(range(N_STEPS))
    b = [n if n % 1000 else -n - 1 for n in a]
    b[50_000:50_000] = [-7] * 300
    return a, b


def _repeating() -> tuple[list, list]:
    """Each diagonal goes on for long, and none reaches the end: the most that the band lets be done."""
    a = (["ls"] * 999 + ["a"]) * 100
    b = (["ls"] * 990 + ["b"] * 10) * 100
    return a, b


def _unlike() -> tuple[list, list]:
    return list(range(N_STEPS)), list(range(N_STEPS, 2 * N_STEPS))


@pytest.mark.parametrize("made_of", [_edited, _repeating, _unlike])
def test_a_run_of_100000_steps_is_aligned_within_seconds_and_little_memory(made_of):
    a, b = _one_code(*made_of())
    start = time.process_time()
    tracemalloc.start()
    spans = aligned(a, b)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    check(a, b, spans)
    assert time.process_time() - start < 20
    assert peak < 64 << 20
    assert len(spans) > (90 if made_of is _edited else 0)


def _one_code(a: list, b: list) -> tuple[np.ndarray, np.ndarray]:
    codes = np.unique(np.array(a + b), return_inverse=True)[1]
    return codes[: len(a)], codes[len(a) :]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (["x", "p", "q"], ["y", "p", "q"], (1, 1, "actions")),
        (["x", "p", "q"], ["y", "z", "p", "q"], (1, 2, "actions")),
        (["p", "q"], ["p", "p", "q"], (1, 2, "actions")),
        (["x", "p"], ["x", "q"], None),
        (["x"], ["x"], None),
        (["x"], ["x", "p"], None),
        (["x", None], ["y", None], None),
    ],
)
def test_reconvergence_by_actions_is_the_step_after_which_calls_are_alike(made, first, second, expected):
    runs = [[user("u"), *(_step(word) for word in way)] for way in (first, second)]
    _, found = after_fork(made(Made("a", runs[0]), Made("b", runs[1])), 1, 2)
    assert (found and (found.step_a, found.step_b, found.by)) == expected


def _step(word: str | None):
    return completion("c") if word is None else completion("c", ("t", f'{{"do":"{word}"}}'))


def _working(name: str, *trees: str | None, left: str | None = None) -> Made:
    steps = (completion(name, ("t", f'"{name}"'), workspace_tree_oid=tree) for tree in trees)
    return Made(name, [user("u"), *steps], tree=left)


def test_reconvergence_by_workspace_where_every_step_has_one(made):
    _, found = after_fork(made(_working("a", "1", "2", "4"), _working("b", "1", "3", "3", "4")), 1, 2)
    assert (found.step_a, found.step_b, found.by) == (2, 3, "workspace")


def test_the_tree_that_a_run_left_is_the_state_after_its_last_step(made):
    apart = made(_working("a", "1", "2", "4", left="p"), _working("b", "1", "3", "4", left="q"))
    assert after_fork(apart, 1, 2)[1] is None
    at_last = made(_working("a", "1", "2", left="p"), _working("b", "1", "3", "3", left="p"))
    found = after_fork(at_last, 1, 2)[1]
    assert (found.step_a, found.step_b) == (2, 3)


def test_a_step_without_a_workspace_leaves_it_to_the_actions(made):
    found = after_fork(made(_working("a", "1", "2", "4"), _working("a2", "1", None, "4")), 1, 2)[1]
    assert found is None


def test_spans_are_told_in_steps_from_one(made):
    runs = [[user("u"), *(_step(word) for word in way)] for way in ("pqxs", "pqyzs")]
    spans, _ = after_fork(made(Made("a", runs[0]), Made("b", runs[1])), 1, 2)
    assert [(s.kind, s.a_step, s.n_a, s.b_step, s.n_b) for s in spans] == [
        ("equal", 1, 2, 1, 2),
        ("changed", 3, 1, 3, 2),
        ("equal", 4, 1, 5, 1),
    ]


def test_runs_without_a_call_have_nothing_to_lay_side_by_side(made):
    assert after_fork(made(Made("a", [completion("x")]), Made("b", [completion("y")])), 1, 2) == ((), None)
