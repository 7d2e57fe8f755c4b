"""Answers in JSON hold to the published schemas, and exit statuses to what they mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.command import answer, samework

SCHEMA = Path(__file__).resolve().parents[2] / "schema"


def hold(name: str, value: Any) -> None:
    schema = json.loads((SCHEMA / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(value)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("runs", ("runs",)),
        ("classes", ("classes",)),
        ("classes", ("classes", "--strict")),
        ("classes", ("classes", "--task", "tree-identical", "--across", "one,two")),
        ("pairs", ("pairs", "--limit", "1000")),
        ("pairs", ("pairs", "--class", "unresolved")),
        ("forks", ("forks",)),
        ("forks", ("forks", "--tool-calls", "--changed-work")),
        ("compare", ("compare", "tree-identical:one:1", "tree-identical:two:1")),
        ("compare", ("compare", "tests-identical:one:1", "tests-identical:three:1")),
        ("compare", ("compare", "anomaly-a3:one:1", "anomaly-a3:two:1")),
        ("compare", ("compare", "damaged-transcript:one:1", "damaged-transcript:two:1", "--strict")),
    ],
)
def test_an_answer_holds_to_its_schema(schema: str, words: tuple[str, ...], small_store: Path) -> None:
    value = answer(*words, store=small_store, exits=frozenset({0, 1, 3}))
    assert value
    hold(schema, value)


@pytest.mark.slow
@pytest.mark.parametrize(("schema", "words"), [("classes", ("classes",)), ("forks", ("forks",)), ("runs", ("runs",))])
def test_an_answer_of_many_runs_holds_to_its_schema(schema: str, words: tuple[str, ...], kv_store: Path) -> None:
    hold(schema, answer(*words, store=kv_store))


def test_every_pair_is_in_one_class_and_one_status(small_store: Path) -> None:
    classes = answer("classes", store=small_store)
    counts = dict(classes["pairs"])
    assert counts.pop("total") == sum(counts.values()) == len(answer("pairs", "--limit", "100000", store=small_store))
    by_status: dict[str, int] = {}
    for found in classes["by_status"].values():
        for name, n_pairs in found.items():
            by_status[name] = by_status.get(name, 0) + n_pairs
    assert {name: n for name, n in by_status.items() if n} == {name: n for name, n in counts.items() if n}
    for facet, found in classes["facets"].items():
        assert sum(found.values()) == classes["pairs"]["total"], facet


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("compare", "tree-identical:one:1", "tree-identical:two:1"), 0),
        (("compare", "tests-identical:one:1", "tests-identical:two:1"), 0),
        (("compare", "tests-identical:one:1", "tests-identical:three:1"), 1),
        (("compare", "vacuous-tests:one:1", "vacuous-tests:two:1"), 3),
        (("compare", "tree-identical:one:1", "no-tree:one:1"), 2),
        (("compare", "tree-identical:one:1", "tree-identical:one:1"), 2),
        (("compare", "tree-identical:one:1", "tree-identical:nobody:1"), 2),
        (("show", "tree-identical"), 2),
        (("formats",), 0),
        (("verify",), 0),
        (("claims", "tree-identical:one:1", "tree-identical:two:1"), 0),
    ],
)
def test_exit_statuses_mean_what_is_said_of_them(words: tuple[str, ...], status: int, small_store: Path) -> None:
    plain, as_json = samework(*words, store=small_store), samework(*words, "--json", store=small_store)
    assert plain.returncode == as_json.returncode == status, plain.stderr
    if status == 2:
        assert not plain.stdout
        assert json.loads(as_json.stderr)["message"]
    else:
        assert json.loads(as_json.stdout) is not None


def test_a_pair_is_unordered(small_store: Path) -> None:
    a, b = "tests-identical:one:1", "tests-identical:three:1"
    one, other = (answer("compare", *pair, store=small_store, exits=frozenset({1})) for pair in ((a, b), (b, a)))
    assert (one["class"], one["status"], one["facets"]) == (other["class"], other["status"], other["facets"])


@pytest.mark.parametrize("command", ["init", "ingest", "attach", "snapshot", "runs", "show", "compare", "classes",
    "pairs", "forks", "claims", "report", "query", "verify", "backup", "formats", "demo"])  # fmt: skip
def test_every_command_has_help_with_an_example(command: str) -> None:
    done = samework(command, "--help")
    assert done.returncode == 0
    assert "Example:" in done.stdout
    assert f"samework {command}" in done.stdout.partition("Example:")[2]
