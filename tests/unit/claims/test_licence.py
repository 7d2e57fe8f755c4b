"""Claims: the worked example, what a hosted side withholds, each way to lose the certificate, the wording ladder."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from samework.claims import Facts
from samework.claims.requirements import REQUIRED
from samework.equivalence.manifest_diff import Side
from samework.model.results import FacetVerdict
from samework.model.words import Grade, Verdict
from tests.claimlab import DIFFERENT, FORK, SAME, UNKNOWN, full, hosted, judged, sampled, without


def test_equal_manifests_license_exact_replay():
    found = judged(full(), full())
    assert found["exact_replay_specified"].verdict == "licensed"
    assert found["exact_replay_demonstrated"].verdict == "licensed"
    assert found["same_request"].verdict == "licensed"
    assert found["tree_replay"].verdict == "licensed"


def test_an_unrecorded_cache_policy_blocks_exact_replay_and_is_named():
    a, b = full(), full()
    for side in (a, b):
        side["prefix_cache_policy"] = side.pop("cache.attention_reuse.enabled")
    b["prefix_cache_policy"] = Side(absence="unrecorded")
    claim = judged(a, b)["exact_replay_specified"]
    assert (claim.verdict, claim.fields) == ("not_establishable", ("prefix_cache_policy",))
    assert claim.sentence == "exact replay not establishable: prefix_cache_policy unrecorded in run B"


@pytest.mark.parametrize("name", ["kv.dtype", "kv_dtype"])
def test_another_kv_dtype_refutes_exact_replay(name):
    a, b = full(), full()
    for side, dtype in ((a, "f16"), (b, "q8_0")):
        del side["kv.dtype"]
        side[name] = Side(dtype, "measured")
    claim = judged(a, b)["exact_replay_specified"]
    assert (claim.verdict, claim.fields) == ("refuted", (name,))
    assert claim.sentence == f"exact replay refuted: {name} differs (f16, q8_0)"


def test_a_hosted_api_licenses_no_token_replay_but_tree_replay():
    found = judged(hosted(), hosted())
    for name in ("exact_replay_specified", "exact_replay_demonstrated"):
        assert found[name].verdict == "not_establishable"
        assert "hosted" in found[name].sentence
    assert found["tree_replay"].verdict == "licensed"


def test_a_hosted_side_licenses_no_token_replay_even_where_all_that_is_asked_for_is_recorded():
    a, b = full(), full()
    a["engine.fingerprint"] = b["engine.fingerprint"] = Side(absence="unobservable")
    assert judged(a, b)["exact_replay_specified"].verdict == "not_establishable"


@pytest.mark.parametrize("name", sorted({n.names[0] for g in "MQECLHW" for n in REQUIRED[g]}))
def test_each_required_field_blocks_exact_replay_where_one_side_lacks_it(name):
    b = full()
    del b[name]
    claim = judged(full(), b)["exact_replay_specified"]
    assert (claim.verdict, claim.fields) == ("not_establishable", (name,))


def test_a_seed_is_needed_only_where_sampling_is_not_greedy():
    a, b = full(), full()
    a["sampling.temperature"] = b["sampling.temperature"] = Side(0.7, "measured")
    claim = judged(a, b)["exact_replay_specified"]
    assert (claim.verdict, claim.fields) == ("not_establishable", ("sampling.seed",))
    a["sampling.seed"] = b["sampling.seed"] = Side(7, "measured")
    assert judged(a, b)["exact_replay_specified"].verdict == "licensed"
    b["sampling.seed"] = Side(8, "measured")
    assert judged(a, b)["exact_replay_specified"].verdict == "refuted"


def test_a_boot_id_must_be_recorded_and_may_differ():
    b = full()
    b["server.instance_id"] = Side("another", "measured")
    assert judged(full(), b)["exact_replay_specified"].verdict == "licensed"


def test_a_requested_value_is_not_an_effective_one():
    a, b = full(), full()
    for side in (a, b):
        side["cache.attention_reuse.enabled_requested"] = side.pop("cache.attention_reuse.enabled")
    assert judged(a, b)["exact_replay_specified"].fields == ("cache.attention_reuse.enabled",)


def test_replay_states_its_bound_and_needs_direct_evidence():
    found = judged(full(), full(), facts=Facts(n_replays=59))
    assert "0.0495" in found["exact_replay_demonstrated"].sentence
    weak = judged(full(), full(), tokens=FacetVerdict(SAME, "equal_ids", Grade.DIGEST))
    assert weak["exact_replay_demonstrated"].fields == ("tokens",)


CERTIFICATE = "same_transcript_different_continuation"


def test_the_certificate_has_exactly_the_licensed_wording():
    for a, b in ((full(), full()), (sampled(0.7, 7), sampled(0.7, 7))):
        claim = judged(a, b, fork=FORK)[CERTIFICATE]
        assert claim.verdict == "licensed"
        assert claim.sentence == "the visible prefix did not determine the continuation"


@pytest.mark.parametrize(
    ("changes", "verdict", "field", "words"),
    [
        ({"origin": "input/retokenised", "prompt_grade": None}, "refuted", "prompt_token_ids", "ids differ"),
        (
            {"origin": "model-or-template/greedy", "prompt_grade": None},
            "not_establishable",
            "prompt_token_ids",
            "unknown",
        ),
        ({"origin": "model/greedy", "prompt_grade": None}, "not_establishable", "prompt_token_ids", "unknown"),
        ({"origin": "unknown", "prompt_grade": None}, "not_establishable", "record", "incomplete"),
        ({"prompt_grade": "digest"}, "not_establishable", "prompt_token_ids", "only digest, not direct"),
    ],
    ids=["retokenised", "no model fork", "prompt not same", "incomplete record", "not direct"],
)
def test_the_certificate_is_refused_where_one_condition_of_the_fork_fails(changes, verdict, field, words):
    claim = judged(full(), full(), fork=replace(FORK, **changes))[CERTIFICATE]
    assert (claim.verdict, claim.fields) == (verdict, (field,))
    assert words in claim.sentence


@pytest.mark.parametrize("event", ["user", "observation", "end", "completion/end"])
def test_the_certificate_is_not_raised_where_the_fork_is_no_completion(event):
    assert CERTIFICATE not in judged(full(), full(), fork=replace(FORK, event=event, origin="input"))
    assert CERTIFICATE not in judged(full(), full())


@pytest.mark.parametrize(
    ("a", "b", "verdict", "field"),
    [
        (sampled(0.7, None), sampled(0.7, None), "not_establishable", "sampling.seed"),
        (sampled(0.7, 7), sampled(0.7, None), "not_establishable", "sampling.seed"),
        (sampled(0.7, 7), sampled(0.7, 8), "refuted", "sampling.seed"),
        (sampled(0.7, 7), sampled(0.8, 7), "refuted", "sampling.temperature"),
        (without("sampling.temperature"), full(), "not_establishable", "sampling.temperature"),
        (full(), full() | {"model.sha256": Side("y", "measured")}, "refuted", "model.sha256"),
        (without("model.sha256"), full(), "not_establishable", "model.sha256"),
        (full(), without("model.sha256"), "not_establishable", "model.sha256"),
        (without("model.sha256"), without("model.sha256"), "not_establishable", "model.sha256"),
    ],
    ids=[
        "no seed", "no seed in b", "seeds differ", "temperatures differ", "no temperature",
        "weights differ", "no weights in a", "no weights in b", "no weights in both",
    ],
)  # fmt: skip
def test_the_certificate_is_refused_where_one_field_fails(a, b, verdict, field):
    claim = judged(a, b, fork=FORK)[CERTIFICATE]
    assert (claim.verdict, claim.fields) == (verdict, (field,))


def test_a_requested_temperature_is_no_greedy_one():
    side = without("sampling.temperature") | {"sampling.temperature_requested": Side(0, "measured")}
    assert judged(side, side, fork=FORK)[CERTIFICATE].fields == ("sampling.temperature",)


def test_a_revision_is_no_digest_of_the_weights():
    side = without("model.sha256") | {"model.revision": Side("main", "declared")}
    assert judged(side, side, fork=FORK)[CERTIFICATE].fields == ("model.sha256",)
    assert judged(side, side)["exact_replay_specified"].verdict == "licensed"


def test_the_certificate_is_refused_where_a_run_was_cut_off_in_the_completion():
    claim = judged(full(), full(), fork=FORK, facts=Facts(cut_off=(("b", "timeout"),)))[CERTIFICATE]
    assert (claim.verdict, claim.fields) == ("not_establishable", ("end_reason",))
    assert "run B was cut off in this completion (timeout)" in claim.sentence


def test_the_certificate_is_refused_to_a_hosted_side():
    side = full() | {"engine.fingerprint": Side(absence="unobservable")}
    claim = judged(side, full() | {"engine.fingerprint": Side("x", "measured")}, fork=FORK)[CERTIFICATE]
    assert (claim.verdict, claim.fields) == ("not_establishable", ("engine.fingerprint",))


def test_serving_state_is_excluded_by_measurement_only():
    name = "serving_state_excluded"
    assert judged(full(), full(), fork=FORK)[name].verdict == "licensed"
    declared = {**full(), "reuse.cached_tokens": Side([0, 0], "declared")}
    assert judged(full(), declared, fork=FORK)[name].verdict == "not_establishable"
    gap = {**full(), "reuse.cached_tokens": Side([0, None], "measured")}
    assert judged(full(), gap, fork=FORK)[name].fields == ("reuse.cached_tokens",)
    policy = {**full(), "cache.attention_reuse.enabled": Side(False, "declared")}
    del policy["reuse.cached_tokens"]
    assert judged(policy, policy, fork=FORK)[name].verdict == "not_establishable"
    warm = {**full(), "reuse.cached_tokens": Side([0, 75], "measured")}
    found = judged(full(), warm, fork=FORK)[name]
    assert (found.verdict, "run B reused 75 tokens" in found.sentence) == ("refuted", True)
    slot = {**full(), "reset.scope": Side("slot", "measured")}
    assert judged(full(), slot, fork=FORK)[name].fields == ("reset.scope",)
    certified = judged(slot, warm, fork=FORK, facts=Facts(determinism_certificate=True, n_certified=59))[name]
    assert certified.verdict == "licensed"
    assert "0 of 59" in certified.sentence
    assert "0.0495" in certified.sentence
    found = judged(hosted(), hosted(), fork=FORK, facts=Facts(determinism_certificate=True, n_certified=59))[name]
    assert found.verdict == "not_establishable"


def test_hidden_state_is_consistent_never_the_cause():
    name = "hidden_state_consistent"
    assert name not in judged(full(), full(), fork=FORK)
    b = full()
    del b["cache.host_memory.mib"]
    found = judged(full(), b, fork=FORK)[name]
    assert found.verdict == "licensed"
    assert "consistent with" in found.sentence
    b["kv.dtype"] = Side("q8_0", "measured")
    assert judged(full(), b, fork=FORK)[name].verdict == "refuted"


def test_attribution_climbs_the_ladder_one_rung_at_a_time():
    b = full()
    b["kv.dtype"] = Side("q8_0", "measured")

    def said(**facts) -> tuple[str, str]:
        claim = judged(full(), b, fork=FORK, facts=Facts(**facts))["fork_attributed"]
        return claim.verdict, claim.sentence

    assert said()[0] == "not_establishable"
    assert said()[1].endswith("the fork co-varies with it")
    assert said(self_repeat_disagreements=1)[0] == "refuted"
    verdict, sentence = said(self_repeat_disagreements=0)
    assert (verdict, sentence) == ("licensed", "the fork co-varies with kv.dtype, all else being equal")
    verdict, sentence = said(self_repeat_disagreements=0, assigned_factor="kv.dtype", n_self_repeats=4)
    assert verdict == "licensed"
    assert sentence == "the fork is toggled by kv.dtype, with self-repeat controls (0 of 4 disagree)"


def test_repeats_that_disagree_on_another_task_refute_too():
    b = full() | {"kv.dtype": Side("q8_0", "measured")}
    facts = Facts(self_repeat_disagreements=0, self_repeat_disagreements_elsewhere=2, assigned_factor="kv.dtype")
    claim = judged(full(), b, fork=FORK, facts=facts)["fork_attributed"]
    assert (claim.verdict, claim.fields) == ("refuted", ("self_repeats",))
    assert "2 of them on other tasks" in claim.sentence


def test_another_factor_than_the_assigned_one_is_not_toggled():
    b = full() | {"kv.dtype": Side("q8_0", "measured")}
    facts = Facts(self_repeat_disagreements=0, assigned_factor="attention.backend")
    assert "co-varies" in judged(full(), b, fork=FORK, facts=facts)["fork_attributed"].sentence


def test_an_intervention_on_the_state_says_nothing_of_another_factor():
    facts = Facts(self_repeat_disagreements=0, donor_followed=True, n_followed=3)
    other = full() | {"kv.dtype": Side("q8_0", "measured")}
    assert "donor" not in judged(full(), other, fork=FORK, facts=facts)["fork_attributed"].sentence
    state = full() | {"cache.prefix_policy": Side("x", "measured"), "state.kv_sha256": Side("x", "measured")}
    moved = state | {"cache.prefix_policy": Side("y", "measured"), "state.kv_sha256": Side("y", "measured")}
    claim = judged(state, moved, fork=FORK, facts=facts)["fork_attributed"]
    assert claim.verdict == "licensed"
    assert claim.sentence == (
        "the fork follows the donor of the serving state (cache.prefix_policy, state.kv_sha256) in 3 of 3 transplants"
    )
    mixed = moved | {"kv.dtype": Side("q8_0", "measured")}
    claim = judged(state, mixed, fork=FORK, facts=facts)["fork_attributed"]
    assert (claim.verdict, claim.sentence.endswith("co-varies with them")) == ("not_establishable", True)


def test_an_intervention_stands_where_the_attribution_is_blocked_by_a_gap():
    a, b = (without("env.image") | {"state.kv_sha256": Side(name, "measured")} for name in "xy")
    facts = Facts(self_repeat_disagreements=0, donor_followed=True, n_followed=2)
    claim = judged(a, b, fork=FORK, facts=facts)["fork_attributed"]
    assert (claim.verdict, claim.fields) == ("not_establishable", ("env.image",))
    assert "follows the donor" in claim.sentence


@pytest.mark.parametrize("rung", ["causes", "caused", "because", "due to"])
def test_no_sentence_speaks_of_a_cause(rung):
    b = full() | {"kv.dtype": Side("q8_0", "measured")}
    for facts in (Facts(), Facts(self_repeat_disagreements=0, assigned_factor="kv.dtype", donor_followed=True)):
        sentence = judged(full(), b, fork=FORK, facts=facts)["fork_attributed"].sentence
        assert rung not in sentence


def test_fields_that_differ_together_are_aliases():
    b = full()
    b["kv.dtype"] = b["attention.backend"] = Side("other", "measured")
    claim = judged(full(), b, fork=FORK, facts=Facts(self_repeat_disagreements=0))["fork_attributed"]
    assert (claim.verdict, claim.fields) == ("not_establishable", ("attention.backend", "kv.dtype"))


def test_tests_replay_needs_a_suite_that_tells_work_from_nothing():
    assert judged(full(), full())["tests_replay"].verdict == "not_establishable"
    assert judged(full(), full(), facts=Facts(discriminating=True))["tests_replay"].verdict == "licensed"
    assert judged(full(), full(), facts=Facts(discriminating=False))["tests_replay"].verdict == "not_establishable"
    assumed = FacetVerdict(SAME, "env_assumed", Grade.ASSERTED)
    found = judged(full(), full(), tests=assumed, facts=Facts(discriminating=True))["tests_replay"]
    assert found.fields == ("tests.env",)


def test_tree_replay_needs_the_tree_and_its_workspace_and_no_serving_field():
    no_serving = {name: side for name, side in full().items() if name.split(".")[0] not in ("cache", "engine", "kv")}
    assert judged(no_serving, no_serving)["tree_replay"].verdict == "licensed"
    assert judged(full(), full(), tree=FacetVerdict(DIFFERENT, "made"))["tree_replay"].verdict == "refuted"
    assert "tree_replay" not in judged(full(), full(), tree=FacetVerdict(Verdict.NOT_APPLICABLE, "made"))
    b = full()
    del b["env.image"]
    assert judged(full(), b)["tree_replay"].fields == ("env.image",)


def test_a_replay_that_came_out_otherwise_refutes_the_demonstration():
    found = judged(full(), full(), facts=Facts(n_replays=9, n_replays_differing=1))["exact_replay_demonstrated"]
    assert (found.verdict, found.fields) == ("refuted", ("replays",))
    assert found.sentence.endswith("the tokens are observed equal")


def test_tokens_without_a_whole_manifest_are_observed_equal_and_no_more():
    found = judged(full(), without("kv.dtype"))["exact_replay_demonstrated"]
    assert (found.verdict, found.sentence.endswith("observed equal")) == ("not_establishable", True)


def test_different_and_unknown_tokens_demonstrate_nothing():
    for verdict, expected in ((DIFFERENT, "refuted"), (UNKNOWN, "not_establishable")):
        found = judged(full(), full(), tokens=FacetVerdict(verdict, "made"))["exact_replay_demonstrated"]
        assert (found.verdict, found.fields) == (expected, ("tokens",))


def test_of_a_hosted_api_only_tree_tests_and_same_text_claims_hold():
    found = judged(hosted(), hosted(), fork=FORK, facts=Facts(discriminating=True, self_repeat_disagreements=0))
    licensed = {name for name, claim in found.items() if claim.verdict == "licensed"}
    assert licensed <= {"same_request", "tool_calls_replay", "tree_replay", "tests_replay"}
    assert {"tree_replay", "tests_replay"} <= licensed
    claim = found["hosted_api"]
    assert claim.verdict == "not_establishable"
    assert "kv.dtype" in claim.fields
    assert "only tree, tests and same-text claims hold" in claim.sentence
    assert "hosted_api" not in judged(full(), full())


def test_same_request_says_same_text_only_where_the_text_is_the_same():
    unknown = FacetVerdict(UNKNOWN, "made")
    for text, ends in ((FacetVerdict(SAME, "made"), True), (unknown, False)):
        claim = judged(full(), full(), tokens=unknown, text=text)["same_request"]
        assert (claim.verdict, claim.sentence.endswith("same text")) == ("not_establishable", ends)


def test_same_request_says_same_text_where_ids_are_unrecorded():
    fork = replace(FORK, origin="model-or-template", prompt_grade=None)
    claim = judged(full(), full(), fork=fork)["same_request"]
    assert (claim.verdict, claim.sentence.endswith("same text")) == ("not_establishable", True)
    other = replace(FORK, event="user", origin="input", prompt_grade=None)
    assert judged(full(), full(), fork=other)["same_request"].verdict == "refuted"
