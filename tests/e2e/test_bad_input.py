"""Bad input gets a sentence with its place and what helps; the rest lands; a damaged run is never token-identical."""

from __future__ import annotations

import ctypes
import json
import os
import random
import shutil
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import answer, installed, new_store, samework

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

USER = b'{"kind":"user","text":"go"}\n'
TURN = b'{"kind":"completion","text":"yes","token_ids":[1,2],"prompt_token_ids":[3]}\n'
END = b'{"kind":"end"}\n'
WHOLE = USER + TURN + END


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_store(tmp_path_factory.mktemp("empty"))


@pytest.fixture
def store(empty: Path, tmp_path: Path) -> Path:
    """A store without runs."""
    return shutil.copytree(empty, tmp_path / ".samework")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a test puts what is to be ingested; one good bundle lies there already."""
    place = tmp_path / "in"
    bundle(place / "good", WHOLE, arm="good")
    return place


def bundle(place: Path, events: bytes | None, arm: str = "bad", **keys: Any) -> Path:
    place.mkdir(parents=True)
    tokenizer = "a" * 64
    run = {"task": "t", "arm": arm, "kind": "text", "transcript": "events.jsonl", "tokenizer": tokenizer, **keys}
    (place / "run.json").write_text(json.dumps(run))
    if events is not None:
        (place / "events.jsonl").write_bytes(events)
    return place


def outcomes(folder: Path, store: Path, status: int | None = None) -> dict[str, dict[str, Any]]:
    """What became of each source, by its path below the folder. status: of the command, else 1 where one is refused."""
    done = samework("ingest", folder, "--json", store=store)
    summary = json.loads(done.stdout)
    is_partly = any(source["status"] == "refused" for source in summary["sources"])
    assert done.returncode == (int(is_partly) if status is None else status), done.stderr
    return {source["path"].removeprefix(str(folder)).strip("/"): source for source in summary["sources"]}


def xml(text: str) -> bytes:
    return f'<?xml version="1.0"?>{text}'.encode()


REFUSED: dict[str, tuple[str, bytes, str]] = {
    "bytes": ("x.bin", bytes(random.Random(7).randbytes(4000)), "no text"),
    "nul": ("x.json", b"\x00" * 500, "empty|no text"),
    "empty": ("x.jsonl", b"", "empty file"),
    "blank": ("x.json", b" \n\n ", "empty file"),
    "text": ("x.txt", b"hello there", "not JSON"),
    "unknown-json": ("x.json", b'{"colour": "red", "sides": 4}', "colour, sides"),
    "cut-json": ("x.json", b'{"trajectory": [{"action": "l', "cut|ends inside|damaged"),
    "cut-xml": ("x.xml", xml("<testsuites><testsuite"), "line 1"),
    "dtd": ("x.xml", xml('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><testsuites/>'), "DTD"),
    "cut-zip": ("x.zip", b"PK\x03\x04 no more", "archive"),
    "cut-zstd": ("x.jsonl.zst", b"\x28\xb5\x2f\xfd no more", "compressed"),
    "cut-gzip": ("x.jsonl.gz", b"\x1f\x8b no more", "compressed"),
    "deep": ("x.json", b'{"messages":' + b"[" * 100_000, "damaged JSON"),
    "report-of-no-run": ("x.xml", xml('<testsuite name="s"><testcase classname="a" name="b"/></testsuite>'), "no run"),
}


def said(stderr: str) -> str:
    """What was said, whatever the width of lines."""
    return " ".join(stderr.split())


def test_a_file_that_cannot_be_read_is_exit_2_with_its_place_and_what_helps(tmp_path: Path, store: Path) -> None:
    paths = {}
    for case, (name, data, _) in REFUSED.items():
        paths[case] = tmp_path / f"{case}-{name}"
        paths[case].write_bytes(data)
    summary = answer("ingest", *paths.values(), store=store, exits=frozenset({2}))
    found = {source["path"]: source for source in summary["sources"]}
    for case, (_, _, words) in REFUSED.items():
        source = found[str(paths[case])]
        assert source["status"] == "refused", case
        assert source["place"].startswith(str(paths[case])), case
        assert any(word in source["message"] for word in words.split("|")), (case, source["message"])
        assert source["hint"], (case, "nothing says what helps")


def test_people_read_the_same_in_sentences(tmp_path: Path, store: Path) -> None:
    (tmp_path / "cut.xml").write_bytes(REFUSED["cut-xml"][1])
    done = samework("ingest", tmp_path / "cut.xml", store=store)
    assert done.returncode == 2
    assert said(done.stderr).startswith(f"refused: {tmp_path / 'cut.xml'}: not well-formed XML at line 1")
    assert "refused 1 file" in said(done.stdout)


def test_every_bad_file_beside_a_good_one_leaves_it_be(folder: Path, store: Path) -> None:
    for case, (name, data, _) in REFUSED.items():
        (folder / f"{case}-{name}").write_bytes(data)
    found = outcomes(folder, store)
    assert found["good"]["status"] == "new"
    bad = {path: source["status"] for path, source in found.items() if path != "good"}
    assert len(bad) == len(REFUSED)
    assert set(bad.values()) == {"refused", "skipped"}
    assert all(source["message"] for path, source in found.items() if path != "good")
    assert len(answer("runs", store=store)) == 1


def test_a_missing_path_is_said_and_the_others_are_read(folder: Path, store: Path) -> None:
    done = samework("ingest", folder / "nothing", folder / "good", store=store)
    assert done.returncode == 1
    assert f"{folder / 'nothing'}: there is no such file" in said(done.stderr)
    assert len(answer("runs", store=store)) == 1


def test_a_missing_path_alone_is_exit_2(folder: Path, store: Path) -> None:
    done = samework("ingest", folder / "nothing", store=store)
    assert done.returncode == 2
    assert "[no-such-path]" in done.stderr


@pytest.mark.parametrize("content", [None, "notes.txt"])
def test_a_directory_without_runs_is_exit_2_with_a_sentence(content: str | None, tmp_path: Path, store: Path) -> None:
    place = tmp_path / "nothing-here"
    place.mkdir()
    if content:
        (place / content).write_text("notes")
    done = samework("ingest", place, store=store)
    assert done.returncode == 2
    assert "samework formats" in done.stderr


def drop_privileges() -> None:
    """Let root meet permissions as anyone does: without the capabilities that pass over them."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("store.duckdb", {"runs": 2, "verify": 2, "ingest": 2, "backup": 2}),
        ("sources", {"runs": 0, "verify": 2, "backup": 2, "repair": 2}),
        ("objects.git", {"verify": 2, "backup": 2}),
        ("acknowledged.json", {"runs": 2, "verify": 2}),
        ("journal.jsonl", {"verify": 2, "ingest": 2, "repair": 2}),
        ("files.jsonl", {"verify": 2, "ingest": 2}),
        ("format", {"runs": 2}),
    ],
)
def test_a_store_that_may_not_be_read_says_so(
    folder: Path, store: Path, tmp_path: Path, name: str, answers: dict[str, int]
) -> None:
    samework("ingest", folder, store=store)
    (store / "objects.git" / "objects").mkdir(parents=True, exist_ok=True)
    more = {"ingest": (folder,), "backup": (tmp_path / "copy.tar",)}
    mode = (store / name).stat().st_mode
    for command, status in answers.items():
        (store / name).chmod(0)
        try:
            done = installed(command, *more.get(command, ()), store=store, before=drop_privileges)
        finally:
            (store / name).chmod(mode)
        assert done.returncode == status, (command, done.stderr)
        assert status == 0 or "Permission denied" in done.stdout + done.stderr
        assert "Make room on the disk" not in done.stderr


