"""Every rate of an experiment over random small stores, against all pairs judged one by one."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from samework.equivalence.judge import judge
from samework.equivalence.signatures import load_signatures
from samework.errors import EvidenceError
from samework.experiment.arms import design
from samework.experiment.evidence import LEVELS, Pairs, evidence, prepared
from samework.experiment.paths import paired_items, path_result
from samework.experiment.rates import disagreement
from samework.model.words import Facet, Verdict
from samework.stats.permutation import path_test
from tests.lab import Lab, Report, Run

ARMS = ("a", "b", "c")
_reports = st.builds(
    Report,
    outcomes=st.dictionaries(st.sampled_from(["n", "m"]), st.sampled_from(["passed", "failed", "skipped"])),
    suite=st.sampled_from(["suite", "suite", "suite", None]),
    env=st.sampled_from(["env", "env", None]),
    complete=st.sampled_from([True, True, True, False]),
)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    walk = draw(st.lists(st.sampled_from("pq"), min_size=1, max_size=2).map(tuple))
    words = "".join(walk)
    return Run(
        task=draw(st.sampled_from(["t", "t", "u"])),
        arm=draw(st.sampled_from([*ARMS, "elsewhere"])),
        kind=draw(st.sampled_from(["coding", "coding", "tool-use"])),
        tokens=words if draw(st.integers(0, 5)) else None,
        prompt=words if draw(st.integers(0, 5)) else None,
        tokenizer=draw(st.sampled_from(["tok", "tok", "tok", None])),
        text=words,
        actions=words if draw(st.integers(0, 5)) else None,
        tree=draw(st.sampled_from([None, "x", "y", "y"])),
        reports=tuple(draw(st.lists(_reports, max_size=2))),
        outcome=draw(st.sampled_from([None, "true", "false"])),
        end_reason=draw(st.sampled_from(["finished", "finished", "timeout"])),
        complete=draw(st.sampled_from([True, True, True, True, False])),
        events=walk,
    )


def brute(lab: Lab, found: Any, *, strict: bool) -> dict[tuple[str, tuple[str, ...]], dict[str, Counter[Verdict]]]:
    """(level, arms) -> task -> verdicts, every pair of the experiment judged."""
    signed = load_signatures(lab, strict=strict)
    arm_of = {run.run_key: run.arm for run in found.runs}
    made: dict[tuple[str, tuple[str, ...]], dict[str, Counter[Verdict]]] = defaultdict(lambda: defaultdict(Counter))
    for task, members in signed.by_task().items():
        for a, b in combinations([run for run in members if run.run_key in arm_of], 2):
            arms = tuple(sorted({arm_of[a.run_key], arm_of[b.run_key]}))
            facets = judge(a, b, signed).facets
            for level in LEVELS:
                made[level, arms][task][facets[Facet(level)].verdict] += 1
    return made


def designed(lab: Lab) -> Any:
    try:
        return design(lab, arms=ARMS)
    except EvidenceError:
        return None


_law = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


@_law
@given(st.lists(runs(), min_size=3, max_size=10), st.booleans())
def test_counts_within_and_across_arms_equal_brute_force(batch: list[Run], strict: bool) -> None:
    lab = Lab(batch)
    found = designed(lab)
    if found is not None:
        room = prepared(lab, task=None, strict=strict)
        read = evidence(room, found.runs, LEVELS, found.pairs())
        want = brute(lab, found, strict=strict)
        for level in LEVELS:
            for arms in [*((arm,) for arm in ARMS), *found.pairs()]:
                expected = {
                    task: Pairs(of[Verdict.SAME], of[Verdict.DIFFERENT], of[Verdict.UNKNOWN])
                    for task, of in want[level, tuple(sorted(arms))].items()
                    if of[Verdict.SAME] + of[Verdict.DIFFERENT] + of[Verdict.UNKNOWN]
                }
                assert read.pairs(level, *arms) == expected, (level, arms)
    lab.close()


@_law
@given(st.lists(runs(), min_size=4, max_size=10))
def test_the_path_test_is_over_the_classes_that_the_pairs_make(batch: list[Run]) -> None:
    """Classes are put together here from verdicts of pairs alone."""
    lab = Lab(batch)
    found = designed(lab)
    if found is not None:
        room = prepared(lab, task=None, strict=False)
        read = evidence(room, found.runs, LEVELS, found.pairs())
        signed = load_signatures(lab)
        for level in LEVELS:
            for a, b in found.pairs():
                items, n_single, n_unknown = paired_items(read, level, (a, b), found.items())
                got = path_result(items, n_single, n_unknown)
                want = _classes(found, signed, level, (a, b))
                assert got.n_items == len(want)
                if want:
                    test = path_test(want)
                    assert got.smallest_p == test.smallest_p
                    assert got.excess_divergence == pytest.approx(test.excess_divergence)
                    assert got.p == (test.p if test.smallest_p <= 0.05 else None)
    lab.close()


def _classes(found: Any, signed: Any, level: str, arms: tuple[str, str]) -> list[tuple[list[int], list[int]]]:
    made = []
    for of_arm in found.items().values():
        groups = [[signed.runs[run.run_key] for run in of_arm.get(arm, [])] for arm in arms]
        members = groups[0] + groups[1]
        verdicts = {
            (x.run_key, y.run_key): judge(x, y, signed).facets[Facet(level)].verdict
            for x, y in combinations(members, 2)
        }
        known = set(verdicts.values()) <= {Verdict.SAME, Verdict.DIFFERENT}
        if not known or min(map(len, groups)) < 2:
            continue
        label = {}
        for place, run in enumerate(members):
            same = [x for x in members[:place] if verdicts[x.run_key, run.run_key] is Verdict.SAME]
            label[run.run_key] = label[same[0].run_key] if same else run.run_key
        made.append(tuple([label[run.run_key] for run in group] for group in groups))
    return made


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3).filter(any), max_size=6))
def test_an_item_differs_by_one_pair_and_agrees_only_where_all_is_known(items: list[tuple[int, int, int]]) -> None:
    found = disagreement({f"t{place}": Pairs(*item) for place, item in enumerate(items)})
    differs = [item for item in items if item[1]]
    open_items = [item for item in items if not item[1] and item[2]]
    assert (found.items.k, found.items.n, found.items.n_unknown) == (
        len(differs), len(items) - len(open_items), len(open_items),
    )  # fmt: skip
    shares = [d / (s + d) for s, d, _ in items if s + d]
    if any(s + d > 1 for s, d, _ in items):
        assert found.mean is not None
        assert found.mean.estimate == pytest.approx(sum(shares) / len(shares))
    else:
        assert found.mean is None
    if items:
        n_pairs = sum(map(sum, items))
        n_different, n_unknown = sum(d for _, d, _ in items), sum(u for *_, u in items)
        assert found.bounds == pytest.approx((n_different / n_pairs, (n_different + n_unknown) / n_pairs))
    if not differs and found.items.n:
        assert found.items.zero_bound == pytest.approx(1 - 0.05 ** (1 / found.items.n))
