"""Replay targets T2, T3 and T5: every verdict of each, and what makes a comparison vacuous."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from samework.claims import Facts
from samework.equivalence.manifest_diff import Side
from samework.model.results import FacetVerdict
from samework.model.words import Grade, Verdict
from tests.claimlab import DIFFERENT, FORK, SAME, UNKNOWN, full, hosted, judged, without

CONTROLLED = Facts(self_repeat_disagreements=0)
X = "path_controlled"


def measured(**fields: object) -> dict[str, Side]:
    return full() | {name.replace("__", "."): Side(value, "measured") for name, value in fields.items()}


def toggled():
    """A cache that was off in one run and on, and used, in the other."""
    a = measured(cache__attention_reuse__enabled=False, reuse__cached_tokens=[0, 0])
    b = measured(cache__attention_reuse__enabled=True, reuse__cached_tokens=[0, 75])
    return a, b


def test_two_runs_that_differ_in_one_thing_are_path_controlled():
    for fork in (FORK, None):
        claim = judged(*toggled(), fork=fork, facts=CONTROLLED)[X]
        assert claim.verdict == "licensed"
        assert "cache.attention_reuse.enabled, reuse.cached_tokens" in claim.sentence
    assert judged(full(), measured(kv__dtype="q8_0"), fork=FORK, facts=CONTROLLED)[X].verdict == "licensed"


def test_equal_runs_compare_nothing():
    assert X not in judged(full(), full(), facts=CONTROLLED)


@pytest.mark.parametrize("counts", [([0, 0], [0, 0]), ([0, 75], [0, 75])])
def test_a_cache_that_was_not_used_in_exactly_one_run_makes_a_vacuous_comparison(counts):
    a, b = (
        measured(cache__attention_reuse__enabled=on, reuse__cached_tokens=count)
        for on, count in zip((False, True), counts, strict=True)
    )
    claim = judged(a, b, fork=FORK, facts=CONTROLLED)[X]
    assert (claim.verdict, claim.fields) == ("not_establishable", ("reuse.cached_tokens",))
    assert "vacuous" in claim.sentence
    a, b = (side | {"state.kv_sha256": Side(str(n), "measured")} for n, side in enumerate((a, b)))
    assert judged(a, b, fork=FORK, facts=CONTROLLED)[X].verdict == "licensed"


def test_a_cache_whose_use_was_not_measured_in_both_is_not_controlled():
    a, b = toggled()
    b["reuse.cached_tokens"] = Side([0, 75], "declared")
    assert judged(a, b, fork=FORK, facts=CONTROLLED)[X].fields == ("reuse.cached_tokens",)


@pytest.mark.parametrize("name", ["sampling.temperature", "hw.device", "env.image", "reset.scope", "traffic.position"])
def test_what_must_be_held_refutes_where_it_differs(name):
    b = measured(kv__dtype="q8_0") | {name: Side(1, "measured")}
    claim = judged(full(), b, fork=FORK, facts=CONTROLLED)[X]
    assert (claim.verdict, claim.fields) == ("refuted", (name,))


def test_fields_of_two_kinds_are_not_one_thing():
    b = measured(kv__dtype="q8_0", model__sha256="y")
    claim = judged(full(), b, fork=FORK, facts=CONTROLLED)[X]
    assert (claim.verdict, set(claim.fields)) == ("refuted", {"kv.dtype", "model.sha256"})


@pytest.mark.parametrize(
    ("rest", "verdict", "field"),
    [
        ({"fork": FORK, "facts": Facts()}, "not_establishable", "self_repeats"),
        ({"fork": FORK, "facts": Facts(self_repeat_disagreements=1)}, "refuted", "self_repeats"),
        ({"fork": replace(FORK, prompt_grade=None), "facts": CONTROLLED}, "not_establishable", "prompt_token_ids"),
        ({"fork": replace(FORK, event="observation"), "facts": CONTROLLED}, "refuted", "observations"),
        ({"fork": replace(FORK, event="user"), "facts": CONTROLLED}, "refuted", "user"),
        ({"tokens": FacetVerdict(UNKNOWN, "made"), "facts": CONTROLLED}, "not_establishable", "tokens"),
    ],
)
def test_each_condition_of_a_path_controlled_comparison(rest, verdict, field):
    claim = judged(full(), measured(kv__dtype="q8_0"), **rest)[X]
    assert (claim.verdict, claim.fields) == (verdict, (field,))


def test_a_gap_elsewhere_leaves_it_open():
    b = without("hw.driver") | {"kv.dtype": Side("q8_0", "measured")}
    assert judged(full(), b, fork=FORK, facts=CONTROLLED)[X].fields == ("hw.driver",)


def test_a_hosted_api_has_no_path_controlled_comparison():
    b = hosted() | {"weights.quant": Side("y", "measured")}
    assert judged(hosted(), b, fork=FORK, facts=CONTROLLED)[X].verdict == "not_establishable"


CALLS = FacetVerdict(SAME, "equal", Grade.DIRECT)


def test_tool_call_replay_needs_calls_workspace_and_what_was_asked():
    name = "tool_calls_replay"
    assert judged(full(), full(), actions=CALLS)[name].verdict == "licensed"
    assert judged(full(), measured(kv__dtype="q8_0", model__id="y"), actions=CALLS)[name].verdict == "licensed"
    assert judged(hosted(), hosted(), actions=CALLS)[name].verdict == "licensed"
    assert judged(full(), full(), actions=FacetVerdict(DIFFERENT, "made"))[name].fields == ("actions",)
    assert judged(full(), measured(env__image="y"), actions=CALLS)[name].verdict == "refuted"
    assert judged(full(), without("model.id"), actions=CALLS)[name].fields == ("model.id",)
    assert judged(full(), without("sampling.temperature"), actions=CALLS)[name].fields == ("sampling.temperature",)
    asked = without("sampling.temperature") | {"sampling.temperature_requested": Side(0, "measured")}
    assert judged(asked, asked, actions=CALLS)[name].verdict == "licensed"
    assert judged(full(), full())[name].verdict == "not_establishable"
    assert name not in judged(full(), full(), actions=FacetVerdict(Verdict.NOT_APPLICABLE, "made"))


def test_no_calls_on_both_sides_replay_nothing():
    claim = judged(full(), full(), actions=FacetVerdict(SAME, "equal", Grade.DIRECT, vacuous=True))["tool_calls_replay"]
    assert (claim.verdict, claim.fields) == ("not_establishable", ("actions",))


def test_tests_replay_holds_the_suite_and_environment_of_the_manifest_to_be_equal():
    facts = Facts(discriminating=True)
    one, other = measured(tests__command="pytest"), measured(tests__command="pytest -x")
    assert judged(one, one, facts=facts)["tests_replay"].verdict == "licensed"
    assert judged(one, other, facts=facts)["tests_replay"].fields == ("tests.command",)
    found = judged(one, full(), facts=facts)["tests_replay"]
    assert (found.verdict, found.fields) == ("not_establishable", ("tests.command",))
    assert judged(full(), full(), tests=FacetVerdict(DIFFERENT, "made"))["tests_replay"].verdict == "refuted"
    assert judged(full(), full(), tests=FacetVerdict(UNKNOWN, "made"))["tests_replay"].verdict == "not_establishable"