def test_what_may_not_be_read_is_refused_and_the_rest_lands(folder: Path, store: Path) -> None:
    (folder / "secret.json").write_bytes(WHOLE)
    (folder / "locked").mkdir()
    bundle(folder / "locked-run", WHOLE)
    bundle(folder / "locked-transcript", WHOLE)
    closed = [folder / "secret.json", folder / "locked", folder / "locked-run" / "run.json"]
    closed += [folder / "locked-transcript" / "events.jsonl"]
    for path in closed:
        path.chmod(0)
    try:
        done = installed("ingest", folder, "--json", store=store, before=drop_privileges)
    finally:
        for path in closed:
            path.chmod(0o700)
    assert done.returncode == 1, done.stderr
    found = {source["path"].removeprefix(f"{folder}/"): source for source in json.loads(done.stdout)["sources"]}
    assert found["good"]["status"] == "new"
    for name in ("secret.json", "locked", "locked-run", "locked-transcript"):
        assert found[name]["status"] == "refused", found[name]
        assert "Permission denied" in found[name]["message"]


BAD_RUN_JSON = {
    "empty": (b"", "byte 0"),
    "cut": (b'{"task": "t", "arm":', "byte 20"),
    "arm": (b'{"task": "t", "arm": 7}', "key `arm`"),
    "transcript": (b'{"task": "t", "transcript": ["a"]}', "key `transcript`"),
    "tests": (b'{"task": "t", "tests": {"report": "x"}}', "key `tests`"),
    "tree": (b'{"task": "t", "tree": {"commit": "aa"}}', "key `tree`"),
    "kind": (b'{"task": "t", "kind": "play"}', "key `kind`"),
    "no-utf-8": (b'{"task": "\xff"}', "UTF-8"),
    "deep": (b'{"task": "t", "extra": ' + b"[" * 100_000, "nested"),
    "digits": (b'{"task": "t", "n": ' + b"9" * 5000 + b"}", "digits"),
    "list": (b"[1, 2]", "none of the keys"),
    "other": (b"{}", "none of the keys"),
}


