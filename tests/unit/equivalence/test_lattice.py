"""The truth table of EQUIVALENCE 2: 27 combinations, and 9 for kinds of run that have no tree."""

from __future__ import annotations

from itertools import product

import pytest

from samework.equivalence.lattice import place
from samework.model.words import RunClass, Status, Verdict

S, D, U, NA = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNKNOWN, Verdict.NOT_APPLICABLE
TOKEN, TREE, TESTS, DIV, NONE = RunClass.TOKEN, RunClass.TREE, RunClass.TESTS, RunClass.DIVERGENT, RunClass.UNRESOLVED
EST, LEAST, PROV, OPEN = Status.ESTABLISHED, Status.AT_LEAST, Status.PROVISIONAL, Status.UNRESOLVED

# (tokens, tree, tests): class, status, anomalies, possible (None: not stated by the table)
TABLE = {
    (S, S, S): (TOKEN, EST, ()), (S, S, D): (TOKEN, EST, ("A2",)), (S, S, U): (TOKEN, EST, ()),
    (D, S, S): (TREE, EST, ()), (D, S, D): (TREE, EST, ("A2",)), (D, S, U): (TREE, EST, ()),
    (U, S, S): (TREE, LEAST, ()), (U, S, D): (TREE, LEAST, ("A2",)), (U, S, U): (TREE, LEAST, ()),
    (S, D, S): (TESTS, EST, ("A1",)), (D, D, S): (TESTS, EST, ()), (U, D, S): (TESTS, EST, ()),
    (S, D, D): (DIV, EST, ("A1",)), (D, D, D): (DIV, EST, ()), (U, D, D): (DIV, EST, ()),
    (S, D, U): (NONE, OPEN, ("A1",)), (D, D, U): (NONE, OPEN, ()), (U, D, U): (NONE, OPEN, ()),
    (S, U, S): (TOKEN, PROV, ()), (S, U, U): (TOKEN, PROV, ()), (S, U, D): (NONE, OPEN, ("A3",)),
    (D, U, S): (TESTS, LEAST, ()), (U, U, S): (TESTS, LEAST, ()),
    (D, U, D): (DIV, PROV, ()), (U, U, D): (DIV, PROV, ()),
    (D, U, U): (NONE, OPEN, ()), (U, U, U): (NONE, OPEN, ()),
}  # fmt: skip
POSSIBLE = {
    (S, D, U): (TESTS, DIV), (D, D, U): (TESTS, DIV), (U, D, U): (TESTS, DIV),
    (S, U, D): (TOKEN, DIV), (D, U, U): (TREE, TESTS, DIV), (U, U, U): (TOKEN, TREE, TESTS, DIV),
    (U, S, U): (TOKEN, TREE), (D, U, D): (DIV,), (U, U, D): (DIV,),
}  # fmt: skip
TEXT_ONLY = {
    (S, NA, S): (TOKEN, EST, ()), (S, NA, D): (TOKEN, EST, ("A3",)), (S, NA, U): (TOKEN, EST, ()),
    (D, NA, S): (TESTS, EST, ()), (D, NA, D): (DIV, EST, ()), (D, NA, U): (NONE, OPEN, ()),
    (U, NA, S): (TESTS, LEAST, ()), (U, NA, D): (NONE, OPEN, ()), (U, NA, U): (NONE, OPEN, ()),
}  # fmt: skip


def test_the_table_names_every_combination() -> None:
    assert set(TABLE) == set(product((S, D, U), repeat=3))
    assert set(TEXT_ONLY) == {(t, NA, s) for t, s in product((S, D, U), repeat=2)}


@pytest.mark.parametrize("verdicts", [*TABLE, *TEXT_ONLY], ids="-".join)
def test_class_status_and_anomalies_are_those_of_the_table(verdicts: tuple[Verdict, Verdict, Verdict]) -> None:
    found = place(*verdicts)
    assert (found.run_class, found.status, found.anomalies) == (TABLE | TEXT_ONLY)[verdicts]


@pytest.mark.parametrize(("verdicts", "possible"), POSSIBLE.items(), ids=str)
def test_possible_classes_are_those_over_all_completions(
    verdicts: tuple[Verdict, Verdict, Verdict], possible: tuple[RunClass, ...]
) -> None:
    assert place(*verdicts).possible == possible


@pytest.mark.parametrize("verdicts", [*TABLE, *TEXT_ONLY], ids="-".join)
def test_what_rests_on_an_assumption_is_at_most_provisional(verdicts: tuple[Verdict, Verdict, Verdict]) -> None:
    strong, weak = place(*verdicts), place(*verdicts, weak=True)
    assert weak.run_class is strong.run_class
    assert weak.status in (Status.PROVISIONAL, Status.UNRESOLVED)


@pytest.mark.parametrize("verdicts", [*TABLE, *TEXT_ONLY], ids="-".join)
def test_a_class_is_always_one_of_the_possible_ones(verdicts: tuple[Verdict, Verdict, Verdict]) -> None:
    found = place(*verdicts)
    assert found.run_class is NONE or found.run_class in found.possible
    assert (found.run_class is NONE) == (found.status is OPEN)
