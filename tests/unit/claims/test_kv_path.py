"""Claims and causes on recorded engine runs: what the transplants carry, and where the record stops short."""

from __future__ import annotations

import json

import pytest

import samework as sw

TASKS = ("code-016", "tool-011", "tool-000")


@pytest.fixture(scope="module")
def store(tmp_path_factory, request) -> sw.Store:
    fixture = request.config.rootpath / "fixtures" / "kv-path"
    made = sw.create(tmp_path_factory.mktemp("kv") / ".samework")
    made.ingest(*(fixture / task for task in TASKS))
    return made


@pytest.fixture(scope="module")
def forked(store) -> str:
    """A task on which the arms retained and split wrote different tokens, by the engine's own verdicts."""
    return next(task for task in TASKS if store.compare(f"{task}:retained:1", f"{task}:split:1").fork is not None)


def claims(store: sw.Store, a: str, b: str) -> dict[str, sw.Claim]:
    return {claim.claim: claim for claim in store.claims(a, b)}


def test_the_fork_of_retained_and_split_follows_the_donor(store, forked):
    claim = claims(store, f"{forked}:retained:1", f"{forked}:split:1")["fork_attributed"]
    assert claim.verdict == "not_establishable"
    assert claim.fields == ("engine.binary_sha256", "traffic.position", "env.image")
    assert "the fork follows the donor of the serving state" in claim.sentence


def test_without_a_transplant_between_the_arms_the_fork_only_co_varies(store):
    claim = claims(store, "code-016:retained:1", "code-016:recomputed:1")["fork_attributed"]
    assert claim.sentence.endswith("the fork co-varies with them")
    assert "donor" not in claim.sentence


def test_digests_of_prompts_carry_no_certificate_and_reused_tokens_no_exclusion(store):
    found = claims(store, "code-016:retained:1", "code-016:recomputed:1")
    assert found["same_transcript_different_continuation"].fields == ("prompt_token_ids",)
    assert (found["serving_state_excluded"].verdict, found["serving_state_excluded"].fields) == (
        "refuted",
        ("reuse.cached_tokens",),
    )
    assert found["same_request"].verdict == "licensed"


def test_repeats_of_one_path_replay_but_are_not_demonstrated(store):
    claim = claims(store, "code-016:retained:1", "code-016:retained:2")["exact_replay_demonstrated"]
    assert claim.verdict == "not_establishable"
    assert not any("differ" in name for name in claim.fields)


def test_the_path_of_the_cache_co_varies_and_no_more(store):
    found = store.causes()
    row = next(row for row in found.rows if "cache.path" in row.fields)
    assert (row.effect, row.arm, row.order) == (1.0, "same", "unrecorded")
    assert {row.rung for row in found.rows} <= {"co_varies", "not_detected", "untestable"}
    assert {gap.field for gap in found.unrecorded} == {"engine.binary_sha256", "env.image", "traffic.position"}
    assert json.loads(json.dumps([row.sentence for row in found.rows]))
