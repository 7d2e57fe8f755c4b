"""Laws of the engine over random runs: an equivalence where it says SAME, and counts that equal brute force."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from samework.equivalence.classes import classes, count_pairs
from samework.equivalence.judge import judge
from samework.equivalence.signatures import load_signatures
from samework.model.words import Facet, Status, Verdict
from tests.lab import Lab, Report, Run

_some = st.sampled_from([None, "x", "y"])
_outcome = st.sampled_from(["passed", "failed", "skipped"])
reports = st.builds(
    Report,
    outcomes=st.dictionaries(st.sampled_from(["a", "b"]), _outcome),
    suite=st.sampled_from(["suite", "suite", None]),
    env=st.sampled_from(["env", "env", None]),
    complete=st.sampled_from([True, True, True, False]),
)
# A run's events are a walk in one tree of prefixes, so that some runs are prefixes of others.
walks = st.lists(st.sampled_from("pq"), min_size=1, max_size=3).map(tuple)
patches = st.none() | st.dictionaries(st.sampled_from(["f", "g"]), st.sampled_from(["a" * 40, "b" * 40, "a" * 8]))
edits = st.tuples(st.sampled_from([None, "c" * 40, "d" * 40]), st.sampled_from([None, "p", "q"]))


@st.composite
def runs(draw: st.DrawFn) -> Run:
    walk = draw(walks)
    words = "".join(walk)
    reasoning = draw(st.sampled_from(["", "", "?"]))
    return Run(
        task=draw(st.sampled_from(["t", "t", "u"])),
        arm=draw(st.sampled_from(["a", "b"])),
        kind=draw(st.sampled_from(["coding", "coding", "tool-use"])),
        layout=draw(st.sampled_from(["lab", "other"])),
        tokens=words if draw(st.booleans()) else None,
        prompt=words if draw(st.booleans()) else None,
        tokenizer=draw(st.sampled_from(["tok", "tok", "other", None])),
        text=words + reasoning,
        recorder=draw(st.sampled_from(["lab", None])),
        counts=draw(st.sampled_from([None, words, words + "+"])),
        raw_text=draw(st.sampled_from([None, words, words + "!"])),
        prose=words,
        hides=draw(st.sampled_from(["-", "h"])),
        actions=words,
        tree=draw(_some),
        tree_format=draw(st.sampled_from(["sha1", "sha1", "sha256"])),
        tree_grade=draw(st.sampled_from(["direct", "direct", "derived", "asserted"])),
        policy=draw(st.sampled_from(["worktree", "worktree", "commit"])),
        patch=draw(patches),
        edits=draw(st.dictionaries(st.sampled_from(["f", "g"]), edits)),
        base=draw(st.sampled_from([None, "base", "base2"])),
        reports=tuple(draw(st.lists(reports, max_size=2))),
        outcome=draw(st.sampled_from([None, "true", "false"])),
        invariants=draw(st.dictionaries(st.just("i"), st.sampled_from([True, False, None]))),
        end_reason=draw(st.sampled_from(["finished", "finished", "timeout"])),
        complete=draw(st.sampled_from([True, True, True, False])),
        events=walk,
    )


_law = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
batches = st.lists(runs(), min_size=2, max_size=7)


@_law
@given(batches, st.booleans())
def test_counts_equal_brute_force(batch: list[Run], strict: bool) -> None:
    lab = Lab(batch)
    counted = count_pairs(lab, strict=strict)
    signed = load_signatures(lab, strict=strict)
    by_task: Counter[tuple[str, str]] = Counter()
    by_status: Counter[tuple[str, str]] = Counter()
    by_facet: Counter[tuple[str, str]] = Counter()
    for task, members in signed.by_task().items():
        for a, b in combinations(members, 2):
            found = judge(a, b, signed)
            by_task[task, found.placement.run_class] += 1
            by_status[found.placement.status, found.placement.run_class] += 1
            by_facet.update((facet.value, verdict.verdict.value) for facet, verdict in found.facets.items())
    assert _flat(counted.by_task) == by_task
    assert _flat(counted.by_status) == by_status
    assert _flat(counted.by_facet) == by_facet
    lab.close()


def _flat(nested: dict[str, Counter[str]]) -> Counter[tuple[str, str]]:
    return Counter({(str(a), str(b)): n for a, found in nested.items() for b, n in found.items() if n})


@_law
@given(batches, st.sampled_from([("a", "b"), ("a", "a")]))
def test_counts_across_arms_equal_brute_force(batch: list[Run], across: tuple[str, str]) -> None:
    lab = Lab(batch)
    counted = count_pairs(lab, across=across)
    signed = load_signatures(lab)
    want: Counter[tuple[str, str]] = Counter()
    for task, members in signed.by_task().items():
        for a, b in combinations(members, 2):
            if {a.arm, b.arm} == set(across):
                want[task, judge(a, b, signed).placement.run_class] += 1
    assert _flat(counted.by_task) == want
    lab.close()


@_law
@given(batches, st.booleans())
def test_verdicts_are_symmetric_and_nothing_differs_from_itself(batch: list[Run], strict: bool) -> None:
    lab = Lab(batch)
    signed = load_signatures(lab, strict=strict)
    for members in signed.by_task().values():
        for a, b in product(members, repeat=2):
            there, back = judge(a, b, signed), judge(b, a, signed)
            assert there.placement == back.placement
            assert {f: v.verdict for f, v in there.facets.items()} == {f: v.verdict for f, v in back.facets.items()}
            if a is b:
                assert Verdict.DIFFERENT not in {verdict.verdict for verdict in there.facets.values()}
    lab.close()


@_law
@given(batches)
def test_same_is_transitive_within_one_form_of_evidence(batch: list[Run]) -> None:
    lab = Lab(batch)
    signed = load_signatures(lab)
    for members in signed.by_task().values():
        for a, b, c in product(members, repeat=3):
            for facet in (Facet.TOKENS, Facet.TEXT, Facet.ACTIONS, Facet.TESTS, Facet.PATCH, Facet.OUTCOME):
                ab, bc, ac = (judge(x, y, signed).facets[facet].verdict for x, y in ((a, b), (b, c), (a, c)))
                if ab is Verdict.SAME and bc is Verdict.SAME:
                    assert ac is Verdict.SAME, facet
    lab.close()


@_law
@given(batches, st.randoms(use_true_random=False))
def test_verdicts_do_not_depend_on_the_order_of_ingest(batch: list[Run], rng: object) -> None:
    order = list(range(len(batch)))
    rng.shuffle(order)  # type: ignore[attr-defined]
    there, back = Lab(batch), Lab([batch[place] for place in order])
    a, b = load_signatures(there), load_signatures(back)
    where = {place: key for key, place in enumerate(order, start=1)}
    for x, y in combinations(range(len(batch)), 2):
        if batch[x].task != batch[y].task:
            continue
        one = judge(a.runs[x + 1], a.runs[y + 1], a)
        two = judge(b.runs[where[x]], b.runs[where[y]], b)
        assert one.placement == two.placement
        assert {f: v.verdict for f, v in one.facets.items()} == {f: v.verdict for f, v in two.facets.items()}
    there.close()
    back.close()


@_law
@given(batches)
def test_statuses_and_totals_add_up(batch: list[Run]) -> None:
    lab = Lab([run for run in batch if not (run.tree and run.patch is not None)] or batch[:1])
    found = classes(lab)
    assert found.pairs["total"] == sum(n for name, n in found.pairs.items() if name != "total")
    assert found.pairs["total"] == sum(sum(by.values()) for by in found.by_status.values())
    assert sum(block.size for task in found.by_task for block in task.classes) == found.runs
    assert set(found.by_status) == {status.value for status in Status}
    lab.close()
