"""`show` names what to record next time, out of a real store."""

from __future__ import annotations

from pathlib import Path

import pytest

import samework as sw

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> sw.Store:
    made = sw.create(tmp_path_factory.mktemp("next") / ".samework")
    arms = ("retained-1", "retained-2", "recomputed-1")
    paths = [FIXTURES / "kv-path" / task / arm for task in ("code-016", "tool-000") for arm in arms]
    made.ingest(*paths, FIXTURES / "small" / "hosted-api")
    return made


def test_a_recorded_engine_lacks_little(store: sw.Store) -> None:
    found = {need.claim: need for need in store.show("code-016:retained:1").next_time}
    assert found["tree_replay"].missing == ("env.image",)
    assert found["exact_replay_specified"].missing == ("engine.binary_sha256", "traffic.position", "env.image")
    assert found["fork_attributed"].missing == found["exact_replay_specified"].missing
    assert "token_ids of every call" not in found["exact_replay_demonstrated"].missing
    assert "prompt_token_ids of every call" in found["exact_replay_demonstrated"].missing


def test_an_arm_without_a_repeat_is_asked_for_one(store: sw.Store) -> None:
    found = {need.claim: need for need in store.show("code-016:recomputed:1").next_time}
    assert any(name.startswith("a repeat") for name in found["fork_attributed"].missing)


def test_a_run_of_tool_use_is_asked_for_no_tree(store: sw.Store) -> None:
    claims = {need.claim for need in store.show("tool-000:retained:1").next_time}
    assert "tree_replay" not in claims
    assert "tool_calls_replay" in claims


def test_a_hosted_run_has_claims_out_of_reach(store: sw.Store) -> None:
    found = {need.claim: need for need in store.show("hosted-api:one:1").next_time}
    assert found["exact_replay_specified"].unobservable
    assert not found["tree_replay"].unobservable
