"""Claims: the worked example, what a hosted side withholds, each way to lose the certificate, the wording ladder."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from samework.claims import Facts, claims
from samework.claims.requirements import REQUIRED
from samework.equivalence.manifest_diff import Side, difference
from samework.model.results import FacetVerdict, ForkPlace, PairResult
from samework.model.words import Consequence, Grade, RunClass, Status, Verdict

SAME, DIFFERENT, UNKNOWN = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNKNOWN
FORK = ForkPlace(
    step=2,
    seq=3,
    event="completion",
    origin="model/greedy",
    consequence=Consequence.ABSORBED,
    n_shared_events=3,
    prompt_grade="direct",
)


def full() -> dict[str, Side]:
    """A manifest in which every requirement is recorded, measured."""
    made = {need.names[0]: Side("x", "measured") for group in REQUIRED.values() for need in group}
    made["sampling.temperature"] = Side(0, "measured")
    made["reuse.cached_tokens"] = Side([0, 0], "measured")
    made["reset.scope"] = Side("process", "measured")
    return made


def diff(a: dict[str, Side], b: dict[str, Side]):
    none = Side(absence="unrecorded")
    return tuple(difference(name, a.get(name, none), b.get(name, none)) for name in sorted(a.keys() | b.keys()))


def pair(*, fork: ForkPlace | None = None, **facets: FacetVerdict) -> PairResult:
    given = {
        "tokens": FacetVerdict(DIFFERENT if fork else SAME, "made", Grade.DIRECT),
        "tree": FacetVerdict(SAME, "made", Grade.DIRECT),
        "tests": FacetVerdict(SAME, "equal_outcomes", Grade.DIRECT),
        **facets,
    }
    return PairResult("a", "b", "t", RunClass.TOKEN, Status.ESTABLISHED, (), (), given, fork)


def judged(a, b, *, facts: Facts | None = None, **rest):
    return {claim.claim: claim for claim in claims(pair(**rest), diff(a, b), facts)}


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


def hosted() -> dict[str, Side]:
    hidden = {need.names[0] for group in "ECLH" for need in REQUIRED[group]}
    return {name: Side(absence="unobservable") if name in hidden else side for name, side in full().items()}


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
    claim = judged(full(), full(), fork=FORK)[CERTIFICATE]
    assert claim.verdict == "licensed"
    assert claim.sentence == "the visible prefix did not determine the continuation"


@pytest.mark.parametrize(
    ("changes", "verdict", "field"),
    [
        ({"origin": "input/retokenised", "prompt_grade": None}, "refuted", "prompt_token_ids"),
        ({"origin": "model-or-template/greedy", "prompt_grade": None}, "not_establishable", "prompt_token_ids"),
        ({"origin": "unknown", "prompt_grade": None}, "not_establishable", "prompt_token_ids"),
        ({"prompt_grade": "digest"}, "not_establishable", "prompt_token_ids"),
        ({"origin": "model/sampling"}, "not_establishable", "sampling.seed"),
        ({"origin": "model"}, "not_establishable", "sampling.temperature"),
    ],
)
def test_the_certificate_is_refused_where_one_condition_of_the_fork_fails(changes, verdict, field):
    claim = judged(full(), full(), fork=replace(FORK, **changes))[CERTIFICATE]
    assert (claim.verdict, claim.fields[0]) == (verdict, field)


def test_the_certificate_needs_equal_weights():
    b = full()
    del b["model.sha256"]
    assert judged(full(), b, fork=FORK)[CERTIFICATE].fields == ("model.sha256",)
    b["model.sha256"] = Side("y", "measured")
    assert judged(full(), b, fork=FORK)[CERTIFICATE].verdict == "refuted"


def test_serving_state_is_excluded_by_measurement_only():
    name = "serving_state_excluded"
    assert judged(full(), full(), fork=FORK)[name].verdict == "licensed"
    declared = {**full(), "reuse.cached_tokens": Side([0, 0], "declared")}
    assert judged(full(), declared, fork=FORK)[name].verdict == "not_establishable"
    warm = {**full(), "reuse.cached_tokens": Side([0, 75], "measured")}
    found = judged(full(), warm, fork=FORK)[name]
    assert (found.verdict, "run B reused 75 tokens" in found.sentence) == ("refuted", True)
    slot = {**full(), "reset.scope": Side("slot", "measured")}
    assert judged(full(), slot, fork=FORK)[name].fields == ("reset.scope",)
    assert judged(slot, warm, fork=FORK, facts=Facts(determinism_certificate=True))[name].verdict == "licensed"


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
    assert "toggled" in said(self_repeat_disagreements=0, assigned_factor="kv.dtype")[1]
    assert "follows the donor" in said(self_repeat_disagreements=0, donor_followed=True)[1]


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


def test_same_request_says_same_text_where_ids_are_unrecorded():
    fork = replace(FORK, origin="model-or-template", prompt_grade=None)
    claim = judged(full(), full(), fork=fork)["same_request"]
    assert (claim.verdict, claim.sentence.endswith("same text")) == ("not_establishable", True)
    other = replace(FORK, event="user", origin="input", prompt_grade=None)
    assert judged(full(), full(), fork=other)["same_request"].verdict == "refuted"
