"""Facts beyond a pair, each read from a made store: repeats, replays, certificates, base reports, arms, transplants."""

from __future__ import annotations

import hashlib
import re
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from samework.claims import evidence
from samework.claims.assignment import read_assigned_factor
from samework.claims.repeats import n_disagreements, read_repeats
from samework.claims.requirements import REQUIRED
from samework.equivalence.manifest_diff import manifest_difference
from samework.equivalence.pairs import compare
from samework.forks import first_divergence
from samework.model.events import Usage
from samework.store.sql import header, load, names
from tests.forklab import Made, completion, end, store_of, user

if TYPE_CHECKING:
    from collections.abc import Callable

    from samework.store.connection import StoreHandle

TIMES = "2026-01-{:02}T00:00:00Z"


def full(groups: str = "MQECLHW") -> dict[str, object]:
    """A manifest in which every requirement of the groups is recorded, measured; greedy."""
    found: dict[str, object] = {need.names[0]: "x" for group in groups for need in REQUIRED[group]}
    found |= {"sampling.temperature": 0} if "Q" in groups else {}
    return found | ({"reuse.cached_tokens": 0} if "C" in groups else {})


def said(name: str, *tokens: int, task: str = "t", arm: str = "a", manifest: dict | None = None, **rest) -> Made:
    turn = completion("".join(map(chr, tokens)), token_ids=tokens, prompt_token_ids=(1,))
    return Made(name, [user("u"), turn], task=task, arm=arm, manifest=manifest or {}, **rest)


def facts(handle: StoreHandle, a: int = 1, b: int = 2):
    pair = replace(compare(handle, a, b), fork=first_divergence(handle, a, b))
    return evidence.read_facts(handle, a, b, pair, manifest_difference(handle, a, b))


# Self-repeats


def test_repeats_are_counted_by_tokens_within_each_arm_and_task(made):
    handle = made(
        said("x1", 97, arm="x"), said("x2", 97, arm="x"), said("x3", 98, arm="x"),
        said("y1", 97, arm="y"), said("y2", 97, arm="y"), said("z1", 97, arm="x", task="other"),
    )  # fmt: skip
    found = {(one.task, one.arm): (one.n_runs, one.n_pairs, one.n_disagreeing) for one in read_repeats(handle)}
    assert found == {("t", "x"): (3, 3, 2), ("t", "y"): (2, 1, 0), ("other", "x"): (1, 0, 0)}
    assert {one.by_tokens for one in read_repeats(handle, task="t")} == {True}
    assert [one.arm for one in read_repeats(handle, task="t", arms=["y"])] == ["y"]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from("pqr"), st.booleans()), min_size=1, max_size=7))
def test_repeats_equal_a_count_pair_by_pair(tmp_path_factory, runs):
    rows = [
        Made(str(n), [user("u"), completion(word, **({"token_ids": (ord(word),)} if has_ids else {}))], arm=arm)
        for n, (arm, word, has_ids) in enumerate(runs)
    ]
    with store_of(tmp_path_factory.mktemp("repeats") / "store", rows) as handle:
        found = {one.arm: (one.n_pairs, one.n_disagreeing, one.by_tokens) for one in read_repeats(handle)}
    for arm in {arm for arm, _, _ in runs}:
        mine = [(word, has_ids) for which, word, has_ids in runs if which == arm]
        by_tokens = [(p[0], q[0]) for p, q in combinations(mine, 2) if p[1] and q[1]]
        pairs = by_tokens or [(p[0], q[0]) for p, q in combinations(mine, 2)]
        assert found[arm] == (len(pairs), sum(p != q for p, q in pairs), bool(by_tokens))


def test_runs_without_ids_repeat_by_what_they_said_and_did(made):
    def run(name: str, text: str, *tail, **rest) -> Made:
        return Made(name, [user("u"), completion(text), *tail], arm="x", **rest)

    handle = made(run("1", "p", end("done")), run("2", "p", end("finished")), run("3", "p"), run("4", "q"))
    (found,) = read_repeats(handle)
    assert (found.n_pairs, found.n_disagreeing, found.by_tokens) == (6, 3, False)


def test_runs_cut_off_or_damaged_are_no_repeats(made):
    handle = made(
        said("1", 97), said("2", 98, end_reason="timeout"), said("3", 99, complete=False), said("4", 97),
        Made("5", [user("u")], end_reason="unrecorded", arm="v"), Made("6", [user("u"), completion("p")], arm="v"),
    )  # fmt: skip
    assert [(one.arm, one.n_pairs, one.n_disagreeing) for one in read_repeats(handle)] == [("a", 1, 0), ("v", 0, 0)]


