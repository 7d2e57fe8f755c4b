"""The funnel counts every pair at each stage as judging pairs one by one does; unknown stays unknown behind it."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from samework.equivalence.counts import Selection
from samework.equivalence.judge import judge
from samework.equivalence.signatures import load_signatures
from samework.experiment.pair_funnel import pair_funnel
from samework.model.funnel import FunnelStage
from samework.model.words import Facet, Verdict
from samework.store import sql
from tests.lab import Lab, Report, Run

if TYPE_CHECKING:
    from samework.model.funnel import Funnel

GREEN, RED = Report({"a": "passed"}), Report({"a": "failed"})
STAGES = (Facet.TOKENS, Facet.ACTIONS, Facet.TREE, Facet.TESTS)
WORDS = ("matters", "no-matter", "unsure")


@st.composite
def _runs(draw: st.DrawFn) -> Run:
    walk = tuple(draw(st.lists(st.sampled_from("pq"), min_size=1, max_size=2)))
    words = "".join(walk)
    return Run(
        task=draw(st.sampled_from(["t", "t", "u"])),
        arm=draw(st.sampled_from("ab")),
        kind=draw(st.sampled_from(["coding", "coding", "tool-use"])),
        tokens=words if draw(st.booleans()) else None,
        prompt=words if draw(st.booleans()) else None,
        text=words,
        actions=draw(st.sampled_from(["none", words, words, None])),
        tree=draw(st.sampled_from([None, "x", "y"])),
        reports=tuple(draw(st.lists(st.sampled_from([GREEN, RED, Report({}, complete=False)]), max_size=2))),
        end_reason=draw(st.sampled_from(["finished", "finished", "timeout"])),
        events=walk,
    )


_reviews = st.lists(
    st.tuples(st.integers(1, 6), st.integers(1, 6), st.sampled_from(["ada", "bob"]), st.sampled_from(WORDS)), max_size=6
)


def _lab(batch: list[Run], reviews: list[tuple[int, int, str, str]] = []) -> Lab:  # noqa: B006 (never changed)
    lab = Lab(batch)
    lab.db.execute("update facet_digest set vacuous = true where facet = 'actions' and run_key in (select unnest($1))",
                   [[key for key, run in enumerate(batch, start=1) if run.actions == "none"]])  # fmt: skip
    last: dict[tuple[int, int, str], int] = {}
    for number, (a, b, by, word) in enumerate(reviews, start=1):
        a, b = sorted((a, b))  # noqa: PLW2901
        if a == b or b > len(batch) or batch[a - 1].task != batch[b - 1].task:
            continue
        lab.db.execute(
            "insert into review values ($1, $2, $3, $4, false, $5, 'why', 'now', $6)",
            [number, f"{a:016x}", f"{b:016x}", by, word, last.get((a, b, by))],
        )
        last[a, b, by] = number
    return lab


def _said(reviews: list[tuple[int, int, str, str]], pair: tuple[int, int]) -> Verdict:
    """What the last review of each reviewer comes to: different is yes, same is no."""
    last = {by: word for a, b, by, word in reviews if tuple(sorted((a, b))) == pair}
    words = set(last.values()) - {"unsure"}
    return {("matters",): Verdict.DIFFERENT, ("no-matter",): Verdict.SAME}.get(tuple(words), Verdict.UNKNOWN)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_runs(), min_size=2, max_size=6), _reviews, st.booleans(), st.booleans())
def test_the_funnel_counts_as_judging_pairs_one_by_one_does(
    batch: list[Run], reviews: list[tuple[int, int, str, str]], across: bool, strict: bool
) -> None:
    lab = _lab(batch, reviews)
    signed = load_signatures(lab, strict=strict)
    arms = ("a", "b") if across else None
    vectors = []
    for members in signed.by_task().values():
        for a, b in combinations(members, 2):
            if Selection(across=arms).holds(a.arm, b.arm):
                facets = judge(a, b, signed).facets
                vector = [facets[facet].verdict for facet in STAGES]
                if facets[Facet.ACTIONS].vacuous:
                    vector[1] = Verdict.NOT_APPLICABLE
                vectors.append([*vector, _said(reviews, (a.run_key, b.run_key))])
    found = pair_funnel(lab, across=arms, strict=strict)
    lab.close()
    assert found.pairs == len(vectors)
    for place, stage in enumerate(found.stages):
        here = Counter(vector[place].value for vector in vectors)
        assert (stage.yes, stage.no, stage.unknown, stage.not_applicable) == (
            here["different"], here["same"], here["unknown"], here["not_applicable"],
        )  # fmt: skip
        way = [([v.value for v in vector[:place] if v.value != "not_applicable"], vector[place]) for vector in vectors]
        assert stage.reached == sum({*before, here} == {"different"} for before, here in way)
        may = sum({*before, here} <= {"different", "unknown"} for before, here in way)
        assert stage.may_reach == may - stage.reached


def _of(*batch: Run, reviews: tuple[tuple[int, int, str, str], ...] = ()) -> Funnel:
    lab = _lab(list(batch), list(reviews))
    try:
        return pair_funnel(lab)
    finally:
        lab.close()


def _run(tokens: str | None, actions: str | None, tree: str | None, report: Report | None = None) -> Run:
    return Run(tokens=tokens, prompt="p", actions=actions, tree=tree, reports=(report,) if report else ())


def test_a_pair_goes_as_far_as_it_differs() -> None:
    found = _of(_run("x", "x", "x", GREEN), _run("y", "y", "y", GREEN), _run("y", "x", "x", GREEN))
    assert [(stage.yes, stage.reached) for stage in found.stages] == [(2, 2), (2, 1), (2, 1), (0, 0), (0, 0)]
    assert found.stages[0] == FunnelStage("other tokens", 2, 1, 0, 0, 2, 0)


def test_unknown_tokens_leave_what_comes_after_unknown() -> None:
    found = _of(_run(None, "x", "x", GREEN), _run(None, "y", "y", RED))
    assert [(stage.yes, stage.unknown, stage.reached, stage.may_reach) for stage in found.stages[:4]] == [
        (0, 1, 0, 1), (1, 0, 0, 1), (1, 0, 0, 1), (1, 0, 0, 1),
    ]  # fmt: skip


def test_runs_without_a_call_are_passed_by_at_that_stage() -> None:
    found = _of(_run("x", "none", "x", GREEN), _run("y", "none", "y", RED))
    assert found.stages[1].not_applicable == 1
    assert [stage.reached for stage in found.stages] == [1, 0, 1, 1, 0]


def test_a_review_counts_at_the_last_stage_and_a_dispute_is_unknown() -> None:
    pair = (_run("x", "x", "x", GREEN), _run("y", "y", "y", RED))
    found = _of(*pair, reviews=((2, 1, "ada", "matters"), (1, 2, "bob", "unsure")))
    assert (found.stages[-1].yes, found.stages[-1].reached, found.disputed) == (1, 1, 0)
    found = _of(*pair, reviews=((1, 2, "ada", "matters"), (1, 2, "bob", "no-matter")))
    assert (found.stages[-1].unknown, found.stages[-1].may_reach, found.disputed) == (1, 1, 1)
    found = _of(*pair, reviews=((1, 2, "ada", "matters"), (1, 2, "ada", "no-matter")))
    assert (found.stages[-1].no, found.disputed) == (1, 0)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_runs(), min_size=2, max_size=6), _reviews)
def test_the_saved_query_counts_the_rows_of_the_view_of_pairs(
    batch: list[Run], reviews: list[tuple[int, int, str, str]]
) -> None:
    lab = _lab(batch, reviews)
    for _, text in sql.scripts("samework.store", "views"):
        lab.db.execute(text)
    rows = lab.db.execute(sql.load("samework.store", "named/pair-funnel")).fetchall()
    assert [row[0] for row in rows] == sorted({run.task for run in batch})
    for task, n_pairs, *counts in rows:
        listed = lab.db.execute("select a, b, tokens, actions, tree, tests from pairs($1)", [task]).fetchall()
        assert len(listed) == n_pairs
        want = [sum(row[place] == word for row in listed) for place in range(2, 6) for word in ("different", "unknown")]
        said = [_said(reviews, (int(row[0], 16), int(row[1], 16))) for row in listed]
        assert counts == [*want, said.count(Verdict.DIFFERENT), said.count(Verdict.UNKNOWN)]
    lab.close()
