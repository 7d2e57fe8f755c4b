"""Pairs as they are recorded: two bundles through the readers, the digests and the judgement, to their verdicts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import samework as sw
from tests.stores import empty_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from samework.model.results import Claim, PairResult

Compare = "Callable[..., PairResult]"
FIXED = {"template.sha256": "t", "template.reads_clock": False}
TOKENS = {"tokenizer": "tok"}
U1, U2 = {"kind": "user", "text": "one"}, {"kind": "user", "text": "two"}


def said(text: str, **rest: Any) -> dict[str, Any]:
    return {"kind": "completion", "text": text, **rest}


def with_ids(text: str, *ids: int, **rest: Any) -> dict[str, Any]:
    return said(text, token_ids=list(ids), prompt_token_ids=[9], **rest)


def call(name: str, arguments: dict[str, object], call_id: str | None = None) -> dict[str, Any]:
    return {"name": name, "arguments": json.dumps(arguments), **({"id": call_id} if call_id else {})}


def saw(text: str, call_id: str | None = None, **rest: Any) -> dict[str, Any]:
    return {"kind": "observation", "text": text, **({"call_id": call_id} if call_id else {}), **rest}


@pytest.fixture
def compared(tmp_path: Path) -> Callable[..., PairResult]:
    """Compare two runs given by their events; `run`: what both say of themselves, `a`, `b`: what one does."""

    def compare(
        first: list[dict[str, Any]],
        second: list[dict[str, Any]],
        *,
        a: dict[str, Any] | None = None,
        b: dict[str, Any] | None = None,
        manifest: dict[str, object] | None = None,
        strict: bool = False,
        **run: Any,
    ) -> PairResult:
        for arm, events, own in (("a", first, a), ("b", second, b)):
            folder = tmp_path / arm
            folder.mkdir()
            told = {"task": "t", "arm": arm, "kind": "tool-use", "repeat": "1", **run, **(own or {})}
            for name, data in told.pop("files", {}).items():
                (folder / name).write_text(data)
            if events:
                told["transcript"] = "events.jsonl"
                (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
            if facts := (manifest or {}) | told.pop("facts", {}):
                told["manifest"] = "manifest.json"
                (folder / "manifest.json").write_text(json.dumps(facts))
            (folder / "run.json").write_text(json.dumps(told))
        store = sw.Store(empty_store(tmp_path / ".samework"))
        store.ingest(tmp_path / "a", tmp_path / "b")
        return store.compare("t:a:1", "t:b:1", strict=strict)

    return compare


def verdict(found: PairResult, facet: str) -> tuple[str, str]:
    judged = found.facets[facet]
    return judged.verdict.value, judged.reason


# Prompts that are implied


def test_completions_in_other_places_imply_no_equal_prompts(compared: Compare) -> None:
    x, y = said("x", token_ids=[1, 2]), said("y", token_ids=[3])
    found = compared([U1, x, U2, y], [U1, U2, x, y], manifest=FIXED, **TOKENS)
    assert verdict(found, "tokens") == ("unknown", "prompt_ids_unrecorded")


def test_completions_in_the_same_places_imply_equal_prompts(compared: Compare) -> None:
    events = [U1, said("x", token_ids=[1, 2]), U2, said("y", token_ids=[3])]
    found = compared(events, [*events[:3], said("y", token_ids=[3], time="later")], manifest=FIXED, **TOKENS)
    assert verdict(found, "tokens") == ("same", "equal_ids")
    assert found.facets["tokens"].grade == "implied"


READS = [call("read", {"f": "a"}, "c1"), call("read", {"f": "b"}, "c2")]


def test_swapped_results_of_parallel_calls_are_other_observations(compared: Compare) -> None:
    asked, done = said("x", token_ids=[1], tool_calls=READS), said("y", token_ids=[3])
    there = [U1, asked, saw("X", "c1"), saw("Y", "c2"), done]
    back = [U1, asked, saw("X", "c2"), saw("Y", "c1"), done]
    found = compared(there, back, manifest=FIXED, **TOKENS)
    assert verdict(found, "observations") == ("different", "digests_differ")
    assert verdict(found, "tokens") == ("unknown", "prompt_ids_unrecorded")
    assert (found.fork.step, found.fork.event) == (1, "observation")


@pytest.mark.parametrize(
    "results",
    [
        [saw("X"), saw("Y")],
        [saw("X", "c1"), saw("Y")],
    ],
    ids=["no ids", "one id"],
)
def test_results_without_ids_answer_the_oldest_open_call(compared: Compare, results: list[dict[str, Any]]) -> None:
    asked = said("x", tool_calls=READS)
    found = compared([U1, asked, saw("X", "c1"), saw("Y", "c2")], [U1, asked, *results])
    assert verdict(found, "observations") == ("same", "equal_digests")


def test_results_of_two_turns_that_come_late_are_told_apart(compared: Compare) -> None:
    turns = [said("x", tool_calls=READS[:1]), said("y", tool_calls=READS[1:])]
    found = compared([*turns, saw("X", "c1"), saw("Y", "c2")], [*turns, saw("X", "c2"), saw("Y", "c1")])
    assert verdict(found, "observations") == ("different", "digests_differ")


def test_a_late_part_of_a_result_still_belongs_to_its_call(compared: Compare) -> None:
    asked = said("x", tool_calls=READS)
    there = [asked, saw("X", "c1"), saw("Y", "c2"), saw("Z", "c1")]
    back = [asked, saw("X", "c1"), saw("Y", "c2"), saw("Z", "c2")]
    assert verdict(compared(there, back), "observations") == ("different", "digests_differ")


# Ids that cannot be all


@pytest.mark.parametrize("lost", [{"token_ids": []}, {"token_ids_sha256": ""}, {"token_ids_sha256": "unrecorded"}])
def test_no_ids_beside_content_are_unrecorded(compared: Compare, lost: dict[str, Any]) -> None:
    a, b = ([U1, said(text, prompt_token_ids=[9], **lost)] for text in ("abc", "xyz"))
    assert verdict(compared(a, b, **TOKENS), "tokens") == ("unknown", "token_ids_unrecorded")


def test_fewer_ids_than_were_counted_are_not_all(compared: Compare) -> None:
    one = [U1, with_ids("yes", 5, is_raw_text=True, usage={"completion_tokens": 3})]
    two = [U1, with_ids("no", 5, is_raw_text=True, usage={"completion_tokens": 3})]
    assert verdict(compared(one, two, **TOKENS), "tokens") == ("unknown", "token_ids_partly_recorded")


def test_equal_ids_of_other_raw_text_decide_nothing(compared: Compare) -> None:
    one, two = ([U1, with_ids(text, 5, is_raw_text=True)] for text in ("yes", "no"))
    found = compared(one, two, **TOKENS)
    assert verdict(found, "tokens") == ("unknown", "ids_contradicted")
    assert found.run_class.value == "unresolved"


def test_equal_ids_of_other_calls_by_one_recorder_decide_nothing(compared: Compare) -> None:
    one, two = ([U1, with_ids("x", 5, tool_calls=[call("ls", {"d": name})])] for name in ("a", "b"))
    assert verdict(compared(one, two, recorder="rec 1.0", **TOKENS), "tokens") == ("unknown", "ids_contradicted")


# What is not comparable does not differ


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"token_ids": [1], "prompt_token_ids": [9]}, {"token_ids_sha256": "ab", "prompt_ids_sha256": "cd"}),
        (
            {"token_ids_sha256": "ab", "prompt_ids_sha256": "cd", "n_prompt_tokens": 5},
            {"token_ids_sha256": "ab", "prompt_ids_sha256": "cd"},
        ),
        ({"usage": {"completion_tokens": 5}}, {"usage": {"completion_tokens": 5, "reasoning_tokens": 0}}),
        ({"usage": {"completion_tokens": 5}}, {}),
        ({"reasoning_hidden": True}, {"reasoning": "hm"}),
    ],
    ids=["hash and ids", "size of a prompt", "reasoning tokens", "usage", "hidden reasoning"],
)
def test_what_one_side_does_not_record_is_unknown(compared: Compare, a: dict[str, Any], b: dict[str, Any]) -> None:
    found = compared([U1, said("x", **a)], [U1, said("x", **b)], recorder="rec 1.0", **TOKENS)
    assert found.facets["tokens"].verdict == "unknown"
    assert found.facets["text"].verdict in ("same", "unknown")


def test_counts_of_other_completions_are_not_compared(compared: Compare) -> None:
    counted = said("x", usage={"completion_tokens": 5})
    found = compared([U1, counted, said("x")], [U1, said("x"), counted], recorder="rec 1.0")
    assert found.facets["tokens"].verdict == "unknown"


def test_reasoning_that_one_keeps_back_leaves_equal_prose_unknown_and_other_prose_different(compared: Compare) -> None:
    found = compared([U1, said("x", reasoning_hidden=True)], [U1, said("x", reasoning="hm")])
    assert verdict(found, "text") == ("unknown", "reasoning_hidden")


def test_other_prose_differs_whatever_reasoning_is_kept_back(compared: Compare) -> None:
    found = compared([U1, said("x", reasoning_hidden=True)], [U1, said("y", reasoning="hm")])
    assert verdict(found, "text") == ("different", "digests_differ")


def test_other_counts_refute_tokens(compared: Compare) -> None:
    one, two = ([U1, said("x", usage={"completion_tokens": n})] for n in (5, 6))
    assert verdict(compared(one, two, recorder="rec 1.0"), "tokens") == ("different", "counts_refute")


@pytest.mark.parametrize(
    ("recorder", "expected"),
    [
        ("rec 1.0", ("different", "text_refutes")),
        ("rec (unknown version)", ("unknown", "token_ids_unrecorded")),
        ("rec", ("unknown", "token_ids_unrecorded")),
    ],
)
def test_text_refutes_tokens_only_where_the_recorders_version_is_known(
    compared: Compare, recorder: str, expected: tuple[str, str]
) -> None:
    assert verdict(compared([said("x")], [said("y")], recorder=recorder), "tokens") == expected


# Completions that the recorder cut


def test_a_completion_that_the_recorder_cut_is_unknown(compared: Compare) -> None:
    events = [U1, said("", truncated_by_recorder=True, usage={"completion_tokens": 7}), said("x")]
    found = compared(events, [*events[:2], said("x", time="later")], recorder="rec 1.0")
    for facet in ("text", "actions"):
        assert verdict(found, facet) == ("unknown", "recorder_truncated")
    assert found.facets["observations"].verdict == "same"


def test_calls_beside_words_that_were_cut_are_compared(compared: Compare) -> None:
    one, two = ([U1, said("I wi", truncated_by_recorder=True, tool_calls=[call("ls", {}, f"c{n}")])] for n in range(2))
    found = compared(one, two)
    assert verdict(found, "text") == ("unknown", "recorder_truncated")
    assert verdict(found, "actions") == ("same", "equal_digests")


# Runs that were cut off

CUT = {"end_reason": "timeout"}


@pytest.mark.parametrize(
    ("short", "long", "facet"),
    [
        ([U1, with_ids("x", 1, 2)], [U1, with_ids("xyz", 1, 2, 3)], "tokens"),
        ([U1, said("I wi")], [U1, said("I will", tool_calls=READS)], "text"),
        ([said("", reasoning="hm")], [said("x", reasoning="hmm")], "text"),
        ([said("x", tool_calls=READS[:1])], [said("x", tool_calls=READS)], "actions"),
        (
            [said("x", tool_calls=READS), saw("li", "c1")],
            [said("x", tool_calls=READS), saw("line", "c1", exit_status=0)],
            "observations",
        ),
        ([{"kind": "end", "text": "timeout"}], [U1, said("x", tool_calls=READS)], "actions"),
    ],
    ids=["ids", "text", "reasoning", "calls", "observation", "nothing"],
)
def test_a_run_that_was_cut_within_an_event_may_have_gone_on_alike(
    compared: Compare, short: list[dict[str, Any]], long: list[dict[str, Any]], facet: str
) -> None:
    found = compared(short, long, a=CUT, recorder="rec 1.0", **TOKENS)
    assert "different" not in {judged.verdict.value for judged in found.facets.values()}
    assert found.facets[facet].reason == f"censored@{0 if short[0]['kind'] == 'end' else 1}"


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ([U1, said("I wo")], [U1, said("I will")]),
        ([U1, with_ids("x", 1, 3)], [U1, with_ids("xyz", 1, 2, 3)]),
        ([U1, said("x", tool_calls=READS[1:])], [U1, said("x", tool_calls=READS)]),
        ([U1, said("x", tool_calls=READS)], [U1, said("x!", tool_calls=READS)]),
    ],
    ids=["text", "ids", "calls", "text before calls"],
)
def test_a_run_that_was_cut_after_it_differed_differs(
    compared: Compare, short: list[dict[str, Any]], long: list[dict[str, Any]]
) -> None:
    found = compared(short, long, a=CUT, **TOKENS)
    assert "different" in {found.facets[name].verdict.value for name in ("text", "actions")}


# Tests


def junit(*cases: str, n: int | None = None) -> str:
    named = (case.partition(" ") for case in cases)
    held = "".join(f'<testcase classname="k" name="{name}">{told}</testcase>' for name, _, told in named)
    return f'<testsuite name="s" tests="{len(cases) if n is None else n}">{held}</testsuite>'


FAILED, SKIPPED = '<failure message="m"/>', '<skipped message="m"/>'


@pytest.mark.parametrize(
    ("strict", "status", "tests"),
    [(False, "provisional", ("different", "env_assumed")), (True, "unresolved", ("unknown", "report_incomplete"))],
)
def test_an_incomplete_report_refutes_no_more_than_its_environment_is_known(
    compared: Compare, strict: bool, status: str, tests: tuple[str, str]
) -> None:
    reports = {"tests": [{"report": "j.xml", "suite": "s"}], "kind": "coding"}
    a = {"files": {"j.xml": junit("a", n=5)}, "tree": {"oid": "a" * 40}}
    b = {"files": {"j.xml": junit(f"a {FAILED}")}, "tree": {"oid": "b" * 40}}
    found = compared([], [], a=a, b=b, strict=strict, **reports)
    assert found.status.value == status
    assert verdict(found, "tests") == tests
    assert found.facets["tests"].grade == ("none" if strict else "asserted")


def test_of_two_suites_one_that_ran_nothing_leaves_the_tests_unknown(compared: Compare) -> None:
    named = [{"report": "j.xml", "suite": "s", "env": "e"}, {"report": "k.xml", "suite": "s2", "env": "e"}]
    a = {"files": {"j.xml": junit("a"), "k.xml": junit(f"z {SKIPPED}")}, "tree": {"oid": "a" * 40}}
    b = {"files": {"j.xml": junit("a") + "\n", "k.xml": junit(f"z {SKIPPED}")}, "tree": {"oid": "b" * 40}}
    found = compared([], [], a=a, b=b, tests=named, kind="coding")
    assert verdict(found, "tests") == ("unknown", "vacuous")


# Masks


def test_a_root_is_masked_only_where_a_path_begins(compared: Compare) -> None:
    a, b = ([U1, said("x", tool_calls=[call("rm", {"p": f"/etc/{name}"})])] for name in "ab")
    found = compared(a, b, a={"facts": {"workspace.root": "/a"}}, b={"facts": {"workspace.root": "/b"}})
    assert verdict(found, "actions") == ("different", "digests_differ")


def test_a_root_in_a_root_goes_with_it(compared: Compare) -> None:
    a, b = ([U1, said("x", tool_calls=[call("rm", {"p": path})])] for path in ("/w/x", "/w/sub/x"))
    found = compared(a, b, manifest={"workspace.root": "/w", "workspace.cwd": "/w/sub"})
    assert verdict(found, "actions") == ("different", "digests_differ")


# Serving state


def measured(reused: object) -> dict[str, object]:
    told = {"reset.scope": "process", "reuse.cached_tokens": reused}
    return {name: {"value": value, "source": "measured"} for name, value in told.items()}


def exclusion(found: PairResult) -> Claim:
    return next(claim for claim in found.claims if claim.claim == "serving_state_excluded")


def test_calls_that_reused_tokens_are_no_cold_start_whatever_the_manifest_says(compared: Compare) -> None:
    a, b = ([U1, said(text, usage={"cached_tokens": n})] for text, n in (("x", 75), ("y", 0)))
    claim = exclusion(compared(a, b, manifest=measured(0)))
    assert (claim.verdict, "run A reused 75 tokens" in claim.sentence) == ("refuted", True)


@pytest.mark.parametrize(("reused", "word"), [([0, 0], "licensed"), (0, "licensed")])
def test_a_count_for_each_call_after_a_cold_start_excludes_serving_state(
    compared: Compare, reused: object, word: str
) -> None:
    found = compared([said("x"), said("x")], [said("x"), said("y")], manifest=measured(reused))
    assert exclusion(found).verdict == word


def test_a_list_of_reused_tokens_needs_an_entry_for_each_call(compared: Compare) -> None:
    claim = exclusion(compared([said("x"), said("x")], [said("x"), said("y")], manifest=measured([0])))
    assert (claim.verdict, claim.fields) == ("not_establishable", ("reuse.cached_tokens",))
