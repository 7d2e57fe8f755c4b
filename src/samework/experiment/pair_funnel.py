"""The funnel of pairs: other tokens, another tool call, another tree, other tests, a reviewer who says it matters.

Every pair is counted once at each stage, from groupings and linear in runs; the pairs that digests do not decide, and
those that were reviewed, are put right one by one. What is unknown at a stage stays unknown behind it, never dropped.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from samework.equivalence.components import State, tests_verdict, tokens_verdict, tree_verdict
from samework.equivalence.counts import Selection, recorded_facets, state_counts
from samework.equivalence.judge import judge
from samework.equivalence.signatures import (
    Signatures,
    corrections,
    load_exceptions,
    load_signatures,
    prepare,
    treeless_tasks,
)
from samework.forks.reviews import read_reviews
from samework.model.funnel import Funnel, FunnelStage
from samework.model.words import Facet, Verdict
from samework.store.sql import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from samework.equivalence.signatures import RunSignature
    from samework.forks.reviews import Review
    from samework.store.connection import StoreHandle

_S, _D, _U, _NA = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNKNOWN, Verdict.NOT_APPLICABLE
_IDLE: Final = "idle"
_FACETS: Final = (Facet.TOKENS, Facet.ACTIONS, Facet.TREE, Facet.TESTS)
STAGES: Final = (
    "other tokens",
    "another tool call",
    "another tree",
    "other test outcomes",
    "a reviewer says it matters",
)
_OF_STATE = {State.EQUAL: _S, State.UNEQUAL: _D, State.INCOMPARABLE: _U}
# What reviewers say, as a verdict on "does it matter": different is yes. Disputed, unsure and unreviewed are unknown.
_OF_REVIEW: Final[dict[str | None, Verdict]] = {"matters": _D, "no-matter": _S}

Vector = tuple[Verdict, ...]


def pair_funnel(
    handle: StoreHandle,
    *,
    task: str | None = None,
    arms: Sequence[str] | None = None,
    across: tuple[str, str] | None = None,
    strict: bool = False,
) -> Funnel:
    """Count all pairs of a selection at each stage; see `count_pairs` for the arguments."""
    prepare(handle, task=task, strict=strict)
    selection = Selection(arms=arms, across=across)
    treeless = treeless_tasks(handle)
    counts: Counter[Vector] = Counter()
    handle.db.execute(f"create or replace temp table signature as {load('samework.experiment', 'sql/funnel_idle')}")
    idle = recorded_facets(handle, [_IDLE])
    for name, states, n_pairs in state_counts(handle, selection, beside=(Facet.ACTIONS.value, *idle)):
        counts[(*_of_states(states, applies=name not in treeless), _U)] += n_pairs
    reviews = read_reviews(handle, task)
    exceptions = load_exceptions(handle, task=task, strict=strict)
    n_disputed = 0
    if reviews or exceptions.pairs():
        signed = load_signatures(handle, task=task, strict=strict, prepared=True)
        n_disputed = _put_right(counts, signed, reviews, selection)
    return Funnel(sum(counts.values()), _stages(counts), n_disputed)


def _of_states(states: Mapping[str, State], *, applies: bool) -> Vector:
    tree, _ = tree_verdict(states, applies=applies)
    idle = states.get(_IDLE) is State.EQUAL
    actions = _NA if idle else _OF_STATE[states[Facet.ACTIONS.value]]
    return (tokens_verdict(states)[0], actions, tree, tests_verdict(states)[0])


def _of_pair(a: RunSignature, b: RunSignature, signatures: Signatures) -> Vector:
    facets = judge(a, b, signatures).facets
    return tuple(
        _NA if facets[facet].vacuous and facet is Facet.ACTIONS else facets[facet].verdict for facet in _FACETS
    )


def _put_right(
    counts: Counter[Vector], signed: Signatures, reviews: Mapping[tuple[int, int], Review], selection: Selection
) -> int:
    """Take each explicit or reviewed pair out as its digests alone would have it, put it in as it is; n disputed."""
    n_disputed = 0
    for a, b, signatures, sign in corrections(signed, signed.exceptions.pairs() | set(reviews)):
        if not selection.holds(a.arm, b.arm):
            continue
        review = reviews.get((a.run_key, b.run_key)) if sign > 0 else None
        said = review.says if review is not None else None
        n_disputed += said == "disputed"
        counts[(*_of_pair(a, b, signatures), _OF_REVIEW.get(said, _U))] += sign
    return n_disputed


def _stages(counts: Counter[Vector]) -> tuple[FunnelStage, ...]:
    found = []
    for place, stage in enumerate(STAGES):
        here: Counter[Verdict] = Counter()
        reached: Counter[Verdict] = Counter()
        for vector, n_pairs in counts.items():
            here[vector[place]] += n_pairs
            reached[_through(vector[:place], vector[place])] += n_pairs
        found.append(FunnelStage(stage, here[_D], here[_S], here[_U], here[_NA], reached[_D], reached[_U]))
    return tuple(found)


def _through(before: Vector, here: Verdict) -> Verdict:
    """Strong Kleene over the stages that apply: different where all are, same where one is, else unknown.

    A stage before that does not apply is passed by: calls where none were made, the tree of a run that leaves none.
    """
    if here in (_S, _NA) or _S in before:
        return _S
    return _U if _U in (*before, here) else _D
