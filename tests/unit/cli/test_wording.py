"""Sentences about a class say no more than the verdicts do."""

from __future__ import annotations

from samework.cli.wording import CLASS_MEANS, CONSEQUENCE_MEANS, STATUS_MEANS, listed, verdict_sentence
from samework.model.results import FacetVerdict, PairResult
from samework.model.words import Consequence, RunClass, Status, Verdict


def pair(run_class: RunClass, status: Status, possible: tuple[RunClass, ...], verdict: Verdict) -> PairResult:
    facets = {name: FacetVerdict(verdict, "r") for name in ("tokens", "tree", "tests")}
    return PairResult("a", "b", "t", run_class, status, possible, (), facets)


def test_every_class_status_and_consequence_has_words() -> None:
    assert set(CLASS_MEANS) == set(RunClass)
    assert set(STATUS_MEANS) == set(Status)
    assert set(CONSEQUENCE_MEANS) == set(Consequence)


def test_an_unresolved_pair_names_the_classes_it_may_be() -> None:
    result = pair(RunClass.UNRESOLVED, Status.UNRESOLVED, (RunClass.TESTS, RunClass.DIVERGENT), Verdict.UNKNOWN)
    assert verdict_sentence(result).endswith("it may be tests-identical or divergent")


def test_a_pair_of_a_kind_without_tree_is_not_said_to_have_one() -> None:
    result = pair(RunClass.TOKEN, Status.ESTABLISHED, (RunClass.TOKEN,), Verdict.NOT_APPLICABLE)
    assert "tree" not in verdict_sentence(result)


def test_words_are_listed_with_or() -> None:
    assert [listed(list("abc")[:n]) for n in (1, 2, 3)] == ["a", "a or b", "a, b or c"]