def test_no_repeats_in_an_arm_are_no_zero_disagreements(made):
    handle = made(said("x1", 97, arm="x"), said("x2", 97, arm="x"), said("y1", 98, arm="y"))
    repeats = read_repeats(handle)
    assert n_disagreements(repeats, ["x"]) == 0
    assert n_disagreements(repeats, ["x", "y"]) is None
    assert facts(handle, 1, 3).self_repeat_disagreements is None


def test_repeats_of_the_task_and_of_other_tasks_are_told_apart(made):
    runs = [said(f"{arm}{n}", ord(arm), arm=arm) for arm in "xy" for n in range(2)]
    runs += [said(f"o{n}", 97 + n, task="o", arm="x") for n in range(2)]
    found = facts(made(*runs), 1, 3)
    assert (found.self_repeat_disagreements, found.self_repeat_disagreements_elsewhere) == (0, 1)
    assert found.n_self_repeats == 3


# Replays


def test_replays_are_runs_made_alike_with_the_same_tokens(made):
    runs = [said(str(n), 97, manifest=full() | {"server.instance_id": n}) for n in range(4)]
    runs.append(said("other engine", 97, manifest=full() | {"kv.dtype": "q8_0"}))
    runs.append(said("more is recorded", 97, manifest=full() | {"engine.fingerprint": "f"}))
    runs.append(said("less is recorded", 97, manifest={k: v for k, v in full().items() if k != "kv.dtype"}))
    runs.append(said("another task", 97, task="o", manifest=full()))
    handle = made(*runs)
    assert evidence.replays(handle, 1) == (4, 0)
    found = facts(handle)
    assert (found.n_replays, found.n_replays_differing) == (3, 0)


def test_a_replay_with_other_tokens_is_counted(made):
    handle = made(*(said(str(n), token, manifest=full()) for n, token in enumerate((97, 97, 98))))
    assert evidence.replays(handle, 1) == (2, 1)
    assert facts(handle).n_replays_differing == 1


def test_tokens_by_digest_are_no_direct_replay(made):
    def run(name: str) -> Made:
        turn = completion("p", token_ids_sha256="ab" * 32, prompt_ids_sha256="cd" * 32)
        return Made(name, [user("u"), turn], manifest=full())

    assert evidence.replays(made(run("1"), run("2")), 1) == (0, 0)


def test_without_a_whole_manifest_there_are_no_replays(made):
    handle = made(*(said(str(n), 97, manifest=full("MQE")) for n in range(3)))
    assert facts(handle).n_replays == 1


# Determinism certificate


def states(*tasks: str, tokens: Callable[[str, int], int] = lambda task, reused: 97, **rest) -> list[Made]:
    """A cold and a warm run of each task, with the tokens that `tokens(task, reused)` gives."""
    return [
        said(
            f"{task}-{reused}", tokens(task, reused), task=task,
            manifest=full("MEHQL") | {"reuse.cached_tokens": reused}, **rest,
        )
        for task in tasks
        for reused in (0, 75)
    ]  # fmt: skip


def certified(handle: StoreHandle, a: int = 1, b: int = 2) -> tuple[bool, int]:
    return evidence.determinism(handle, a, b, manifest_difference(handle, a, b))


def test_equal_tokens_cold_and_warm_on_two_tasks_certify(made):
    assert certified(made(*states("t", "u", "v"))) == (True, 3)


def test_one_task_certifies_nothing(made):
    assert certified(made(*states("t"))) == (False, 1)


def test_one_request_that_differs_takes_the_certificate_away(made):
    handle = made(*states("t", "u", "v", tokens=lambda task, reused: 98 if (task, reused) == ("v", 75) else 97))
    assert certified(handle) == (False, 3)


def test_repeats_in_one_state_certify_nothing(made):
    runs = [
        said(f"{task}{n}", 97, task=task, manifest=full("MEHQL") | {"reuse.cached_tokens": 0})
        for task in "tu"
        for n in range(2)
    ]
    assert certified(made(*runs)) == (False, 0)


@pytest.mark.parametrize("told", [[0, 0], [None]], ids=["more than the calls", "none of the call"])
def test_reuse_that_is_not_told_of_each_call_certifies_nothing(made, told):
    runs = states("t", "u")
    for cold in runs[::2]:
        cold.manifest["reuse.cached_tokens"] = told
    assert certified(made(*runs)) == (False, 0)


def test_a_call_that_reused_tokens_was_not_cold(made):
    runs = states("t", "u")
    for cold in runs[::2]:
        cold.events[-1] = replace(cold.events[-1], usage=Usage(cached_tokens=75))
    assert certified(made(*runs)) == (False, 0)


def test_declared_reuse_certifies_nothing(made):
    assert certified(made(*states("t", "u", sources={"reuse.cached_tokens": "declared"}))) == (False, 0)


