"""Each origin in a small made run set: what must be recorded for it, and what withholds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from samework.forks import first_divergence, forks
from tests.forklab import Made, completion, edit, end, observation, store_of, system, user

if TYPE_CHECKING:
    from samework.model.results import ForkNode

CALL = ("bash", '{"command":"ls"}')
GREEDY = {"sampling.temperature": 0}
WARM = {"sampling.temperature": 0.7}


def said(text: str, prompt: tuple[int, ...] | None = (1, 2), **rest):
    return completion(text, prompt_token_ids=prompt, **rest)


def answered(text: str, before: str | None = None, own: str | None = None) -> list:
    return [
        user("u"),
        completion("c", CALL, workspace_tree_oid=before),
        observation(text, workspace_tree_oid=own),
    ]


def pair(first: list, second: list, **rest) -> list[dict]:
    return [{"events": first, **rest}, {"events": second, **rest}]


CASES: dict[str, tuple[str, list[dict]]] = {
    "system text": ("input", pair([system("a"), said("x")], [system("b"), said("x")])),
    "user text": ("input", pair([user("a")], [user("b")])),
    "context edit": ("harness", pair([user("u"), edit("a")], [user("u"), edit("b")])),
    "other kinds": ("harness", pair([user("u"), said("x")], [user("u"), user("more")])),
    "observation": ("environment/workspace_unrecorded", pair(answered("1"), answered("2"))),
    "observation, equal workspace": ("environment/workspace_equal", pair(answered("1", "t"), answered("2", "t"))),
    "observation, other workspace": ("environment/workspace_differed", pair(answered("1", "t"), answered("2", "v"))),
    "observation, own workspace": (
        "environment/workspace_differed",
        pair(answered("1", "t", "x"), answered("2", "t", "y")),
    ),
    "greedy": ("model/greedy", pair([said("x")], [said("y")], manifest=GREEDY)),
    "seeded": ("model/seeded", pair([said("x")], [said("y")], manifest={**WARM, "sampling.seed": 7})),
    "sampling": ("model/sampling", pair([said("x")], [said("y")], manifest=WARM)),
    "other seeds": (
        "model/sampling",
        [
            {"events": [said("x")], "manifest": {**WARM, "sampling.seed": 7}},
            {"events": [said("y")], "manifest": {**WARM, "sampling.seed": 8}},
        ],
    ),
    "temperature unrecorded": ("model", pair([said("x")], [said("y")])),
    "temperature as requested": (
        "model/greedy",
        pair([said("x")], [said("y")], manifest={"sampling.temperature_requested": 0}),
    ),
    "prompt ids differ": ("input/retokenised", pair([said("x", (1, 2))], [said("y", (1, 3))])),
    "prompt ids unrecorded": ("model-or-template", pair([said("x", None)], [said("y", None)])),
    "prompt ids unrecorded in one": ("model-or-template", pair([said("x")], [said("y", None)])),
    "prompt ids unrecorded, sampling": (
        "model-or-template/sampling",
        pair([said("x", None)], [said("y", None)], manifest=WARM),
    ),
    "tokenizer unknown": ("model-or-template", pair([said("x")], [said("y")], tokenizer=None)),
    "producer's digest of the prompt": (
        "model",
        pair([completion("x", prompt_ids_sha256="ab12")], [completion("y", prompt_ids_sha256="ab12")]),
    ),
    "ids of one prompt and a digest of the other": (
        "model-or-template",
        pair([completion("x", prompt_ids_sha256="ab12")], [said("y")]),
    ),
    "termination": ("termination", pair([user("u"), end()], [user("u"), said("x")])),
    "observation cut by the recorder": (
        "unknown",
        pair(
            [*answered("1")[:2], observation("o", truncated_by_recorder=True), said("x", None)],
            [*answered("1")[:2], observation("o", truncated_by_recorder=True), said("y", None)],
        ),
    ),
    "damage before": (
        "unknown",
        [
            {"events": [user("u", offset=0), said("x", offset=90)], "complete": False, "damage_offset": 50},
            {"events": [user("u", offset=0), said("y", offset=90)]},
        ],
    ),
    "damage after": (
        "model",
        [
            {"events": [user("u", offset=0), said("x", offset=90)], "complete": False, "damage_offset": 500},
            {"events": [user("u", offset=0), said("y", offset=90)]},
        ],
    ),
    "damage somewhere": (
        "unknown",
        [{"events": [user("u"), said("x")], "complete": False}, {"events": [user("u"), said("y")]}],
    ),
    "same text, other tokens": (
        "model/greedy",
        pair([said("x", token_ids=(1,))], [said("x", token_ids=(2,))], manifest=GREEDY),
    ),
    "same text, other tokens, other prompt": (
        "input/retokenised",
        pair([said("x", token_ids=(1,))], [said("x", (3,), token_ids=(2,))]),
    ),
}


EQUAL_IDS = "prompt token ids equal in 2 runs (engine-emitted)"
NO_SEED = "seed unrecorded: other samples are to be expected"
EVIDENCE = {
    "system text": "the system text differs",
    "user text": "the user text differs",
    "context edit": "the harness edited the context differently",
    "other kinds": "after the same record comes completion or user",
    "observation": "the same call was answered differently",
    "observation, equal workspace": "the same call on the same workspace tree was answered differently",
    "observation, other workspace": "the same call met workspace trees that differed already",
    "observation, own workspace": "the same call met workspace trees that differed already",
    "greedy": f"{EQUAL_IDS}; temperature 0",
    "seeded": f"{EQUAL_IDS}; temperature 0.7, seed 7 in all runs",
    "sampling": f"{EQUAL_IDS}; temperature 0.7, {NO_SEED}",
    "other seeds": f"{EQUAL_IDS}; temperature 0.7, seeds or temperatures differ",
    "temperature unrecorded": f"{EQUAL_IDS}; temperature unrecorded",
    "temperature as requested": f"{EQUAL_IDS}; temperature 0 (as requested)",
    "prompt ids differ": "prompt token ids differ under equal text",
    "prompt ids unrecorded": "prompt token ids unrecorded in 2 of 2 runs; temperature unrecorded",
    "prompt ids unrecorded in one": "prompt token ids unrecorded in 1 of 2 runs; temperature unrecorded",
    "prompt ids unrecorded, sampling": f"prompt token ids unrecorded in 2 of 2 runs; temperature 0.7, {NO_SEED}",
    "tokenizer unknown": "the tokenizer is not known to be the same; temperature unrecorded",
    "producer's digest of the prompt": "prompt token ids equal in 2 runs (by digest); temperature unrecorded",
    "termination": "1 run(s) ended here by themselves (finished)",
    "ids of one prompt and a digest of the other": (
        "prompt token ids are held of some runs, and only a producer's digest of others; temperature unrecorded"
    ),
    "observation cut by the recorder": "the recorder cut observations, and prompt token ids unrecorded in 2 of 2 runs",
    "damage before": "a record is incomplete before this event: what came first cannot be told",
    "damage after": f"{EQUAL_IDS}; temperature unrecorded",
    "damage somewhere": "a record is incomplete before this event: what came first cannot be told",
    "same text, other tokens": f"{EQUAL_IDS}; temperature 0; the visible text is the same",
    "same text, other tokens, other prompt": "prompt token ids differ under equal text; the visible text is the same",
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """One store with a task per case: case -> (its fork, the fork of the pair)."""
    runs = []
    for task, (_, made) in CASES.items():
        for place, one in enumerate(made):
            defaults = {"end_reason": "finished" if task == "termination" else "unrecorded", "arm": f"arm-{place}"}
            runs.append(Made(f"{task}-{place}", task=task, **{**defaults, **one}))
    handle = store_of(tmp_path_factory.mktemp("origin") / "store", runs)
    found: dict[str, list[ForkNode]] = {}
    for node in forks(handle):
        found.setdefault(node.task, []).append(node)
    keys = {task: 2 * place + 1 for place, task in enumerate(CASES)}
    places = {task: first_divergence(handle, key, key + 1) for task, key in keys.items()}
    yield handle, found, places
    handle.release()


@pytest.mark.parametrize("task", CASES)
def test_origin_is_named_from_what_is_recorded(cases, task):
    _, found, places = cases
    (node,) = found[task]
    assert (node.origin, node.evidence) == (CASES[task][0], EVIDENCE[task])
    assert (node.consequence, node.effect) == ("CU", "unknown")
    assert node.consequence_reason == "tree unknown in at least one run"
    assert (places[task].origin, places[task].evidence) == (node.origin, node.evidence)


@pytest.mark.parametrize("reason", ["timeout", "crash", "cancelled", "log_truncated"])
def test_a_run_that_was_cut_off_while_it_went_alike_makes_no_fork(made, reason):
    handle = made(
        Made("cut", [user("u"), said("x"), end(reason)], end_reason=reason),
        Made("whole", [user("u"), said("x"), observation("o"), said("y"), end()]),
    )
    assert forks(handle) == []
    assert first_divergence(handle, 1, 2) is None


def test_origin_filter_takes_a_word_with_its_subs(cases):
    handle, found, _ = cases
    every = [node for nodes in found.values() for node in nodes]
    for word in ("model", "environment", "input", "unknown", "model-or-template", "harness"):
        chosen = forks(handle, origin=word)
        assert chosen == [node for node in every if node.origin.split("/")[0] == word]
    assert [node.task for node in forks(handle, origin="model/seeded")] == ["seeded"]


def test_evidence_says_what_decided(cases):
    _, found, _ = cases
    assert "engine-emitted" in found["greedy"][0].evidence
    assert "engine-emitted" not in found["producer's digest of the prompt"][0].evidence
    assert "as requested" in found["temperature as requested"][0].evidence
    assert "seed unrecorded" in found["sampling"][0].evidence
