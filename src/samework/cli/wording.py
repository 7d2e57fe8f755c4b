"""Sentences that commands share: what a class means, what a consequence means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from samework.model.words import Consequence, RunClass, Status

if TYPE_CHECKING:
    from samework.model.results import PairResult

CLASS_MEANS: Final = {
    RunClass.TOKEN: "the same tokens went in and out, and the same tree came of it",
    RunClass.TREE: "another path, the same tree",
    RunClass.TESTS: "another tree, the same test outcomes",
    RunClass.DIVERGENT: "another tree, and other test outcomes",
    RunClass.UNRESOLVED: "the evidence does not decide",
}
STATUS_MEANS: Final = {
    Status.ESTABLISHED: "nothing unknown could change this",
    Status.AT_LEAST: "what is unknown could only make it stronger",
    Status.PROVISIONAL: "it rests on something assumed or unrecorded",
    Status.UNRESOLVED: "",
}
CONSEQUENCE_MEANS: Final = {
    Consequence.COMPLETION_ONLY: "only the completion changed",
    Consequence.ABSORBED: "what was done changed, the tree did not",
    Consequence.TREE: "the tree changed, the tests did not",
    Consequence.TESTS: "the tests changed",
    Consequence.REVIEW: "a reviewer says that it matters",
    Consequence.UNKNOWN: "what came of it is unknown",
}


_EFFECT_MEANS: Final = {
    "consequential": "work changed, how far is not known",
    "absorbed": "the tree came out the same",
}


def consequence_means(consequence: Consequence, effect: str) -> str:
    """A few words on what came of a fork; an unknown consequence still says what is known of it."""
    if consequence is Consequence.UNKNOWN:
        return _EFFECT_MEANS.get(effect, CONSEQUENCE_MEANS[consequence])
    return CONSEQUENCE_MEANS[consequence]


def verdict_sentence(result: PairResult) -> str:
    """One sentence on a pair's class and how firmly it is held.

    A run without a tree by its kind is not said to have left one.
    """
    if result.run_class is RunClass.UNRESOLVED:
        return f"{CLASS_MEANS[result.run_class]}: it may be {listed([item.value for item in result.possible])}"
    means = CLASS_MEANS[result.run_class]
    if all(result.facets[name].verdict == "not_applicable" for name in ("tree", "tests") if name in result.facets):
        means = "the same tokens went in and out" if result.run_class is RunClass.TOKEN else means
    firm = STATUS_MEANS[result.status]
    return f"{means}; {firm}" if firm else means


def listed(words: list[str]) -> str:
    """`a`, `a or b`, `a, b or c`.

    >>> listed(["a", "b", "c"])
    'a, b or c'
    """
    return " or ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} or {words[-1]}"  # noqa: PLR2004
