"""What a run lacks for each claim: the lists, the least first, and what no next time can mend."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from samework.claims import claims
from samework.claims.facts import Facts
from samework.claims.needs import Held, needs
from samework.claims.requirements import REQUIRED
from samework.equivalence.manifest_diff import Side, difference
from samework.model.results import FacetVerdict
from samework.model.words import Grade, RunKind, Verdict
from tests.claimlab import FORK, diff, full, hosted, pair, without

WHOLE = Held(
    prompt_ids=Grade.DIRECT,
    completion_ids=Grade.DIRECT,
    has_calls=True,
    has_tree=True,
    has_tests=True,
    has_base_report=True,
    has_repeat=True,
)
IDS, PROMPTS = "token_ids of every call", "prompt_token_ids of every call"


def lacking(manifest: dict[str, Side], held: Held = WHOLE) -> dict[str, tuple[str, ...]]:
    return {need.claim: need.missing for need in needs(diff(manifest, manifest), held)}


def test_a_run_that_records_all_lacks_nothing():
    assert set(lacking(full()).values()) == {()}


def test_every_claim_of_a_pair_has_its_line():
    a = full() | {"cache.host_memory.mib": Side(absence="unrecorded")}
    b = full() | {"kv.dtype": Side("q8_0", "measured"), "engine.fingerprint": Side(absence="unobservable")}
    raised = {claim.claim for claim in claims(pair(fork=FORK), diff(a, b), Facts())}
    assert raised - {"hosted_api"} == set(lacking(full()))


def test_the_claim_that_needs_least_comes_first_and_what_is_out_of_reach_last():
    found = needs(diff(without("env.image", "kv.dtype"), without("env.image", "kv.dtype")), WHOLE)
    assert [len(need.missing) for need in found] == sorted(len(need.missing) for need in found)
    found = needs(diff(hosted(), hosted()), WHOLE)
    assert [bool(need.unobservable) for need in found] == sorted(bool(need.unobservable) for need in found)


def test_of_a_hosted_api_only_claims_on_artifacts_and_text_are_in_reach():
    found = {need.claim: need for need in needs(diff(hosted(), hosted()), WHOLE)}
    reachable = {name for name, need in found.items() if not need.unobservable}
    assert reachable == {"same_request", "tool_calls_replay", "tree_replay", "tests_replay"}
    assert found["tree_replay"].missing == ()


@pytest.mark.parametrize("name", sorted({n.names[0] for g in "MQECLHW" for n in REQUIRED[g]}))
def test_each_field_that_replay_requires_is_asked_for_by_name(name):
    found = lacking(without(name))
    assert found["exact_replay_specified"] == (name,)
    assert name in found["exact_replay_demonstrated"]


@pytest.mark.parametrize(
    ("changes", "claim", "missing"),
    [
        ({"prompt_ids": Grade.NONE}, "same_request", (PROMPTS,)),
        ({"prompt_ids": Grade.IMPLIED}, "same_request", (PROMPTS,)),
        ({"prompt_ids": Grade.DIGEST}, "same_request", ()),
        ({"prompt_ids": Grade.DIGEST}, "same_transcript_different_continuation", (PROMPTS,)),
        ({"completion_ids": Grade.DIGEST}, "exact_replay_demonstrated", (IDS,)),
        ({"completion_ids": Grade.NONE}, "path_controlled", (IDS,)),
        ({"has_repeat": False}, "fork_attributed", ("a repeat: another run of this arm and task",)),
        ({"has_repeat": False}, "exact_replay_specified", ()),
        ({"has_calls": False}, "tool_calls_replay", ("tool calls",)),
        ({"has_tree": False}, "tree_replay", ("tree",)),
        ({"has_tests": False}, "tests_replay", ("tests with suite and env",)),
        ({"has_base_report": False}, "tests_replay", ("tests of the base tree",)),
        ({"complete": False}, "tree_replay", ("a whole record",)),
    ],
)
def test_missing_evidence_is_asked_for(changes, claim, missing):
    assert lacking(full(), replace(WHOLE, **changes))[claim] == missing


def test_randomness_asks_for_a_seed():
    hot = full() | {"sampling.temperature": Side(0.7, "measured")}
    assert lacking(hot)["same_transcript_different_continuation"] == ("sampling.seed",)


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"reuse.cached_tokens": Side([0, 0], "declared")}, ("reuse.cached_tokens",)),
        ({"reuse.cached_tokens": Side([0, None], "measured")}, ("reuse.cached_tokens",)),
        ({"reuse.cached_tokens": Side(75, "measured")}, ("reuse.cached_tokens = 0",)),
        ({"reset.scope": Side("slot", "measured")}, ("reset.scope = fresh_container or process",)),
        ({"reset.scope": Side("process", "declared")}, ("reset.scope",)),
    ],
)
def test_serving_state_asks_for_measured_cold_starts(changes, missing):
    assert lacking(full() | changes)["serving_state_excluded"] == missing


def test_runs_of_text_and_of_tool_use_are_not_asked_for_what_they_cannot_leave():
    text, tools = (lacking(full(), replace(WHOLE, kind=kind)) for kind in (RunKind.TEXT, RunKind.TOOL_USE))
    assert not {"tool_calls_replay", "tree_replay", "tests_replay"} & set(text)
    assert "tool_calls_replay" in tools
    assert "tree_replay" not in tools


@pytest.mark.parametrize("gap", ["model.id", "kv.dtype", "env.image", "sampling.temperature", "reset.scope"])
def test_a_claim_that_lacks_nothing_is_blocked_by_no_gap_of_a_pair_of_such_runs(gap):
    """What the list of one run promises, the claims of a pair keep."""
    manifest = without(gap)
    calls = FacetVerdict(Verdict.SAME, "equal", Grade.DIRECT)
    facts = Facts(self_repeat_disagreements=0, discriminating=True)
    for fork in (FORK, None):
        found = {c.claim: c.verdict for c in claims(pair(fork=fork, actions=calls), diff(manifest, manifest), facts)}
        for claim, missing in lacking(manifest).items():
            if claim in found and not missing:
                assert found[claim] != "not_establishable", claim
            if claim in found and missing and found[claim] != "refuted":
                assert found[claim] == "not_establishable", claim


def test_a_field_alone_is_set_beside_itself():
    one = difference("kv.dtype", Side("f16", "measured"), Side("f16", "measured"))
    assert "kv.dtype" not in {name for need in needs([one], WHOLE) for name in need.missing}
