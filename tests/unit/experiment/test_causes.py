"""Candidate causes: tested within tasks against a count by hand, alias sets, gaps, and the rungs of wording."""

from __future__ import annotations

import re
from collections import Counter
from itertools import permutations, product
from math import log
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samework.claims.assignment import run_order
from samework.errors import EvidenceError, UsageError
from samework.experiment.cause_rows import Placed, cause_rows
from samework.experiment.causes import causes
from samework.store.sql import header, load, names
from tests.forklab import Made, completion, observation, system

if TYPE_CHECKING:
    from samework.store.connection import StoreHandle

S = system("s")


def run(name: str, said: str, *, task: str = "t", arm: str = "a", **manifest: object) -> Made:
    fields = {field.replace("__", "."): value for field, value in manifest.items()}
    return Made(name, [S, completion(said)], task=task, arm=arm, manifest=fields)


def toggled(n_tasks: int = 3, *, start: str | None = "interleaved", **extra: object) -> list[Made]:
    """Two runs an arm and task; kv.dtype is set by the arm and decides what is said."""
    return [
        run(f"{task}-{arm}-{n}", arm, task=f"t{task}", arm=arm, kv__dtype=dtype, **extra)
        for task in range(n_tasks)
        for arm, dtype in (("x", "f16"), ("y", "q8_0"))
        for n in range(2)
    ]


def start_in_order(handle: StoreHandle, order: list[int]) -> None:
    """Started times so that run_keys follow each other in this order."""
    for hour, key in enumerate(order):
        handle.db.execute("update run set started = ? where run_key = ?", [f"2026-01-{hour + 1:02}T00:00:00Z", key])


def by_field(found, name: str):
    return next(row for row in found.rows if name in row.fields)


def test_a_field_that_goes_with_the_way_in_every_task_co_varies_at_the_exact_p(made):
    found = causes(made(*toggled()))
    row = by_field(found, "kv.dtype")
    assert (row.effect, row.n_tasks, row.n_runs, row.method) == (1.0, 3, 12, "exact")
    assert row.p == row.smallest_p == pytest.approx((2 / 6) ** 3)
    assert (found.n_tasks, found.n_nodes, found.n_runs, found.n_left_out) == (3, 3, 12, 0)


def by_hand(items: list[list[tuple[str, str]]]) -> float:
    """Share of all placements of values on the runs of each item that go with the ways as well or better."""

    def statistic(pairs: list[tuple[str, str]]) -> float:
        return sum(n * log(n) for n in Counter(pairs).values())

    sums = [
        [
            statistic(list(zip(placed, [way for _, way in item], strict=True)))
            for placed in permutations([v for v, _ in item])
        ]
        for item in items
    ]
    observed = sum(statistic(item) for item in items)
    totals = [sum(chosen) for chosen in product(*sums)]
    return sum(total >= observed - 1e-6 for total in totals) / len(totals)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from("pqr")), min_size=2, max_size=4),
        min_size=1,
        max_size=3,
    )
)
def test_p_equals_a_count_of_all_placements_within_tasks(items):
    runs, values = [], {}
    for place, item in enumerate(items):
        for value, way in item:
            values[len(runs)] = value
            runs.append(Placed(len(runs), f"t{place}", "a", ((0, "n", ord(way)),)))
    forked = {task for task in {one.task for one in runs} if len({r.way for r in runs if r.task == task}) > 1}
    runs = [one for one in runs if one.task in forked]
    if not runs:
        return
    rows, constant = cause_rows(runs, {"f": values}, {}, level=0.05, n_self_disagreements=None)
    used = [[(v, w) for v, w in item] for place, item in enumerate(items) if f"t{place}" in forked]
    varying = [item for item in used if len({v for v, _ in item}) > 1]
    assert (rows == ()) == (not varying)
    assert constant == (() if varying else ("f",))
    if varying:
        assert rows[0].p == pytest.approx(by_hand(varying), abs=1e-9)


def test_fields_that_split_alike_are_one_row_and_one_test(made):
    runs = [
        run(f"{t}{a}{n}", a, task=t, arm=a, kv__dtype=a, cache__host_memory__mib=(0 if a == "x" else 8192))
        for t in ("t1", "t2", "t3")
        for a in "xy"
        for n in range(2)
    ]
    found = causes(made(*runs))
    row = by_field(found, "kv.dtype")
    assert row.fields == ("cache.host_memory.mib", "kv.dtype")
    assert row.p_holm == row.p
    assert "cannot be told apart" in row.sentence


def test_fields_recorded_on_other_runs_are_no_aliases(made):
    runs = toggled()
    for one in runs[:-1]:
        one.manifest["attention.backend"] = one.manifest["kv.dtype"]
    found = causes(made(*runs))
    assert by_field(found, "attention.backend").fields == ("attention.backend",)
    assert by_field(found, "attention.backend").n_missing == 1