def test_a_bad_run_json_is_refused_with_its_key_or_byte(folder: Path, store: Path) -> None:
    for case, (run_json, _) in BAD_RUN_JSON.items():
        bundle(folder / case, None)
        (folder / case / "run.json").write_bytes(run_json)
    found = outcomes(folder, store)
    assert found["good"]["status"] == "new"
    for case, (_, words) in BAD_RUN_JSON.items():
        bad = found[case]
        assert bad["status"] == ("skipped" if words.startswith("none") else "refused"), case
        assert words in f"{bad['place']} {bad['message']}", case
        assert bad["hint"], case


def test_files_beside_a_damaged_run_json_are_no_runs_and_bundles_below_it_are(folder: Path, store: Path) -> None:
    """Else they would land once now, and once more when run.json is mended."""
    bundle(folder / "bad", WHOLE)
    bundle(folder / "bad" / "below", WHOLE, arm="below")
    whole = (folder / "bad" / "run.json").read_bytes()
    (folder / "bad" / "run.json").write_bytes(whole[:-10])
    assert set(outcomes(folder, store)) == {"good", "bad", "bad/below"}
    (folder / "bad" / "run.json").write_bytes(whole)
    assert outcomes(folder, store)["bad"]["status"] == "new"
    assert sorted(run["arm"] for run in answer("runs", store=store)) == ["bad", "below", "good"]


LEAVING = {
    "transcript": {"transcript": "../../etc/passwd"},
    "absolute-transcript": {"transcript": "/etc/passwd"},
    "manifest": {"manifest": "../../outside.json"},
    "tests": {"tests": [{"report": "/etc/hostname"}]},
    "patch": {"tree": {"base": "ab" * 20, "patch": "../../../etc/passwd"}},
    "invariants": {"invariants": "../../outside.json"},
    "backslash": {"transcript": "..\\..\\etc\\passwd"},
    "nul": {"transcript": "events\0.jsonl"},
}


def test_a_name_that_leaves_the_bundle_is_refused_and_nothing_outside_is_stored(folder: Path, store: Path) -> None:
    for case, keys in LEAVING.items():
        bundle(folder / case, None, **keys)
    (folder.parent / "outside.json").write_text('{"model.id": "outside"}')
    found = outcomes(folder, store)
    for case in LEAVING:
        assert (found[case]["status"], found[case]["code"]) == ("refused", "unsafe-name"), case
        assert "run.json" in found[case]["hint"], case
    assert [run["arm"] for run in answer("runs", store=store)] == ["good"]
    held = b"".join(path.read_bytes() for path in (store / "sources").rglob("*") if path.is_file())
    assert len(held) < 10_000  # the good bundle's own files, and no /etc/passwd


