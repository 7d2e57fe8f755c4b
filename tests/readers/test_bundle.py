"""The reader of run bundles: what run.json says, what it names, what is wrong with it."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING

import pytest

from samework.decode.archive import expanded
from samework.decode.source import DirSource, FileSource
from samework.errors import InputError
from samework.model.records import Damage, Include, Invariant, ManifestFact, PatchRecord, RunEnd, RunStart, TreeRecord
from samework.model.words import Absence, EndReason, FieldSource, RunKind
from samework.readers.bundle import READER

if TYPE_CHECKING:
    from pathlib import Path

    from samework.model.records import Record


def bundle(folder: Path, run: object, **files: str) -> DirSource:
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(run if isinstance(run, str) else json.dumps(run))
    for name, text in files.items():
        (folder / name.replace("_json", ".json").replace("_jsonl", ".jsonl")).write_text(text)
    return DirSource(folder)


def of_kind(records: list[Record], kind: type) -> list[Record]:
    return [record for record in records if isinstance(record, kind)]


FULL = {
    "task": "t",
    "arm": "a",
    "repeat": 3,
    "run_id": "r1",
    "kind": "tool-use",
    "agent": "ag",
    "model": "m",
    "started": "S",
    "ended": "E",
    "end_reason": "timeout",
    "transcript": "events_l",
    "manifest": "manifest.json",
    "tree": {"base": "ab" * 20, "patch": "p"},
    "tests": [{"report": "r.json", "suite": "s", "env": "e"}],
    "invariants": {"kept": True, "lost": False, "open": None},
    "colour": "green",
}


def test_a_whole_bundle_gives_each_of_its_parts(tmp_path):
    source = bundle(tmp_path, FULL, events_l="", manifest_json='{"kv": {"dtype": "f16"}}', p="--- a\n", r_json="{}")
    assert READER.sniff(b"", source) > 0.9
    records = list(READER.read(source))
    start, end = records[0], records[-1]
    assert isinstance(start, RunStart)
    assert (start.task, start.arm, start.repeat, start.run_id, start.kind) == ("t", "a", "3", "r1", RunKind.TOOL_USE)
    assert (start.agent, start.model, start.base_commit, start.extra) == ("ag", "m", "ab" * 20, {"colour": "green"})
    assert end == RunEnd(EndReason.TIMEOUT, "timeout", "E")
    assert of_kind(records, Include) == [Include("events_l", "transcript"), Include("r.json", "tests", "s", "e")]
    assert of_kind(records, PatchRecord) == [PatchRecord(b"--- a\n", base_commit="ab" * 20)]
    assert of_kind(records, TreeRecord) == []
    assert of_kind(records, Invariant) == [Invariant("kept", True), Invariant("lost", False), Invariant("open", None)]
    assert of_kind(records, ManifestFact) == [
        ManifestFact("kv.dtype", "f16", FieldSource.DECLARED, where="manifest.json"),
        ManifestFact("model.id", "m", FieldSource.DECLARED, where="run.json"),
    ]
    assert not of_kind(records, Damage)


def test_every_part_is_optional(tmp_path):
    start, end = READER.read(bundle(tmp_path, {"task": "t"}))
    assert (start.task, start.arm, start.repeat, start.extra) == ("t", None, None, None)
    assert end == RunEnd()


@pytest.mark.parametrize(
    "tree",
    [
        {"worktree": "w"},
        {"repo": "r", "commit": "c"},
        {"repo": "r", "base": "b", "patch": "p"},
        {"oid": "o"},
    ],
)
def test_each_form_of_a_tree_is_passed_on(tmp_path, tree):
    records = list(READER.read(bundle(tmp_path, {"task": "t", "tree": tree}, p="x")))
    assert of_kind(records, TreeRecord) == [TreeRecord(**tree)]
    assert bool(of_kind(records, PatchRecord)) == ("patch" in tree)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ({"task": 3}, "key `task`: Expected `str | null`, got `int`"),
        ({"tests": [{"suite": "s"}]}, r"key `tests\[0\]`"),
        ({"kind": "dance"}, "key `kind`"),
        ({"tree": {"repo": "r", "oid": "o"}}, "key `tree` has oid, repo"),
        ({"tree": {}}, "key `tree` has nothing"),
        ('{"task": ', "not JSON"),
        ("[]", "no object"),
    ],
)
def test_a_bad_run_json_is_one_sentence_with_the_key(tmp_path, run, words):
    with pytest.raises(InputError, match=words) as raised:
        list(READER.read(bundle(tmp_path, run)))
    assert "run.json" in str(raised.value.place)


def test_a_part_that_is_not_there_is_reported(tmp_path):
    run = {"transcript": "gone.jsonl", "tests": [{"report": "gone.json"}], "tree": {"base": "b", "patch": "gone"}}
    records = list(READER.read(bundle(tmp_path, run)))
    assert [(damage.code, damage.taints_run) for damage in of_kind(records, Damage)] == [
        ("missing-file", True),
        ("missing-file", False),
        ("missing-file", False),
    ]
    assert of_kind(records, PatchRecord) == [PatchRecord(None, base_commit="b", null_reason="patch_file_missing")]


@pytest.mark.parametrize("name", ["../outside", "/etc/hostname", "a/../../b"])
def test_a_name_that_leaves_the_bundle_is_refused(tmp_path, name):
    (tmp_path / "outside").write_text("secret")
    records = list(READER.read(bundle(tmp_path / "inner", {"transcript": name})))
    assert [damage.code for damage in of_kind(records, Damage)] == ["unsafe-name"]
    assert not of_kind(records, Include)


def test_a_manifest_field_has_a_source_or_a_reason_of_absence(tmp_path):
    manifest = {
        "engine": {"name": {"value": "x", "source": "measured", "where": "/props"}, "version": {"absence": "redacted"}},
        "sampling.seed": None,
        "sampling.temperature": 0,
        "odd.source": {"value": 1, "source": "dreamt"},
        "odd.absence": {"absence": "eaten"},
        "odd.both": {"absence": "redacted", "value": 1},
        "list": [1, 2],
        "empty": {},
    }
    records = list(READER.read(bundle(tmp_path, {"manifest": "m.json"}, m_json=json.dumps(manifest))))
    assert of_kind(records, ManifestFact) == [
        ManifestFact("engine.name", "x", FieldSource.MEASURED, where="/props"),
        ManifestFact("engine.version", absence=Absence.REDACTED, where="m.json"),
        ManifestFact("sampling.seed", absence=Absence.UNRECORDED, where="m.json"),
        ManifestFact("sampling.temperature", 0, FieldSource.DECLARED, where="m.json"),
        ManifestFact("list", [1, 2], FieldSource.DECLARED, where="m.json"),
        ManifestFact("empty", {}, FieldSource.DECLARED, where="m.json"),
    ]
    assert [damage.code for damage in of_kind(records, Damage)] == ["unusable-field"] * 3


def test_a_damaged_manifest_leaves_the_run_readable(tmp_path):
    records = list(READER.read(bundle(tmp_path, {"task": "t", "manifest": "m.json"}, m_json="{")))
    assert [(damage.code, damage.taints_run) for damage in of_kind(records, Damage)] == [("damaged-record", False)]
    assert isinstance(records[-1], RunEnd)


def test_the_content_digest_covers_every_file_that_is_named_and_no_other(tmp_path):
    run = {"transcript": "e.jsonl", "manifest": "m.json"}
    files = {"e_jsonl": "{}", "m_json": "{}", "other": "1"}

    def digest(folder: str, **changes: str) -> str:
        start = next(READER.read(bundle(tmp_path / folder, run, **(files | changes))))
        return start.content_sha256

    assert digest("a") == digest("b") == digest("c", other="2")
    assert len({digest("a"), digest("d", e_jsonl="{ }"), digest("e", m_json="{ }")}) == 3


def test_an_archive_of_a_bundle_reads_as_the_directory(tmp_path):
    folder = tmp_path / "b"
    source = bundle(folder, FULL, events_l="x", manifest_json="{}", p="--- a\n", r_json="{}")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
    packed = expanded(FileSource(tmp_path / "b.zip"))
    assert READER.sniff(b"", packed) > 0.9
    assert list(READER.read(packed)) == list(READER.read(source))


def test_a_directory_without_a_run_json_of_ours_is_not_claimed(tmp_path):
    assert READER.sniff(b"", DirSource(tmp_path)) == 0
    assert READER.sniff(b"", bundle(tmp_path / "other", {"steps": []})) == 0
    assert READER.sniff(b"{}", FileSource(tmp_path / "other" / "run.json")) == 0


def test_the_projects_own_bundles_read_without_damage(root):
    folders = sorted(path.parent for path in (root / "fixtures").glob("*/*/*/run.json"))[:60]
    folders += sorted(path.parent for path in (root / "fixtures" / "codex-fix-add").glob("*/run.json"))
    assert folders
    for folder in folders:
        run = json.loads((folder / "run.json").read_text())
        records = list(READER.read(DirSource(folder)))
        assert not of_kind(records, Damage)
        assert [include.path for include in of_kind(records, Include)] == [
            *([run["transcript"]] if "transcript" in run else []),
            *(test["report"] for test in run.get("tests", [])),
        ]


def test_the_manifest_comes_before_the_events_that_its_workspace_masks(tmp_path):
    run = {"transcript": "e.jsonl", "manifest": "m.json"}
    records = list(READER.read(bundle(tmp_path, run, e_jsonl="", m_json='{"workspace.root": "/w"}')))
    kinds = [type(record) for record in records]
    assert kinds == [RunStart, ManifestFact, Include, RunEnd]