def test_gaps_are_named_with_what_is_said_of_them(made):
    runs = toggled()
    runs[0].manifest["engine.version"] = "1"
    runs[1].absences["engine.version"] = "redacted"
    for one in runs:
        one.absences["hw.driver"] = "unobservable"
        one.manifest["engine.name"] = "e"
    found = causes(made(*runs))
    partly = {gap.field: (gap.n_recorded, gap.n_missing, gap.absences) for gap in found.partly}
    assert partly == {"engine.version": (1, 11, ("redacted",))}
    nobody = {gap.field: gap.absences for gap in found.unrecorded}
    assert nobody["hw.driver"] == ("unobservable",)
    assert nobody["model.sha256"] == ("unrecorded",)
    assert "kv.dtype" not in nobody
    assert "engine.name" in found.constant
    named = {field for row in found.rows for field in row.fields} | set(found.constant) | set(partly) | set(nobody)
    assert {field for one in runs for field in (*one.manifest, *one.absences)} <= named


def test_not_applicable_is_a_value_of_its_own(made):
    runs = toggled()
    for one in runs:
        if one.arm == "x":
            one.manifest["spec.draft"] = "m"
        else:
            one.absences["spec.draft"] = "n/a"
    assert by_field(causes(made(*runs)), "spec.draft").fields == ("kv.dtype", "spec.draft")


def test_holm_is_over_the_rows_that_could_reach_the_level(made):
    runs = toggled()
    for place, one in enumerate(runs):
        one.manifest["run.ordinal"] = place
        one.manifest["batch.n_ubatch"] = place % 2
    found = causes(made(*runs))
    each, odd, dtype = (by_field(found, name) for name in ("run.ordinal", "batch.n_ubatch", "kv.dtype"))
    assert (each.rung, each.p_holm, each.smallest_p) == ("untestable", None, 1.0)
    assert "no test" in each.sentence
    assert (odd.rung, odd.p_holm) == ("not_detected", 1.0)
    assert "not detected" in odd.sentence
    assert dtype.p_holm == pytest.approx(2 * dtype.p)


def test_a_field_of_which_no_table_is_telling_enough_is_no_test(made):
    found = causes(made(run("x", "p", arm="x", kv__dtype=1), run("y", "q", arm="y", kv__dtype=2)))
    row = by_field(found, "kv.dtype")
    assert (row.rung, row.smallest_p, row.effect) == ("untestable", 1.0, 1.0)


def test_a_field_recorded_along_one_way_only_is_no_test(made):
    runs = toggled()
    for place, one in enumerate(runs):
        if one.arm == "x":
            one.manifest["engine.version"] = str(place % 2)
    row = by_field(causes(made(*runs)), "engine.version")
    assert (row.rung, row.effect, row.n_tasks) == ("untestable", None, 0)
    assert "took one way" in row.sentence


def test_toggled_needs_assignment_order_repeats_and_no_alias(made):
    handle = made(*toggled())
    row = by_field(causes(handle), "kv.dtype")
    assert (row.rung, row.arm, row.order) == ("co_varies", "same", "unrecorded")
    start_in_order(handle, list(range(1, 13)))
    row = by_field(causes(handle), "kv.dtype")
    assert (row.rung, row.order) == ("co_varies", "blocked")
    assert "order of starting" in row.sentence
    start_in_order(handle, [1, 3, 2, 4, 5, 7, 6, 8, 9, 11, 10, 12])
    row = by_field(causes(handle), "kv.dtype")
    assert (row.rung, row.order) == ("toggled", "interleaved")
    assert row.sentence == "the way taken is toggled by kv.dtype, with self-repeat controls"


def test_an_alias_takes_the_toggled_rung_away(made):
    runs = toggled()
    for one in runs:
        one.manifest["cache.secondary"] = one.arm
    handle = made(*runs)
    start_in_order(handle, [1, 3, 2, 4, 5, 7, 6, 8, 9, 11, 10, 12])
    assert by_field(causes(handle), "kv.dtype").rung == "co_varies"


def test_a_self_repeat_that_disagrees_takes_the_toggled_rung_away(made):
    runs = toggled(6)
    runs[0] = run("other", "z", task="t0", arm="x", kv__dtype="f16")
    handle = made(*runs)
    start_in_order(handle, [key + offset for key in range(1, 25, 4) for offset in (0, 2, 1, 3)])
    row = by_field(causes(handle), "kv.dtype")
    assert (row.rung, row.order) == ("co_varies", "interleaved")


def test_an_arm_without_repeats_takes_the_toggled_rung_away(made):
    runs = [run(f"{t}{a}", a, task=f"t{t}", arm=a, kv__dtype=a) for t in range(8) for a in ("x", "y")]
    runs += [run(f"{t}x2", "x", task=f"t{t}", arm="x", kv__dtype="x") for t in range(8)]
    handle = made(*runs)
    start_in_order(handle, [key for t in range(8) for key in (2 * t + 1, 2 * t + 2, 17 + t)])
    row = by_field(causes(handle), "kv.dtype")
    assert (row.rung, row.order, row.arm) == ("co_varies", "interleaved", "same")