def test_a_tree_that_leaves_the_bundle_is_none_with_its_reason(folder: Path, store: Path) -> None:
    trees = ({"worktree": "../.."}, {"worktree": "/etc"}, {"repo": "../x", "commit": "ab" * 20})
    for number, tree in enumerate(trees):
        bundle(folder / f"bad{number}", WHOLE, arm=f"bad{number}", kind="coding", tree=tree)
    found = outcomes(folder, store)
    for number in range(len(trees)):
        message = found[f"bad{number}"]["message"]
        assert "no tree: " in message
        assert "does not stay inside" in message
    assert {run["evidence"]["tree"] for run in answer("runs", store=store) if run["arm"] != "good"} == {"none"}


def test_links_that_lead_out_of_a_bundle_are_refused(folder: Path, store: Path) -> None:
    (folder.parent / "outside.jsonl").write_bytes(WHOLE)
    (folder.parent / "outside").mkdir()
    bundle(folder / "file-link", None)
    (folder / "file-link" / "events.jsonl").symlink_to(folder.parent / "outside.jsonl")
    bundle(folder / "folder-link", WHOLE, tree={"worktree": "tree"})
    (folder / "folder-link" / "tree").symlink_to(folder.parent / "outside")
    bundle(folder / "loop", None)
    (folder / "loop" / "events.jsonl").symlink_to("events.jsonl")
    (folder / "stray-loop").symlink_to("stray-loop")
    (folder / "stray-link").symlink_to(folder.parent / "outside.jsonl")
    (folder / "stray-folder").symlink_to("/etc")
    found = outcomes(folder, store)
    assert {path: source["status"] for path, source in found.items()} == {
        "good": "new", "file-link": "refused", "folder-link": "new", "loop": "refused",
    }  # fmt: skip
    assert "link" in found["file-link"]["message"]
    assert "no tree: " in found["folder-link"]["message"]


def test_pipes_and_devices_are_not_waited_for(folder: Path, store: Path) -> None:
    os.mkfifo(folder / "pipe")
    bundle(folder / "bad", None)
    os.mkfifo(folder / "bad" / "events.jsonl")
    found = outcomes(folder, store)
    assert found["good"]["status"] == "new"
    assert found["bad"]["status"] == "incomplete"
    for path in (folder / "pipe", "/dev/zero"):
        said = samework("ingest", path, store=store).stderr
        assert "not a regular file" in " ".join(said.split())


DAMAGED = {
    "cut": (USER + TURN[:-9], "line 2"),
    "no-utf-8": (USER + TURN.replace(b"yes", b"y\xff") + END, "line 2"),
    "no-json": (USER + b"xxx\n" + TURN + END, "line 2"),
    "no-object": (USER + TURN + b"[1]\n" + END, "line 3"),
    "unknown-kind": (USER + b'{"kind":"dance"}\n' + TURN + END, "line 2"),
    "deep": (USER + b'{"kind":"user","text":' + b"[" * 100_000 + b"\n" + TURN + END, "line 2"),
    "binary": (USER + bytes(random.Random(3).randbytes(3000)).replace(b"\n", b"") + b"\n" + TURN + END, "line 2"),
    "empty": (b"", "empty"),
    "other": (b"\x7fELF\x00\x01 no text", "no text"),
    "missing": (None, "not in the bundle"),
}


def test_a_damaged_transcript_makes_an_incomplete_run_that_is_never_established_token_identical(
    folder: Path, store: Path
) -> None:
    for case, (data, _) in DAMAGED.items():
        for repeat in ("1", "2"):
            bundle(folder / f"{case}-{repeat}", data, arm=case, repeat=repeat)
    bundle(folder / "control", WHOLE, arm="control")
    found = outcomes(folder, store)
    for case, (_, words) in DAMAGED.items():
        for repeat in ("1", "2"):
            source = found[f"{case}-{repeat}"]
            assert source["status"] == "incomplete", case
            assert words in source["message"], (case, source["message"])
    runs = {run["run_id"]: run for run in answer("runs", store=store)}
    assert {run["arm"] for run in runs.values() if run["complete"]} == {"good", "control"}
    pairs = answer("pairs", "--limit", "1000", store=store)
    assert len(pairs) == len(runs) * (len(runs) - 1) // 2
    same = [{runs[pair[side]]["arm"] for side in "ab"} for pair in pairs if pair["facets"]["tokens"] == "same"]
    assert same == [{"good", "control"}]
    classes = answer("classes", store=store)
    assert classes["facets"]["tokens"]["same"] == classes["pairs"]["token-identical"] == 1
    shown = samework("show", "t:cut:1", store=store)
    assert "never be established token-identical" in said(shown.stdout)