def test_sampled_requests_without_a_seed_certify_nothing(made):
    runs = states("t", "u")
    for run in runs:
        run.manifest["sampling.temperature"] = 0.7
    assert certified(made(*runs)) == (False, 0)
    for run in runs:
        run.manifest["sampling.seed"] = 7
    assert certified(made(*runs)) == (True, 2)


def test_an_engine_that_is_in_part_unrecorded_has_no_certificate(made):
    runs = states("t", "u")
    del runs[0].manifest["kv.dtype"]
    assert certified(made(*runs)) == (False, 0)


def test_both_engines_of_a_pair_need_the_certificate(made):
    runs = states("t", "u", "v")
    other = said("other", 98, manifest=full("MEHQL") | {"reuse.cached_tokens": 0, "kv.dtype": "q8_0"})
    handle = made(*runs, other)
    assert certified(handle) == (True, 3)
    assert certified(handle, 1, 7) == (False, 0)


# Base report


def graded(name: str, tests: dict[str, str] | None, tree: str = "work", **rest) -> Made:
    return Made(name, [user("u"), completion(name)], tree=tree, tests=tests, **rest)


def base_is(handle: StoreHandle, tree: str) -> None:
    oid = hashlib.sha1(tree.encode()).hexdigest()
    handle.db.execute("update run_tree set base_oid = ?", [oid])


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ({"n": "failed", "m": "passed"}, True),
        ({"n": "passed", "m": "passed"}, False),
        ({"m": "passed"}, True),
        (None, None),
    ],
    ids=["another outcome", "the same outcomes", "a test that only the work has", "no report"],
)
def test_a_suite_discriminates_where_a_test_comes_out_otherwise_on_the_base(made, base, expected):
    work = {"n": "passed", "m": "passed"}
    handle = made(graded("1", work), graded("2", work), graded("base", base, "base"))
    base_is(handle, "base")
    assert evidence.discriminating(handle, 1, 2) is expected


def test_without_the_base_tree_it_is_unknown_whether_a_suite_discriminates(made):
    handle = made(graded("1", {"n": "passed"}), graded("2", {"n": "passed"}), graded("other", {"n": "failed"}, "other"))
    assert evidence.discriminating(handle, 1, 2) is None
    base_is(handle, "base")
    assert evidence.discriminating(handle, 1, 2) is None


def test_an_incomplete_base_report_can_tell_but_not_deny(made):
    work = {"n": "passed", "m": "passed"}
    for base, expected in (({"n": "failed"}, True), ({"n": "passed"}, None)):
        handle = made(graded("1", work), graded("2", work), graded("base", base, "base"))
        base_is(handle, "base")
        handle.db.execute("update test_report set complete = false where run_key = 3")
        assert evidence.discriminating(handle, 1, 2) is expected


def test_another_suite_or_environment_says_nothing_of_the_base(made):
    handle = made(graded("1", {"n": "passed"}), graded("2", {"n": "passed"}), graded("base", {"n": "failed"}, "base"))
    base_is(handle, "base")
    handle.db.execute("update test_report set env = 'other' where run_key = 3")
    assert evidence.discriminating(handle, 1, 2) is None


def test_a_run_that_did_no_work_from_the_same_commit_is_the_base(made):
    handle = made(graded("1", {"n": "passed"}), graded("2", {"n": "passed"}), graded("idle", {"n": "failed"}, "idle"))
    handle.db.execute("update run_tree set base_commit = 'c'")
    assert evidence.discriminating(handle, 1, 2) is None
    handle.db.execute("""update run_tree set flags = '["no_work"]' where run_key = 3""")
    assert evidence.discriminating(handle, 1, 2) is True


# The assigned factor


def arms(*fields: str) -> list[Made]:
    return [
        said(f"{task}{arm}{n}", 97, task=task, arm=arm, manifest=dict.fromkeys(fields, arm) | {"kv.dtype": "f16"})
        for task in "tu"
        for n in range(2)
        for arm in "xy"
    ]


def started(handle: StoreHandle, order: list[int]) -> StoreHandle:
    for day, key in enumerate(order, 1):
        handle.db.execute("update run set started = ? where run_key = ?", [TIMES.format(day), key])
    return handle


def test_the_one_field_that_each_run_of_an_arm_has_is_its_factor(made):
    handle = started(made(*arms("attention.backend")), list(range(1, 9)))
    assert read_assigned_factor(handle, "x", "y") == "attention.backend"
    assert read_assigned_factor(handle, "x", "x") is None
    assert facts(handle).assigned_factor == "attention.backend"


