"""Claims through the public surface, on made stores: what the whole chain licenses, and what one gap takes away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import samework as sw
from samework.claims.requirements import REQUIRED
from tests.forklab import Made, completion, store_of, user

if TYPE_CHECKING:
    from pathlib import Path

CERTIFICATE = "same_transcript_different_continuation"


def full() -> dict[str, object]:
    found: dict[str, object] = {need.names[0]: "x" for group in REQUIRED.values() for need in group}
    return found | {"sampling.temperature": 0, "reuse.cached_tokens": 0, "reset.scope": "process"}


def run(name: str, token: int, **rest) -> Made:
    given = {"manifest": full(), **rest}
    return Made(name, [user("u"), completion(chr(token), token_ids=(token,), prompt_token_ids=(1,))], **given)


def claims(path: Path, *runs: Made) -> dict[str, sw.Claim]:
    store_of(path / ".samework", list(runs)).close()
    return {claim.claim: claim for claim in sw.open(path / ".samework").claims(runs[0].run_id, runs[1].run_id)}


def test_a_fork_under_one_manifest_earns_the_certificate_and_excludes_the_measured_state(tmp_path):
    found = claims(tmp_path, run("a", 97), run("b", 98))
    assert found[CERTIFICATE].verdict == "licensed"
    assert found[CERTIFICATE].sentence == "the visible prefix did not determine the continuation"
    assert found["serving_state_excluded"].verdict == "licensed"
    assert "hidden_state_consistent" not in found
    assert "fork_attributed" not in found


def test_an_unrecorded_cache_makes_hidden_state_consistent_with_the_fork(tmp_path):
    other = full()
    del other["cache.host_memory.mib"]
    found = claims(tmp_path, run("a", 97), run("b", 98, manifest=other))
    assert found[CERTIFICATE].verdict == "licensed"
    assert found["hidden_state_consistent"].verdict == "licensed"


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"end_reason": "timeout"}, "not_establishable"),
        ({"complete": False}, "not_establishable"),
        ({"manifest": full() | {"model.sha256": "y"}}, "refuted"),
        ({"manifest": full() | {"sampling.temperature": 0.7}}, "refuted"),
    ],
    ids=["cut off", "incomplete", "other weights", "other temperature"],
)
def test_one_failed_condition_takes_the_certificate_away(tmp_path, change, verdict):
    found = claims(tmp_path, run("a", 97), run("b", 98, **change))
    assert found[CERTIFICATE].verdict == verdict


def test_prompt_ids_by_a_digest_are_not_direct(tmp_path):
    def by_digest(name: str, token: int) -> Made:
        turn = completion(chr(token), token_ids=(token,), prompt_ids_sha256="ab" * 32)
        return Made(name, [user("u"), turn], manifest=full())

    found = claims(tmp_path, by_digest("a", 97), by_digest("b", 98))
    assert (found[CERTIFICATE].verdict, found[CERTIFICATE].fields) == ("not_establishable", ("prompt_token_ids",))


def test_a_run_cut_off_before_the_other_differs_raises_no_certificate(tmp_path):
    short = Made("b", [user("u")], manifest=full(), end_reason="crash")
    assert CERTIFICATE not in claims(tmp_path, run("a", 97), short)


def test_replays_are_demonstrated_with_the_bound_of_their_number(tmp_path):
    found = claims(tmp_path, *(run(str(n), 97) for n in range(6)))
    claim = found["exact_replay_demonstrated"]
    assert claim.verdict == "licensed"
    assert "5 replay(s)" in claim.sentence
    assert f"{1 - 0.05 ** (1 / 5):.3g}" in claim.sentence


def test_a_seventh_run_that_differs_refutes_the_demonstration(tmp_path):
    found = claims(tmp_path, *(run(str(n), 97 if n < 6 else 98) for n in range(7)))
    assert (found["exact_replay_demonstrated"].verdict, found["exact_replay_demonstrated"].fields) == (
        "refuted",
        ("replays",),
    )


def test_an_attributed_fork_with_repeats_of_both_arms(tmp_path):
    runs = [
        run(f"{arm}{n}", ord(arm), arm=arm, manifest=full() | {"kv.dtype": arm}) for n in range(2) for arm in ("x", "y")
    ]
    found = claims(tmp_path, *runs)
    assert found["fork_attributed"].verdict == "licensed"
    assert found["fork_attributed"].sentence == "the fork co-varies with kv.dtype, all else being equal"
    assert found["path_controlled"].verdict == "licensed"