def test_a_line_beyond_the_limit_is_one_finding_and_the_others_are_read(folder: Path, store: Path) -> None:
    huge = b'{"kind":"user","text":"' + b"x" * (65 * 1024 * 1024) + b'"}\n'
    bundle(folder / "bad", USER + huge + TURN + END)
    bad = outcomes(folder, store)["bad"]
    assert bad["status"] == "incomplete"
    assert "line 2" in bad["message"]
    shown = answer("show", bad["runs"][0], store=store)
    assert shown["run"]["n_steps"] == 1


def test_a_long_line_below_the_limit_is_read(folder: Path, store: Path) -> None:
    bundle(folder / "long", USER + b'{"kind":"user","text":"' + b"x" * 20_000_000 + b'"}\n' + TURN + END, arm="long")
    assert outcomes(folder, store)["long"]["status"] == "new"


BAD_PARTS: dict[str, tuple[dict[str, Any], bytes, str]] = {
    "manifest-bytes": ({"manifest": "part"}, b"\xff\xfe\x00", "UTF-8"),
    "manifest-list": ({"manifest": "part"}, b"[1]", "no object"),
    "manifest-cut": ({"manifest": "part"}, b'{"model": ', "not JSON"),
    "manifest-absent": ({"manifest": "absent"}, b"", "not in the bundle"),
    "invariants-cut": ({"invariants": "part"}, b'{"reviewed": tru', "not JSON"),
    "report-cut": ({"tests": [{"report": "part"}]}, b'{"tests": [', "cut|not JSON|no reader"),
    "report-xml": ({"tests": [{"report": "part"}]}, b"<testsuite", "no reader|XML"),
    "report-absent": ({"tests": [{"report": "absent"}]}, b"", "not in the bundle"),
    "worktree-absent": ({"tree": {"worktree": "absent"}}, b"", "no tree"),
    "oid": ({"tree": {"oid": "zz"}}, b"", "no tree"),
    "patch-absent": ({"tree": {"base": "ab" * 20, "patch": "absent"}}, b"", "not in the bundle"),
}


def test_a_bad_part_of_a_bundle_is_named_and_its_transcript_still_counts(folder: Path, store: Path) -> None:
    for case, (keys, data, _) in BAD_PARTS.items():
        bundle(folder / case, WHOLE, arm=case, **keys)
        (folder / case / "part").write_bytes(data)
    found = outcomes(folder, store)
    for case, (_, _, words) in BAD_PARTS.items():
        bad = found[case]
        assert (bad["status"], bool(bad["n_findings"])) == ("new", True), case
        assert any(word in bad["message"] for word in words.split("|")), (case, bad["message"])
    pairs = answer("pairs", "--limit", "1000", store=store)
    assert {pair["facets"]["tokens"] for pair in pairs} == {"same"}


def test_odd_json_is_kept_without_loss(folder: Path, store: Path) -> None:
    """Integers beyond 64 bits, NaN, lone surrogates and keys given twice neither stop nor silently change a run."""
    odd = b'{"kind":"user","text":"\\ud83d","x":18446744073709551616,"y":NaN,"z":1,"z":2}\n'
    bundle(folder / "odd", odd + TURN + END, arm="odd")
    found = outcomes(folder, store)["odd"]
    assert found["status"] in {"new", "incomplete"}
    assert samework("show", found["runs"][0], store=store).returncode == 0


def test_names_of_any_bytes_are_shown_visibly(folder: Path, store: Path) -> None:
    name = os.fsdecode(b"n\xff\x1b[2J\n.jsonl")
    (folder / name).write_bytes(USER + TURN)
    (folder / f"bad{name}").write_bytes(b"\xff")
    done = samework("ingest", folder, store=store)
    assert done.returncode == 0
    for text in (done.stdout, done.stderr, samework("runs", store=store).stdout):
        assert "\x1b" not in text
        assert "\udcff" not in text


