"""Margins at the forking token: a near tie that flipped, one that may have, and none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samework.canon.digester import ids_bytes
from samework.forks import first_divergence, forks
from samework.forks.margins import TokenRow, token_parting
from samework.ingest.fold import floats_bytes
from tests.forklab import Made, completion


def turn(text: str, ids: tuple[int, ...] | None, margins: tuple[float, ...], unit: str = "nats", **rest):
    return completion(text, prompt_token_ids=(1, 2), token_ids=ids, margins=margins, margin_unit=unit, **rest)


NEAR = "0.25, 0.125 nats, each at most the declared 0.5"
FLIPPED = f"{NEAR}, and each took the other's second: a near tie flipped"
LOOK = "no near tie, look for a difference of input or state"
TEXTS_A = (("so", "so", "as"), ("yes", "yes", "no"))
TEXTS_B = (("so", "so", "as"), ("no", "no", "yes"))
CASES = {
    "flip": (
        turn("a", (5, 6, 7), (3.0, 0.25, 1.0), top2=((5, 9), (6, 8), (7, 1))),
        turn("b", (5, 8), (3.0, 0.125), top2=((5, 9), (8, 6))),
        "near_tie_flip",
        FLIPPED,
    ),
    "unranked": (
        turn("a", (5, 6), (3.0, 0.25)),
        turn("b", (5, 8), (3.0, 0.125)),
        "near_tie",
        f"{NEAR}: a near tie (whether each took the other's second is unrecorded)",
    ),
    "ranked on one side": (
        turn("a", (5, 6), (3.0, 0.25), top2=((5, 9), (6, 8))),
        turn("b", (5, 8), (3.0, 0.125), top2=((5, 9), None)),
        "near_tie",
        f"{NEAR}: a near tie (whether each took the other's second is unrecorded)",
    ),
    "third choice": (
        turn("a", (5, 6), (3.0, 0.25), top2=((5, 9), (6, 9))),
        turn("b", (5, 8), (3.0, 0.125)),
        "large_margin",
        f"{NEAR}, but a choice is not among the other's two likeliest: {LOOK}",
    ),
    "large": (
        turn("a", (5, 6), (3.0, 0.25), top2=((5, 9), (6, 8))),
        turn("b", (5, 8), (3.0, 0.75), top2=((5, 9), (8, 6))),
        "large_margin",
        f"0.25, 0.75 nats, not all at most the declared 0.5: {LOOK}",
    ),
    "other units": (
        turn("a", (5, 6), (3.0, 0.25)),
        turn("b", (5, 8), (3.0, 0.125), "logits"),
        None,
        "0.25, 0.125 at the forking token, in different units or none",
    ),
    "one is the beginning of the other": (
        turn("a", (5, 6), (3.0, 0.25)),
        turn("b", (5,), (3.0,)),
        None,
        "unrecorded at the forking token",
    ),
    "texts instead of ids": (
        turn("a", None, (3.0, 0.25), top2_texts=TEXTS_A),
        turn("b", None, (3.0, 0.125), top2_texts=TEXTS_B),
        "near_tie_flip",
        f"{FLIPPED}; the place is told by the tokens' text, for ids are unrecorded",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_finding_and_words_follow_from_margins_and_ranks(made, case):
    a, b, finding, words = CASES[case]
    handle = made(Made("x", [a]), Made("y", [b]))
    (node,) = forks(handle)
    assert (node.margin_finding, node.margin_evidence, node.token_offset) == (finding, words, 1)
    place = first_divergence(handle, 1, 2)
    assert (place.margin_finding, place.margin_evidence, place.token_offset) == (finding, words, 1)
    assert (place.margin_a, place.margin_b) == tuple(branch.margin for branch in node.branches)


def test_margins_of_a_pair_are_told_in_the_order_in_which_it_was_named(made):
    handle = made(Made("x", [CASES["flip"][0]]), Made("y", [CASES["flip"][1]]))
    place = first_divergence(handle, 2, 1)
    assert (place.margin_a, place.margin_b, place.margin_evidence[:11]) == (0.125, 0.25, "0.125, 0.25")


def test_the_limit_is_the_declared_one(made):
    handle = made(Made("x", [CASES["large"][0]]), Made("y", [CASES["large"][1]]))
    (node,) = forks(handle, near_tie=0.75)
    assert (node.margin_finding, node.near_tie_nats) == ("near_tie_flip", 0.75)
    assert "the declared 0.75" in node.margin_evidence
    assert first_divergence(handle, 1, 2, near_tie=0.1).margin_finding == "large_margin"


def test_equal_texts_up_to_an_unrecorded_token_place_no_fork():
    rows = [TokenRow(texts=json.dumps([["a", "a", "b"], None, [word, word, "z"]])) for word in "pq"]
    assert token_parting(rows) is None


token = st.integers(0, 3)
side = st.tuples(token, st.floats(0, 1, width=16), st.one_of(st.none(), st.tuples(token, token)))


@given(st.lists(side, min_size=2, max_size=4))
def test_finding_equals_its_definition_by_pairs(sides):
    rows = [
        TokenRow(ids_bytes([one[0]]), floats_bytes((one[1],)), "nats", ids_bytes(list(one[2] or (-1, -1))))
        for one in sides
    ]
    found = token_parting(rows)
    chosen = [one[0] for one in sides]
    if len(set(chosen)) == 1:
        assert found is None
        return
    inside = [
        None if other[2] is None else one[0] in other[2] for one in sides for other in sides if one[0] != other[0]
    ]
    if max(one[1] for one in sides) > 0.5 or False in inside:
        assert found.finding == "large_margin"
    else:
        assert found.finding == ("near_tie" if None in inside else "near_tie_flip")
