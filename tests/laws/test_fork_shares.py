"""What a fork led to, against a count by hand over every pair of runs of small random tries.

A later difference inside one branch is not this fork's: a facet is this fork's where some two branches have no pair of
runs that agree on it, a later fork's where some two runs of one branch differ, unknown where a run that decides is.
"""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from samework.forks import forks
from samework.forks.consequence import fork_consequence
from samework.forks.refuting import Refuted
from samework.forks.rows import RunFacts
from tests.forklab import Made, completion, store_of

FACETS = ("actions", "observations", "tree", "tests")
value = st.sampled_from(["p", "q", "r", None])
leaf = st.fixed_dictionaries(dict.fromkeys(FACETS, value))
ways_of_leaves = st.lists(st.lists(leaf, min_size=1, max_size=3), min_size=2, max_size=4)


def facts(key: int, given_leaf: dict) -> RunFacts:
    def codes(facet: str):
        return (None if given_leaf[facet] is None else "c", given_leaf[facet])

    return RunFacts(
        key, str(key), "t", "a", ran=True, tree=(codes("tree"),), tests=(codes("tests"),), actions=codes("actions"),
        observations=codes("observations"),
    )  # fmt: skip


def by_hand(ways: list[list[dict]], facet: str) -> tuple[bool, bool, bool, bool]:
    """Own, later, same of all, unknown, from every pair of runs."""

    def differ(a: dict, b: dict) -> bool:
        return None not in (a[facet], b[facet]) and a[facet] != b[facet]

    own = any(all(differ(a, b) for a, b in product(x, y)) for x, y in combinations(ways, 2))
    later = any(differ(a, b) for way in ways for a, b in combinations(way, 2))
    values = {one[facet] for way in ways for one in way}
    return own, later, len(values) == 1 and None not in values, not own and None in values


@given(ways_of_leaves)
@settings(deadline=None, max_examples=300)
def test_shares_and_consequence_equal_a_count_over_all_pairs(ways):
    keys = iter(range(100))
    found = fork_consequence([[facts(next(keys), one) for one in way] for way in ways])
    told = {facet: by_hand(ways, facet) for facet in FACETS}
    assert set(found.own) == {facet for facet in FACETS if told[facet][0]}
    assert set(found.later) == {facet for facet in FACETS if told[facet][1]}
    assert set(found.unknown) == {facet for facet in FACETS if told[facet][3]}
    assert (found.consequence, found.effect) == expected(told)


def expected(told: dict) -> tuple[str, str]:
    """EQUIVALENCE 4, read off what was counted."""
    own = {facet for facet in FACETS if told[facet][0]}
    unknown = {facet for facet in FACETS if told[facet][3]}
    if told["tree"][2]:
        if own & {"actions", "observations"}:
            return "C1", "absorbed"
        return ("CU", "absorbed") if unknown & {"actions", "observations"} else ("C0", "none")
    if "tests" in own:
        return "C3", "consequential"
    if "tree" in own:
        return ("C2" if told["tests"][2] else "CU"), "consequential"
    return "CU", "unknown"


cell = st.tuples(st.sampled_from(["p", "q", None]), st.integers(0, 3))
against = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5)


@given(st.lists(st.lists(cell, min_size=1, max_size=3), min_size=2, max_size=4), against)
@settings(deadline=None, max_examples=300)
def test_refuted_cells_part_branches_as_refuted_pairs_of_runs_do(ways, pairs):
    runs = [[RunFacts(10 * x + y, "r", "t", "a") for y, _ in enumerate(way)] for x, way in enumerate(ways)]
    cells = {run.run_key: (ways[x][y][1],) for x, way in enumerate(runs) for y, run in enumerate(way)}
    both = {frozenset(pair) for pair in pairs if pair[0] != pair[1]}
    known = {n: frozenset(m for pair in both if n in pair for m in pair - {n}) for n in range(4)}
    labels = tuple(tuple(label for label, _ in way) for way in ways)

    def differ(a: tuple, b: tuple) -> bool:
        if None not in (a[0], b[0]):
            return a[0] != b[0]
        return frozenset((a[1], b[1])) in both

    naive = any(all(differ(a, b) for a, b in product(x, y)) for x, y in combinations(ways, 2))
    assert Refuted(cells, known).parts(runs, labels) is naive


said = st.lists(st.sampled_from("ab"), min_size=1, max_size=3)
made_runs = st.lists(st.tuples(said, st.sampled_from(["p", "q", None])), min_size=2, max_size=6)


@given(made_runs)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_each_node_of_a_trie_has_the_share_that_its_runs_give_it(tmp_path_factory, walks):
    runs = [
        Made(f"run-{n}", [completion(word, ("t", f'"{word}"')) for word in walk], tree=tree)
        for n, (walk, tree) in enumerate(walks)
    ]
    with store_of(tmp_path_factory.mktemp("shares") / "store", runs) as handle:
        found = forks(handle)
    paths = [(*walk, "end") for walk, _ in walks]
    for node in found:
        ways: dict[tuple, list[dict]] = {}
        members = {run for branch in node.branches for run in branch.runs}
        for n, path in enumerate(paths):
            if f"run-{n}" in members:
                ways.setdefault(path[: node.seq + 1], []).append({"tree": walks[n][1]})
        own, later, same, unknown = by_hand(list(ways.values()), "tree")
        assert ("tree" in node.differs, "tree" in node.differs_later, "tree" in node.unknown) == (own, later, unknown)
        assert (node.effect == "absorbed") == same
    assert len(found) == len({path[:n] for path in paths for n in range(len(path))} & _branching(paths))


def _branching(paths: list[tuple]) -> set[tuple]:
    ways: dict[tuple, set] = {}
    for path in paths:
        for n, word in enumerate(path):
            ways.setdefault(path[:n], set()).add(word)
    return {prefix for prefix, words in ways.items() if len(words) > 1}


@pytest.mark.parametrize("n_runs", [3000])
def test_a_node_with_as_many_branches_as_runs_is_judged_at_once(n_runs):
    ways = [[facts(n, {"actions": str(n), "observations": "p", "tree": None, "tests": None})] for n in range(n_runs)]
    assert fork_consequence(ways, refuted=Refuted({0: (0,)}, {0: frozenset({1})})).effect == "unknown"
