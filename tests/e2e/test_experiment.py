"""`samework experiment` as a command: the numbers of the engine's runs, refusals, JSON against its schema."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import samework as samework_api
from tests.command import answer, new_store, samework

SCHEMA = Path(__file__).resolve().parents[2] / "schema" / "experiment.schema.json"


def level(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in found["levels"] if each["level"] == name)


def across(found: dict[str, Any], name: str) -> dict[str, Any]:
    (each,) = level(found, name)["across"]
    return each


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arms", "n_tokens"),
    [("retained,recomputed", 14), ("retained,split", 11), ("recomputed,chunked", 3)],
)
def test_kv_path_shows_self_repeats_beside_differences(kv_store: Path, arms: str, n_tokens: int) -> None:
    found = answer("experiment", "--arms", arms, store=kv_store)
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    tokens = level(found, "tokens")
    for each in tokens["by_arm"]:
        n_items = 0 if each["arm"] == "chunked" else 60
        assert (each["found"]["items"]["k"], each["found"]["items"]["n"]) == (0, n_items)
    items = across(found, "tokens")["found"]["items"]
    assert (items["k"], items["n"], items["n_unknown"]) == (n_tokens, 60, 0)
    assert len(across(found, "tokens")["items"]) == n_tokens


@pytest.mark.slow
def test_kv_path_divides_cleanly_so_p_is_a_third_per_item(kv_store: Path) -> None:
    found = answer("experiment", "--arms", "retained,recomputed", store=kv_store)
    test = across(found, "tokens")["test"]
    assert test["p"] == pytest.approx((1 / 3) ** 14)
    assert test["excess_divergence"] == pytest.approx(14 / 60)
    calls = across(found, "actions")
    assert (calls["found"]["items"]["k"], calls["found"]["items"]["n"]) == (8, 30)
    assert [item["task"] for item in across(found, "tests")["items"]] == ["code-016"]
    assert across(found, "tests")["test"]["p"] is None


@pytest.mark.slow
def test_kv_path_without_a_control_says_so_before_any_number(kv_store: Path) -> None:
    done = samework("experiment", "--arms", "recomputed,chunked", store=kv_store)
    assert done.returncode == 0
    said, _, _ = done.stdout.partition("runs of an item")
    assert "No control: chunked has one run of each item" in said
    assert "180 more" in said
    assert "no effect" not in done.stdout


@pytest.mark.slow
def test_kv_path_transplants_follow_the_donor_both_ways(kv_store: Path) -> None:
    found = answer("experiment", "--arms", "retained,split", store=kv_store)
    assert [(each["arm"], each["donor"], each["recipient"]) for each in found["donors"]] == [
        ("retained-into-split", "retained", "split"),
        ("split-into-retained", "split", "retained"),
    ]
    for each in found["donors"]:
        assert (each["follows_donor"], each["n_items"]) == (60, 60)
        assert (each["apart_donor"], each["n_apart"], each["apart_recipient"]) == (11, 11, 0)
        assert each["p"] == pytest.approx(2 * 0.5**11)


@pytest.mark.slow
def test_a_manifest_field_makes_the_same_arms_and_lists_who_has_none(kv_store: Path) -> None:
    found = answer("experiment", "--by", "cache.path", "--arms", "retained,recomputed", store=kv_store)
    assert [arm["arm"] for arm in found["arms"]] == ["cache.path=retained", "cache.path=recomputed"]
    assert across(found, "tokens")["found"]["items"]["k"] == 14
    done = samework("experiment", "--by", "engine.binary_sha256", store=kv_store)
    assert done.returncode == 3
    assert done.stdout == ""
    assert "no two values" in done.stderr


def write_runs(place: Path, runs: list[dict[str, Any]]) -> None:
    for number, run in enumerate(runs):
        folder = place / f"run-{number}"
        folder.mkdir(parents=True)
        said = run.pop("said", None)
        if said is not None:
            run["transcript"] = "events.jsonl"
            events = [
                {"kind": "user", "text": "do"},
                {"kind": "completion", "text": said, "tool_calls": [{"id": "c", "name": "f", "arguments": said}]},
                {"kind": "end", "text": "finished"},
            ]
            (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
        (folder / "run.json").write_text(json.dumps({"kind": "tool-use", "end_reason": "finished"} | run))


def store_of(place: Path, runs: list[dict[str, Any]]) -> Path:
    """A store that holds the runs; made in this process, for the command is what is tested."""
    write_runs(place / "runs", runs)
    store = samework_api.create(place / ".samework")
    assert store.ingest(place / "runs").n_new == len(runs)
    return store.path


def refused(tmp_path: Path, runs: list[dict[str, Any]], *words: str) -> str:
    """What is said on stderr where an experiment over the runs is refused."""
    store = store_of(tmp_path, runs)
    done = samework("experiment", "--arms", "a,b", *words, store=store)
    assert done.returncode == 3, done.stdout
    assert done.stdout == ""
    return done.stderr


def test_arms_without_a_common_task_are_refused(tmp_path: Path) -> None:
    runs = [{"task": f"t-{arm}", "arm": arm, "repeat": str(n), "said": "x"} for arm in "ab" for n in (1, 2)]
    assert "no two of the arms have a task in common" in refused(tmp_path, runs)


def test_one_run_an_arm_is_refused_with_how_many_more_would_decide(tmp_path: Path) -> None:
    runs = [{"task": "t", "arm": arm, "repeat": "1", "said": arm} for arm in "ab"]
    said = refused(tmp_path, runs)
    assert "has one run" in said
    assert "4 runs per arm and item (6 more)" in said


def test_one_run_of_each_item_is_refused(tmp_path: Path) -> None:
    runs = [{"task": f"t{n}", "arm": arm, "repeat": "1", "said": arm} for arm in "ab" for n in range(5)]
    said = refused(tmp_path, runs)
    assert "no test: every arm has one run of each item" in said
    assert "runs per arm" in said


def test_nothing_known_is_refused(tmp_path: Path) -> None:
    runs = [{"task": "t", "arm": arm, "repeat": str(n)} for arm in "ab" for n in (1, 2)]
    assert "nothing is known of any pair" in refused(tmp_path, runs)


def test_arms_aliased_with_run_order_are_refused(tmp_path: Path) -> None:
    runs = [
        {
            "task": f"t{n}",
            "arm": arm,
            "repeat": str(repeat),
            "said": arm,
            "started": f"2026-01-0{day}T00:0{n}:0{repeat}Z",
        }
        for arm, day in (("a", 1), ("b", 2))
        for n in range(4)
        for repeat in (1, 2)
    ]
    assert "aliased with run order" in refused(tmp_path, runs)


def test_the_same_runs_in_turn_are_compared(tmp_path: Path) -> None:
    runs = [
        {"task": f"t{n}", "arm": arm, "repeat": str(r), "said": arm, "started": f"2026-01-01T0{n}:{r}{place}:00Z"}
        for place, arm in enumerate("ab")
        for n in range(4)
        for r in (1, 2)
    ]
    store = store_of(tmp_path, runs)
    found = answer("experiment", "--arms", "a,b", "--level", "actions", store=store)
    assert across(found, "actions")["test"]["p"] == pytest.approx((1 / 3) ** 4)
    assert found["family"]["n_tests"] == 1


@pytest.mark.slow
def test_a_report_shows_the_experiment_in_every_form(kv_store: Path, tmp_path: Path) -> None:
    done = samework("report", "--experiment", "retained,split", "-o", tmp_path / "r.html", store=kv_store)
    assert done.returncode == 0
    for ending in ("md", "json"):
        samework_api.open(kv_store).report(tmp_path / f"r.{ending}", experiment=["retained", "split"])
    page = (tmp_path / "r.html").read_text()
    assert page.count("<svg") == 1
    assert "tokens, retained | split: 11 of 60" in page
    assert "60 of 60 items" in (tmp_path / "r.md").read_text()
    assert json.loads((tmp_path / "r.json").read_text())["kind"] == "experiment"


def test_a_plan_needs_no_runs(tmp_path: Path) -> None:
    found = answer("experiment", "--power", store=new_store(tmp_path))
    assert found["plan"]["to_see"]["0.05"]["0.95"] == 59
    assert found["plan"]["paths"][0]["n_items"]["0.05"] == 85


WITHOUT_STATS = """
import sys
sys.modules |= {"scipy": None, "statsmodels": None}  # as where the extra `stats` is not installed
from samework.cli.app import main
main()
"""


def without_stats(*words: object, store: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_STATS, *map(str, words), "--store", str(store)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_without_the_extra_an_experiment_says_what_to_install(small_experiment: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.md"
    for words in (
        ["experiment", "--arms", "a,b"],
        ["experiment", "--power"],
        ["report", "--experiment", "a,b", "-o", page],
    ):
        done = without_stats(*words, store=small_experiment)
        assert (done.returncode, done.stdout) == (2, "")
        assert "need scipy, which is not installed\n  pip install 'samework[stats]'  [no-stats]" in done.stderr
    assert not page.exists()
    assert without_stats("gate", "--baseline", "a", "--candidate", "b", store=small_experiment).returncode == 3


@pytest.mark.parametrize(
    "words",
    [
        ["--arms", "a"],
        ["--arms", "a,a"],
        ["--arms", "a,nobody"],
        [],
        ["--arms", "a,b", "--margin", "200%"],
        ["--arms", "a,b", "--level", "soul"],
        ["--arms", "a,b", "--success", "luck"],
        ["--arms", "a,b", "--donor", "a"],
    ],
)
def test_a_wrong_question_is_trouble(small_experiment: Path, words: list[str]) -> None:
    done = samework("experiment", *words, store=small_experiment)
    assert done.returncode == 2
    assert done.stdout == ""


@pytest.fixture(scope="module")
def small_experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("experiment")
    runs = [{"task": "t", "arm": arm, "repeat": str(n), "said": "x"} for arm in "ab" for n in (1, 2)]
    return store_of(place, runs)