@pytest.mark.parametrize(
    ("items", "order"),
    [
        ([[("x", "2026-01-01"), ("x", "2026-01-02"), ("y", "2026-01-03")]], "blocked"),
        ([[("x", "2026-01-01"), ("y", "2026-01-02"), ("x", "2026-01-03")]], "interleaved"),
        ([[("x", "2026-01-01"), ("y", "2026-01-02")], [("y", "2026-01-03"), ("x", "2026-01-04")]], "interleaved"),
        ([[("x", "2026-01-01"), ("y", "2026-01-02")], [("x", "2026-01-03"), ("y", "2026-01-04")]], "blocked"),
        ([[("x", "2026-01-01"), ("y", None)]], "unrecorded"),
        ([[("x", "2026-01-01"), ("y", "yesterday")]], "unrecorded"),
        ([[("x", "2026-01-01T00:00:00"), ("y", "2026-01-01T00:00:00Z")]], "unrecorded"),
        ([[("x", "2026-01-01"), ("y", "2026-01-01")]], "unrecorded"),
        ([[("x", "1767225600"), ("y", "1767225601.5")]], "blocked"),
        ([[("x", "2026-01-01T02:00:00+02:00"), ("y", "2026-01-01T01:00:00Z")]], "blocked"),
    ],
)
def test_order_of_starting(items, order):
    assert run_order(items) == order


def test_a_fork_within_a_branch_makes_one_way_of_two_steps(made):
    """Two forks of one task are one item: they are no independent evidence."""

    def turns(name: str, arm: str, *said: str) -> Made:
        events = [S]
        for text in said:
            events += [completion(text, ("bash", "{}")), observation("o")]
        return Made(name, events, arm=arm, manifest={"kv.dtype": arm})

    runs = [turns(f"x{n}", "x", "p", f"p{n % 2}") for n in range(4)] + [turns(f"y{n}", "y", "q", "q") for n in range(4)]
    handle = made(*runs)
    found = causes(handle)
    row = by_field(found, "kv.dtype")
    assert (found.n_nodes, row.n_tasks) == (2, 1)
    assert row.p == pytest.approx(2 / 70)
    deep = max((node for node in _nodes(handle)), key=lambda node: node.seq)
    assert causes(handle, node=deep.node[:12]).n_runs == 4


def _nodes(handle):
    from samework.forks import forks

    return forks(handle)


def test_runs_whose_way_is_cut_or_damaged_are_left_out_and_counted(made):
    def turns(name: str, *said: str, **rest) -> Made:
        return Made(name, [S, *map(completion, said)], manifest={"kv.dtype": name[0]}, **rest)

    runs = [turns("x1", "p", "q"), turns("x2", "p", "q"), turns("y1", "p", "r"), turns("y2", "p", "r")]
    runs += [turns("x3", "p", end_reason="timeout"), turns("y3", "z", complete=False), turns("y4", "z")]
    found = causes(made(*runs))
    assert (found.n_runs, found.n_left_out) == (5, 2)
    assert "left out" in found.notes[0]


def test_tool_call_forks_can_be_asked_for_alone(made):
    prose = [run(f"{n}", f"{n % 2}", kv__dtype=n % 2) for n in range(4)]
    handle = made(*prose)
    with pytest.raises(EvidenceError, match="tool call"):
        causes(handle, tool_calls=True)
    assert causes(handle).n_runs == 4


def test_no_fork_is_a_sentence_and_not_a_number(made):
    with pytest.raises(EvidenceError, match="no fork"):
        causes(made(run("x", "p"), run("y", "p")))


def test_an_unknown_or_shared_name_of_a_fork_is_refused(made):
    handle = made(
        run("x", "p"), run("y", "q"), Made("u", [system("a")], task="t1"), Made("v", [system("b")], task="t1"),
        Made("w", [system("a")], task="t2"), Made("z", [system("b")], task="t2"),
    )  # fmt: skip
    with pytest.raises(UsageError, match="no fork"):
        causes(handle, node="zz")
    with pytest.raises(UsageError, match="names 2 forks"):
        causes(handle, node="")
    assert causes(handle, task="t1", node="").n_nodes == 1


@pytest.mark.parametrize("name", [name for name in names("samework.experiment", "sql") if name.startswith("cause_")])
def test_query_binds_and_has_the_columns_of_its_header(made, name):
    text = load("samework.experiment", f"sql/{name}")
    said = " ".join(header(text).split())
    assert said.startswith(f"experiment/{name}: ")
    columns = [row[0] for row in made().db.execute(f"describe {text}", {"run_keys": []}).fetchall()]
    assert [column for column in columns if not re.search(rf"\b{column}\b", said.partition("Columns: ")[2])] == []
