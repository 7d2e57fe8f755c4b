"""Each consequence, and the split between a fork's own share and that of later forks."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samework.forks import first_divergence, forks
from samework.forks.consequence import Split, split
from tests.forklab import Made, completion, observation, store_of, user

LS, PWD = ("bash", '{"command":"ls"}'), ("bash", '{"command":"pwd"}')
PASSED, FAILED = {"test_a": "passed"}, {"test_a": "failed"}
SAID_X, SAID_Y = [user("u"), completion("x")], [user("u"), completion("y")]
DID_X, DID_Y = [user("u"), completion("x", LS)], [user("u"), completion("x", PWD)]
TOOL = {"kind": "tool-use"}


def both(first: dict, second: dict) -> list[dict]:
    return [first, second]


CASES: dict[str, tuple[str, list[dict]]] = {
    "only the completion": ("C0", both({"events": SAID_X, "tree": "p"}, {"events": SAID_Y, "tree": "p"})),
    "absorbed": ("C1", both({"events": DID_X, "tree": "p"}, {"events": DID_Y, "tree": "p"})),
    "absorbed, other observation": (
        "C1",
        both(
            {"events": [*DID_X, observation("1")], "tree": "p"},
            {"events": [*DID_X, observation("2")], "tree": "p"},
        ),
    ),
    "other tree, same tests": (
        "C2",
        both({"events": DID_X, "tree": "p", "tests": PASSED}, {"events": DID_Y, "tree": "q", "tests": PASSED}),
    ),
    "other tests": (
        "C3",
        both({"events": DID_X, "tree": "p", "tests": PASSED}, {"events": DID_Y, "tree": "q", "tests": FAILED}),
    ),
    "other tests, tree unrecorded": (
        "C3",
        both({"events": DID_X, "tests": PASSED}, {"events": DID_Y, "tests": FAILED}),
    ),
    "other tree, tests unrecorded": ("CU", both({"events": DID_X, "tree": "p"}, {"events": DID_Y, "tree": "q"})),
    "other tree, nothing ran": (
        "CU",
        both(
            {"events": DID_X, "tree": "p", "tests": {"a": "skipped"}},
            {"events": DID_Y, "tree": "q", "tests": {"a": "skipped"}},
        ),
    ),
    "tree unrecorded": (
        "CU",
        both({"events": DID_X, "tree": "p", "tests": PASSED}, {"events": DID_Y, "tests": PASSED}),
    ),
    "tool use, same outcome": (
        "C1",
        both({"events": DID_X, "outcome": True, **TOOL}, {"events": DID_Y, "outcome": True, **TOOL}),
    ),
    "tool use, other outcome": (
        "C3",
        both({"events": DID_X, "outcome": True, **TOOL}, {"events": DID_Y, "outcome": False, **TOOL}),
    ),
    "tool use, outcome unrecorded": ("CU", both({"events": DID_X, **TOOL}, {"events": DID_Y, **TOOL})),
    "tool use, no call differs": ("C0", both({"events": SAID_X, **TOOL}, {"events": SAID_Y, **TOOL})),
    "coding, outcome only": (
        "CU",
        both({"events": DID_X, "outcome": True}, {"events": DID_Y, "outcome": False}),
    ),
}
CHANGED = {"other tree, same tests", "other tests", "other tests, tree unrecorded", "tool use, other outcome"}
AT_LEAST = {"other tree, tests unrecorded", "other tree, nothing ran"}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """One store with a task per case."""
    runs = [
        Made(f"{task}-{place}", task=task, **one) for task, (_, made) in CASES.items() for place, one in enumerate(made)
    ]
    handle = store_of(tmp_path_factory.mktemp("consequence") / "store", runs)
    yield handle, {node.task: node for node in forks(handle)}
    handle.db.close()


@pytest.mark.parametrize("task", CASES)
def test_consequence_follows_from_artifacts(cases, task):
    handle, found = cases
    assert found[task].consequence == CASES[task][0]
    assert found[task].consequence_reason
    key = 2 * list(CASES).index(task) + 1
    assert first_divergence(handle, key, key + 1).consequence == found[task].consequence


def test_changed_work_is_what_is_known_to_have_changed(cases):
    handle, _ = cases
    assert {node.task for node in forks(handle, changed_work=True)} == CHANGED | AT_LEAST


def test_tool_call_forks_are_those_whose_first_difference_is_a_call(cases):
    handle, _ = cases
    found = forks(handle, tool_calls=True)
    assert found
    assert all(node.tool_calls for node in found)
    assert not {"only the completion", "absorbed, other observation"} & {node.task for node in found}


def test_reason_names_the_outcome_that_stands_for_tests(cases):
    _, found = cases
    assert "outcome" in found["tool use, other outcome"].consequence_reason
    assert "at least C2" in found["other tree, nothing ran"].consequence_reason


def test_a_difference_inside_a_branch_is_a_later_forks(made):
    early, late = completion("x", LS), completion("later", PWD)
    handle = made(
        Made("x1", [user("u"), early], tree="p", end_reason="unrecorded"),
        Made("x2", [user("u"), early, late], tree="q", end_reason="unrecorded"),
        Made("x3", [user("u"), early, completion("other")], tree="p", end_reason="unrecorded"),
        Made("y1", [user("u"), completion("y")], tree="p", end_reason="unrecorded"),
    )
    first, second = forks(handle)
    assert (first.consequence, first.consequence_reason.split(":")[0]) == ("CU", "later_forks")
    assert "at least C2" in second.consequence_reason
    assert [(way.tree_classes, way.tree_unknown) for way in first.branches] == [(2, 0), (1, 0)]


def test_nodes_do_not_depend_on_the_order_of_ingest(made):
    runs = [
        Made("x1", DID_X, tree="p", arm="a"),
        Made("x2", DID_X, tree="p", arm="b"),
        Made("y1", DID_Y, tree="q", arm="b"),
        Made("z1", SAID_Y, tree="r"),
    ]
    expected = forks(made(*runs))
    assert expected
    assert forks(made(*reversed(runs))) == expected


labels = st.lists(st.lists(st.sampled_from(["p", "q", "r", "s", None]), min_size=1, max_size=4), min_size=2, max_size=5)


@given(labels)
def test_split_equals_its_definition_by_pairs(ways):
    known = [set(way) for way in ways if None not in way]
    disjoint = any(not one & other for one, other in itertools.combinations(known, 2))
    flat = {label for way in ways for label in way}
    if disjoint:
        expected = Split.DIFFERS
    elif None in flat:
        expected = Split.UNKNOWN
    else:
        expected = Split.SAME if len(flat) == 1 else Split.OVERLAPS
    assert split(ways) is expected
    assert split([list(reversed(way)) for way in reversed(ways)]) is expected