@pytest.mark.parametrize("change", ["two fields", "no order", "blocked", "a gap", "varies", "one run an arm"])
def test_a_factor_is_not_assigned_where_a_condition_fails(made, change):
    runs = arms("attention.backend", *(["cache.secondary"] if change == "two fields" else []))
    if change == "a gap":
        del runs[-1].manifest["attention.backend"]
    if change == "varies":
        runs[-1].manifest["attention.backend"] = "z"
    if change == "one run an arm":
        runs = runs[:2]
    handle = made(*runs)
    order = {"blocked": [1, 3, 2, 4, 5, 7, 6, 8], "no order": []}.get(change, list(range(1, len(runs) + 1)))
    assert read_assigned_factor(started(handle, order), "x", "y") is None


# Transplants


def moved(*, follows: str = "x", recipient: str | None = "y", **manifest: object) -> list[Made]:
    """Two tasks: arms x and y say different things; `moved` has the state of x in y and says what `follows` does."""
    how = {"reuse.how_made": "transplant from x"} | manifest
    if recipient is not None:
        how["state.recipient"] = recipient
    return [
        said(f"{task}{arm}", ord(follows if arm == "moved" else arm), task=task, arm=arm,
             manifest=how if arm == "moved" else {})
        for task in "tu"
        for arm in ("x", "y", "moved")
    ]  # fmt: skip


def test_moved_state_whose_donor_is_followed_everywhere(made):
    handle = made(*moved())
    assert evidence.donor_followed(handle, "t", "x", "y") == evidence.donor_followed(handle, "t", "y", "x") == (True, 2)
    found = facts(handle)
    assert (found.donor_followed, found.n_followed) == (True, 2)


def test_a_recipient_that_is_followed_is_no_donor(made):
    assert evidence.donor_followed(made(*moved(follows="y")), "t", "x", "y") == (False, 0)


def test_one_transplant_that_follows_nobody_is_enough_against_it(made):
    runs = moved()
    runs[-1] = said("umoved", 122, task="u", arm="moved", manifest=runs[-1].manifest)
    assert evidence.donor_followed(made(*runs), "t", "x", "y") == (False, 1)


def test_a_transplant_into_another_arm_says_nothing_of_this_pair(made):
    assert evidence.donor_followed(made(*moved(recipient="z")), "t", "x", "y") == (False, 0)
    assert evidence.donor_followed(made(*moved(recipient=None)), "t", "x", "y") == (False, 0)


def test_the_recipient_may_be_named_by_the_path(made):
    handle = made(*moved(recipient=None, **{"cache.path": "x-into-y"}))
    assert evidence.donor_followed(handle, "t", "x", "y") == (True, 2)


def test_where_donor_and_recipient_say_the_same_nothing_is_followed(made):
    runs = [said(f"{arm}", 97, arm=arm) for arm in ("x", "y")]
    runs.append(said("m", 97, arm="moved", manifest={"state.donor": "x", "state.recipient": "y"}))
    assert evidence.donor_followed(made(*runs), "t", "x", "y") == (False, 0)


def test_a_transplant_on_other_tasks_only_does_not_speak_for_this_one(made):
    assert evidence.donor_followed(made(*moved()[:5]), "u", "x", "y") == (False, 1)


# Cut off


def test_a_last_completion_of_a_run_that_was_cut_off_may_not_be_whole(made):
    def run(name: str, text: str, *tail, **rest) -> Made:
        return Made(name, [user("u"), completion(text), *tail], **rest)

    assert facts(made(run("1", "p"), run("2", "q", end_reason="timeout"))).cut_off == (("b", "timeout"),)
    assert facts(made(run("1", "p", end_reason="crash"), run("2", "q"))).cut_off == (("a", "crash"),)
    assert facts(made(run("1", "p"), run("2", "q", user("v"), end_reason="timeout"))).cut_off == ()
    assert facts(made(run("1", "p"), run("2", "q"))).cut_off == ()


def test_a_run_cut_off_on_the_common_way_makes_no_fork_and_no_claim_on_one(made):
    handle = made(said("1", 97), Made("2", [user("u")], end_reason="timeout"))
    assert first_divergence(handle, 1, 2) is None


@pytest.mark.parametrize("name", names("samework.claims", "sql"))
def test_query_binds_and_has_the_columns_of_its_header(made, name):
    text = load("samework.claims", f"sql/{name}")
    said_in_header = " ".join(header(text).split())
    assert said_in_header.startswith(f"claims/{name}: ")
    body = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    handle = made()
    parameters = dict.fromkeys(re.findall(r"\$([a-z_]+)", body))
    columns = [row[0] for row in handle.db.execute(f"describe {text}", parameters).fetchall()]
    assert [c for c in columns if not re.search(rf"\b{c}\b", said_in_header.partition("Columns: ")[2])] == []
