"""What is a source, which reader it is for, and a no that helps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from samework.decode.source import BytesSource
from samework.errors import UnknownFormat, UsageError
from samework.ingest import registry
from samework.ingest.detect import detect, seen
from samework.ingest.index import Index, KnownRun
from samework.ingest.layouts import Pattern, units
from samework.ingest.settings import IngestSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from samework.model.results import IngestSummary
    from samework.store.connection import StoreHandle
    from tests.unit.ingest.conftest import Lab


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"", "an empty file"),
        (b"\x7fELF\0\0", "bytes that are no text"),
        (b"# notes", "text that is not JSON"),
        (b"[1,2]", "a JSON list"),
        (
            b'{"isSidechain":false,"cwd":"/","uuid":"2"}\n{}',
            "resembles a Claude Code session (claude_code), and is none",
        ),
        (b'{"isSidechain":false,"cwd":"/","uuid":"2"}\n{}', "JSON Lines, the first an object with cwd"),
        (b'{"spanContext":{},"traceId":"1"}', "resembles OpenTelemetry spans"),
        (b'{"$defs":{},"properties":{}}', "resembles a JSON Schema, which describes records and holds none"),
        (b'["a",{}]\n["b",{}]\n', "JSON Lines of lists, not of objects"),
        (b'{"schema_version":"1.5","steps":[],"agent":{}}', "resembles an ATIF trajectory"),
        (b'{"a\\u001b[2J":1}', "a JSON object with a\\x1b[2J"),
        (b'{"a": "' + b"x" * 70_000, "JSON whose first value is long or cut"),
        (b'{"a": nope}', "damaged JSON"),
        (b"PK\x03\x04", "an archive that holds no run.json"),
    ],
)
def test_a_no_says_what_was_seen(head: bytes, words: str) -> None:
    assert words in seen(head)
    with pytest.raises(UnknownFormat) as caught:
        detect(BytesSource("x", head))
    assert "run.json" in str(caught.value.hint)
    assert "writing-a-reader" in str(caught.value.hint)
    assert "\x1b" not in str(caught.value)


def test_readers_are_listed_without_being_imported_and_all_load() -> None:
    assert registry.names()[: len(registry.BUILT_IN)] == list(registry.BUILT_IN)
    assert {reader.name for reader in registry.readers().values()} >= set(registry.BUILT_IN)
    with pytest.raises(UsageError, match="unknown format"):
        registry.reader("x\x1b")


def test_hidden_directories_and_links_that_leave_are_no_sources(lab: Lab) -> None:
    outside = lab.events("outside.jsonl", "ls")
    lab.events("in/a.jsonl", "ls")
    lab.events("in/.git/b.jsonl", "ls")
    (lab.root / "in" / "link.jsonl").symlink_to(outside)
    (lab.root / "in" / "near.jsonl").symlink_to("a.jsonl")
    (lab.root / "in" / "up").symlink_to("..")
    found = units([lab.root / "in"], IngestSettings())
    assert [Path(unit.path).name for unit in found] == ["a.jsonl"]


def test_trajectories_come_before_predictions_and_these_before_reports(lab: Lab) -> None:
    lab.write("a/report.json", {"t": {"resolved": True, "tests_status": {}}})
    lab.predictions("b.jsonl", {"t": "x"})
    lab.traj("c.traj")
    found = units([lab.root], IngestSettings())
    assert [Path(unit.path).name for unit in found] == ["c.traj", "b.jsonl", "report.json"]


def test_a_named_file_is_refused_where_a_walked_one_is_skipped(
    store: StoreHandle, lab: Lab, take: Callable[..., IngestSummary]
) -> None:
    path = lab.write("notes.md", "# notes")
    assert [(each.status, each.code) for each in take(lab.root).sources] == [("skipped", "unknown-format")]
    (refused,) = take(path).sources
    assert (refused.status, refused.code) == ("refused", "unknown-format")
    assert refused.hint


def test_fields_come_from_paths_and_files_outside_the_layout_are_skipped(
    store: StoreHandle, lab: Lab, take: Callable[..., IngestSummary]
) -> None:
    lab.events("out/gpt/1/t-1.jsonl", "ls")
    lab.events("stray.jsonl", "pwd")
    summary = take(lab.root, layout="out/{arm}/{repeat}/{task}.jsonl")
    assert sorted(each.status for each in summary.sources) == ["new", "skipped"]
    assert store.db.execute("SELECT task, arm, repeat FROM run").fetchall() == [("t-1", "gpt", "1")]


@pytest.mark.parametrize("text", ["no fields", "{colour}/x", "{task}/{task}"])
def test_a_pattern_without_good_fields_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="needs fields of"):
        Pattern(text)


def test_a_pattern_is_taken_literally_outside_of_fields_and_stars(lab: Lab) -> None:
    pattern = Pattern("a.b/*-{task}/r?.json")
    assert pattern.fields("x/a.b/1-t/r1.json") == {"task": "t"}
    assert pattern.fields("x/aXb/1-t/r1.json") is None
    path = lab.write("a.b/1-t/r1.json", {})
    assert pattern.find(lab.root) == [(path, {"task": "t"})]
    absolute = Pattern(f"{lab.root.as_posix()}/a.b/1-{{task}}/r1.json")
    assert absolute.find(Path()) == [(path, {"task": "t"})]


def test_the_smallest_free_repeat_is_taken() -> None:
    index = Index()
    for key, repeat in enumerate(("1", "3", "x")):
        run = KnownRun(
            key, str(key), "t", "a", repeat, bytes(32), has_trajectory=True, layout="", base_commit=None,
            patch_sha256=None, path="",
        )  # fmt: skip
        index.add(run, (b"", b""))
    assert index.free_repeat("t", "a") == "2"
    assert index.free_repeat("t", "b") == "1"


def test_names_that_are_no_utf8_stay_apart(lab: Lab, take: Callable[..., IngestSummary], store: StoreHandle) -> None:
    lab.events("arm/bad\udcff.jsonl", "a")
    lab.events("arm/bad\udcfe.jsonl", "b")
    take(lab.root, layout="{arm}/{task}.jsonl", repeat="r\udcff")
    told = store.db.execute("SELECT task, repeat FROM run ORDER BY task").fetchall()
    assert told == [("bad\\udcfe", "r\\udcff"), ("bad\\udcff", "r\\udcff")]


def test_a_directory_that_lies_too_deep_is_refused_by_name_and_the_rest_lands(
    lab: Lab, take: Callable[..., IngestSummary]
) -> None:
    lab.events("good.jsonl", "a")
    (lab.root / "/".join("d" * 250)).mkdir(parents=True)
    summary = take(lab.root)
    (refused,) = [each for each in summary.sources if each.status == "refused"]
    assert refused.path == str(lab.root / "/".join("d" * 201))
    assert "lies more than 200 directories deep" in str(refused.message)
    assert {each.status for each in summary.sources} == {"new", "refused"}


def test_a_set_of_files_that_lies_too_deep_is_refused_and_the_rest_lands(
    lab: Lab, take: Callable[..., IngestSummary]
) -> None:
    lab.events("trial/good.jsonl", "a")
    lab.write("trial/result.json", {})
    (lab.root / "trial" / "agent" / "/".join("d" * 250)).mkdir(parents=True)
    summary = take(lab.root)
    assert {each.status for each in summary.sources} >= {"new", "refused"}
    assert any("lies more than 200 directories deep" in str(each.message) for each in summary.sources)