def archive(path: Path, members: list[tuple[str, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members:
            made.writestr(name, data)
    return path


RUN = b'{"task":"t","arm":"zip","transcript":"events.jsonl"}'


BAD_ARCHIVES = {
    "slip": ([("run.json", RUN), ("events.jsonl", WHOLE), ("../../evil", b"x")], "evil"),
    "twice": ([("run.json", RUN), ("run.json", RUN), ("events.jsonl", WHOLE)], "two members"),
    "bomb": ([("run.json", RUN), ("events.jsonl", USER + b" " * 80_000_000)], "ratio|times|expand"),
    "other": ([("a.json", b"{}")], "no run.json"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_bad_archive_is_refused_and_never_unpacked(folder: Path, store: Path) -> None:
    for case, (members, _) in BAD_ARCHIVES.items():
        archive(folder / f"{case}.zip", members)
    before = sorted(path for path in folder.parent.rglob("*") if not path.is_relative_to(store))
    found = outcomes(folder, store)
    for case, (_, words) in BAD_ARCHIVES.items():
        bad = found[f"{case}.zip"]
        assert bad["status"] in {"refused", "skipped", "incomplete"}, case
        assert any(word in bad["message"] for word in words.split("|")), (case, bad["message"])
    assert sorted(path for path in folder.parent.rglob("*") if not path.is_relative_to(store)) == before
    assert found["good"]["status"] == "new"


def test_a_whole_archive_is_the_run_that_its_directory_is(folder: Path, store: Path) -> None:
    archive(folder / "x.zip", [("run.json", RUN), ("events.jsonl", WHOLE)])
    assert outcomes(folder, store)["x.zip"]["status"] == "new"


BAD_STORES: dict[str, Callable[[Path], object]] = {
    "empty": lambda db: db.write_bytes(b""),
    "text": lambda db: db.write_text("no database"),
    "cut": lambda db: db.write_bytes(db.read_bytes()[:5000]),
    "gone": lambda db: db.unlink(),
    "directory": lambda db: (db.unlink(), db.mkdir()),
}


@pytest.mark.parametrize("how", BAD_STORES)
def test_a_damaged_store_is_a_sentence(how: str, tmp_path: Path, store: Path) -> None:
    BAD_STORES[how](store / "store.duckdb")
    for words in (("runs",), ("ingest", tmp_path), ("verify",)):
        done = samework(*words, store=store)
        assert done.returncode == 2
        assert done.stderr.strip() or "1 finding" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("ingest",), ("ingest", "--format", "nonsense", "."), ("ingest", "--layout", "{colour}", "."),
        ("ingest", "--jobs", "0", "."), ("show", "nobody"), ("compare", "a", "b"), ("compare", "a"), ("nonsense",),
        ("classes", "--task", "none"), ("forks", "--origin", "nonsense"), ("pairs", "--class", "nonsense"),
        ("attach",), ("attach", "nobody", "--tests", "none.json"), ("attach", "--match", "no/fields.json"),
        ("attach", "--match", "no/{task}/such.json"), ("report", "-o", "x.pdf"), ("report", "a", "-o", "x.html"),
        ("snapshot", "nowhere"), ("query", "select from where"), ("query",), ("backup", "/nowhere/at/all.tar"),
        ("query", "select 1", "--seconds", "inf"), ("query", "select '\udcff'"), ("show", "x\udcff"),
        ("compare", "x\udcff", "x"), ("review", "x\udcff", "x"), ("attach", "x\udcff"), ("runs", "--task", "x\udcff"),
    ],
)  # fmt: skip
def test_bad_usage_is_exit_2_with_a_sentence(words: tuple[str, ...], store: Path, tmp_path: Path) -> None:
    done = samework(*words, store=store, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.strip()
    assert done.stderr.rstrip().endswith("]")
    assert not done.stdout.strip()


def test_errors_under_json_are_an_object(store: Path) -> None:
    done = samework("show", "nobody", "--json", store=store)
    assert done.returncode == 2
    assert set(json.loads(done.stderr)) == {"error", "message", "place", "effect", "hint"}


def test_attaching_many_files_is_partly_done_where_one_is_refused(folder: Path, store: Path, tmp_path: Path) -> None:
    outcomes(folder, store)
    logs = tmp_path / "logs"
    whole = xml('<testsuite name="t" tests="1"><testcase classname="a" name="a"/></testsuite>')
    for tasks, status in ((("t",), 0), (("t", "other"), 1), (("other",), 2)):
        shutil.rmtree(logs, ignore_errors=True)
        for task in tasks:
            (logs / task).mkdir(parents=True)
            (logs / task / "junit.xml").write_bytes(whole)
        done = samework("attach", "--match", "logs/{task}/junit.xml", store=store, cwd=tmp_path)
        assert done.returncode == status, done.stdout + done.stderr
        assert ("[report-without-run]" in done.stderr) == bool(status)


def test_attaching_bad_files_leaves_the_run_as_it_was(folder: Path, store: Path) -> None:
    outcomes(folder, store)
    before = answer("show", "t:good:1", store=store)
    (folder / "bad.json").write_bytes(b'{"tests": [')
    (folder / "bad.xml").write_bytes(b"<testsuite")
    (folder / "empty").write_bytes(b"")
    for words in (
        ("--tests", folder / "bad.json"), ("--tests", folder / "bad.xml"), ("--tests", folder / "empty"),
        ("--tests", folder / "none"), ("--manifest", folder / "bad.json"), ("--manifest", folder / "empty"),
        ("--worktree", folder / "none"), ("--repo", folder, "--commit", "ab" * 20), ("--repo", folder),
        ("--invariant", "x=maybe"), ("--invariant", "x"),
    ):  # fmt: skip
        done = samework("attach", "t:good:1", *words, store=store)
        assert done.returncode == 2, (words, done.stdout)
        assert done.stderr.strip()
    assert answer("show", "t:good:1", store=store) == before


def test_a_full_disk_stops_with_nothing_half_written(folder: Path, store: Path) -> None:
    """A broken machine is no bad item: the command stops, and the store is what it was."""
    shutil.copytree(folder / "good", folder / "more")
    (folder / "more" / "events.jsonl").write_bytes(USER + TURN * 20_000 + END)

    def no_space() -> None:
        import resource
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    outcomes(folder / "good", store)
    done = installed("ingest", folder / "more", store=store, before=no_space)
    assert done.returncode != 0
    assert samework("verify", store=store).stdout == "Whole.\n"
    assert len(answer("runs", store=store)) == 1


FAULTY = r"""
from samework.model.events import Event
from samework.model.reader import Evidence
from samework.model.records import RunStart
from samework.model.words import EventKind


class Faulty:
    name = "faulty"
    title = detects = "Files of a package that breaks"
    proven = False
    evidence = Evidence()

    def sniff(self, head, source):
        if head.startswith(b"no-name"):
            raise RecursionError
        return float(head.startswith(b"faulty"))

    def read(self, source):
        yield RunStart(task="t")
        yield Event(EventKind.USER, text="go")
        raise KeyError("\x1b[2J")


READER = Faulty()
"""


def test_a_reader_that_breaks_costs_its_own_files_only(folder: Path, tmp_path: Path) -> None:
    package = tmp_path / "package"
    described = package / "faulty-1.dist-info"
    described.mkdir(parents=True)
    (package / "faulty.py").write_text(FAULTY)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1\n")
    (described / "entry_points.txt").write_text("[samework.readers]\nfaulty = faulty:READER\n")
    for name, head in (("a.log", "faulty"), ("b.log", "no-name"), ("c.log", "faulty again")):
        (folder / name).write_text(head)
    for name in ("y.jsonl", "z.jsonl"):
        (folder / name).write_bytes(WHOLE)
    bundle(folder / "part", b"faulty", arm="part")
    path = f"{package}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    found = []
    for jobs in (1, 2):
        store = new_store(tmp_path / f"jobs-{jobs}")
        done = installed("ingest", folder, "--jobs", jobs, "--json", store=store, PYTHONPATH=path)
        assert done.returncode == 1, done.stderr
        found.append(json.loads(done.stdout)["sources"])
        assert samework("verify", store=store).returncode == 0
    assert found[0] == found[1]
    by_name = {source["path"].removeprefix(f"{folder}/"): source for source in found[0]}
    for name, raised in (("a.log", "KeyError: '\\x1b[2J'"), ("b.log", "RecursionError"), ("c.log", "KeyError: ")):
        refused = by_name.pop(name)
        assert (refused["status"], refused["code"]) == ("refused", "reader-fault")
        assert refused["message"].startswith(f"the reader faulty failed: {raised}")
        assert "please report it, with the file" in refused["hint"]
    assert by_name.pop("part")["status"] == "incomplete"
    assert {source["status"] for source in by_name.values()} == {"new", "known"}
