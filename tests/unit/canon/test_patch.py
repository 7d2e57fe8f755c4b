"""A patch alone is evidence about a tree: what it states, what it withholds, and that nothing can be cut unseen."""

from __future__ import annotations

import itertools
import json
import subprocess
import time
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samework.canon.patch import PatchFacts, parse_patch
from samework.canon.patch_names import shown_path, unquoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

EDIT = b"""diff --git a/f.py b/f.py
index 7898192..6178079 100644
--- a/f.py
+++ b/f.py
@@ -1 +1 @@
-a
+b
"""
BINARY = b"""diff --git a/i.bin b/i.bin
new file mode 100644
index 0000000000000000000000000000000000000000..f76dd238ade08917e6712764a16a22005a50573d
GIT binary patch
literal 1
IcmZPo000310RR91

literal 0
HcmV?d00001

"""
STATUSES = {"parsed", "empty", "damaged", "no_ids"}


def states(patch: bytes) -> set[tuple[str, str | None, str | None]]:
    facts = parse_patch(patch)
    assert facts.status == "parsed", facts.reason
    return {(path.path, path.mode, path.blob_id) for path in facts.paths}


def test_an_edit_states_path_mode_and_id() -> None:
    facts = parse_patch(EDIT)
    assert states(EDIT) == {("f.py", "100644", "6178079")}
    assert (facts.min_id_digits, facts.repairs, facts.paths[0].before_id) == (7, (), "7898192")


@pytest.mark.parametrize("patch", [b"", b"\n", b" \r\n\t"])
def test_a_blank_patch_is_empty_work(patch: bytes) -> None:
    facts = parse_patch(patch)
    assert (facts.status, facts.is_empty, facts.normalised) == ("empty", True, b"")


@pytest.mark.parametrize(
    ("changed", "repairs"),
    [
        (EDIT.replace(b"\n", b"\r\n"), ("crlf",)),
        (b"\r\n" + EDIT.replace(b"\n", b"\r\n"), ("crlf", "leading-blank")),
        (b"\n\n" + EDIT, ("leading-blank",)),
        (EDIT[:-1], ("final-newline",)),
    ],
)
def test_declared_repairs_restore_the_patch_and_are_recorded(changed: bytes, repairs: tuple[str, ...]) -> None:
    facts = parse_patch(changed)
    assert (facts.normalised, facts.repairs, facts.status) == (EDIT, repairs, "parsed")


def test_a_crlf_line_inside_an_lf_patch_is_content() -> None:
    patch = EDIT.replace(b"+b\n", b"+b\r\n")
    assert parse_patch(patch).normalised == patch


@pytest.mark.parametrize("end", range(len(EDIT) - 3, 30, -1))
def test_a_patch_cut_anywhere_is_never_another_whole_patch(end: int) -> None:
    cut = parse_patch(EDIT[:end])
    assert cut.status in {"damaged", "no_ids"}
    if cut.status == "damaged":
        assert cut.line is not None
        assert f"line {cut.line}" in (cut.reason or "")


def test_binary_data_is_whole_or_damaged() -> None:
    assert parse_patch(BINARY).status == "parsed"
    assert parse_patch(BINARY.rstrip()).repairs == ("final-newline", "final-blank-line")
    assert parse_patch(BINARY.rstrip()).status == "parsed"
    assert parse_patch(BINARY.replace(b"IcmZPo", b"IcmZPp")).status == "damaged"
    assert parse_patch(BINARY[: BINARY.index(b"literal 0")].replace(b"literal 1", b"literal 2")).status == "damaged"


def test_binary_data_that_inflates_beyond_the_limit_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samework.canon.patch_sections._MAX_INFLATED_BYTES", 1)
    facts = parse_patch(BINARY + BINARY.replace(b"i.bin", b"j.bin"))
    assert facts.status == "damaged"
    assert "not read" in (facts.reason or "")


def test_a_binary_stub_without_full_ids_names_its_path() -> None:
    stub = b"diff --git a/i.bin b/i.bin\nindex c866266..5663091 100644\nBinary files a/i.bin and b/i.bin differ\n"
    facts = parse_patch(EDIT + stub)
    assert facts.status == "no_ids"
    assert "i.bin" in (facts.reason or "")
    full = stub.replace(b"c866266..5663091", b"c" * 40 + b".." + b"5" * 40)
    assert parse_patch(full).status == "parsed"


def test_renames_deletions_and_modes_count() -> None:
    moved = b"""diff --git a/old name b/new name
similarity index 90%
rename from old name
rename to new name
index 7898192..6178079 100644
--- a/old name\t
+++ b/new name\t
@@ -1 +1 @@
-a
+b
"""
    assert states(moved) == {("old name", None, None), ("new name", "100644", "6178079")}
    mode = b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
    assert states(mode) == {("f", "100755", None)}
    gone = (
        b"diff --git a/f b/f\ndeleted file mode 100644\nindex 7898192..0000000\n"
        b"--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    )
    assert states(gone) == {("f", None, None)}


def test_a_file_moved_unchanged_does_not_state_its_id() -> None:
    patch = b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n"
    assert parse_patch(patch).status == "no_ids"


def test_the_last_word_on_a_path_counts_and_a_round_trip_is_no_change() -> None:
    back = (
        EDIT.replace(b"7898192..6178079", b"6178079..7898192")
        .replace(b"-a", b"-X")
        .replace(b"+b", b"+a")
        .replace(b"-X", b"-b")
    )
    assert states(EDIT + back) == set()
    onward = back.replace(b"..7898192", b"..1111111")
    assert states(EDIT + onward) == {("f.py", "100644", "1111111")}


@pytest.mark.parametrize("path", [b"../evil", b"/etc/passwd", b".git/config", b"a/../b", b"a//b", b"x/.GIT/hooks/p"])
def test_a_path_that_leaves_the_tree_is_damage(path: bytes) -> None:
    facts = parse_patch(EDIT.replace(b"a/f.py", b"a/" + path).replace(b"b/f.py", b"b/" + path))
    assert facts.status == "damaged"


@pytest.mark.parametrize(
    "patch",
    [
        EDIT + b"+more\n",
        EDIT + b"diff --cc f.py\n",
        b"@@ -1 +1 @@\n-a\n+b\n",
        b"no patch at all\n",
        EDIT.replace(b"+++ b/f.py", b"+++ b/g.py"),
        EDIT.replace(b"@@ -1 +1 @@", b"@@ -1,2 +1 @@"),
        EDIT + EDIT.replace(b"a/f.py", b"g.py").replace(b"b/f.py", b"g.py"),
    ],
)
def test_a_patch_that_contradicts_itself_is_damaged(patch: bytes) -> None:
    facts = parse_patch(patch)
    assert facts.status == "damaged"
    assert facts.paths == ()


def test_names_without_prefixes_are_kept_whole() -> None:
    facts = parse_patch(EDIT.replace(b"a/f.py", b"src/f.py").replace(b"b/f.py", b"src/f.py"))
    assert (facts.n_strip, facts.paths[0].path) == (0, "src/f.py")


def test_quoted_names_are_decoded_and_bytes_have_one_form() -> None:
    quoted = EDIT.replace(b"a/f.py", b'"a/\\303\\251"').replace(b"b/f.py", b'"b/\\303\\251"')
    assert states(quoted) == {("é", "100644", "6178079")}
    assert unquoted(b'"\\q"') is None
    assert shown_path(b'"x') != shown_path(b"\xff")


def test_a_patch_without_git_headers_states_no_ids() -> None:
    facts = parse_patch(EDIT[EDIT.index(b"--- ") :])
    assert (facts.status, facts.paths[0].path, facts.n_strip) == ("no_ids", "f.py", 1)
    made = parse_patch(b"--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+a\n")
    assert (made.status, made.paths[0].change) == ("no_ids", "add")
    assert parse_patch(b"--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n").status == "damaged"


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        (b"index 7898192..6178079 100644\n", b"", "no_ids"),
        (b"7898192..6178079 100644", b"7898192..6178079", "no_ids"),
        (b"7898192..6178079", b"7898..6178", "no_ids"),
        (b"index 7898192..6178079 100644", b"index 7898192..61", "damaged"),
        (b"index", b"old mode 10x644\nindex", "damaged"),
        (b"+++ b/f.py\n", b"", "damaged"),
        (b"a/f.py b/f.py", b"a/f.py b/g.py", "damaged"),
        (b"-a\n", b"-a\n\\ No newline at end of file\n", "parsed"),
        (b"@@ -1 +1 @@", b"@@ -1,3 +1", "damaged"),
    ],
)
def test_what_a_header_leaves_out_decides_the_status(old: bytes, new: bytes, status: str) -> None:
    assert parse_patch(EDIT.replace(old, new)).status == status


def test_empty_files_need_no_hunk_and_others_do() -> None:
    empty = b"diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n"
    assert states(empty) == {("e", "100644", "e69de29")}
    assert parse_patch(empty.replace(b"e69de29", b"1111111")).status == "damaged"


def test_a_copy_adds_and_a_quoted_rename_is_decoded() -> None:
    copy = EDIT.replace(b"index", b"similarity index 90%\ncopy from f.py\ncopy to g.py\nindex")
    copy = copy.replace(b"b/f.py", b"b/g.py")
    assert states(copy) == {("g.py", "100644", "6178079")}
    moved = (
        b'diff --git "a/\\303\\251" b/x y\nold mode 100644\nnew mode 100755\nrename from "\\303\\251"\nrename to x y\n'
    )
    assert {path.path for path in parse_patch(moved).paths} == {"é", "x y"}
    assert parse_patch(moved.replace(b"to x y", b"to z")).status == "damaged"


def test_a_mode_change_after_an_edit_keeps_the_edit() -> None:
    mode = b"diff --git a/f.py b/f.py\nold mode 100644\nnew mode 100755\n"
    assert states(EDIT + mode) == states(mode + EDIT.replace(b" 100644", b" 100755")) == {("f.py", "100755", "6178079")}


def test_a_file_made_and_deleted_in_one_patch_is_gone() -> None:
    made = (
        b"diff --git a/t b/t\nnew file mode 100644\nindex 0000000..7898192\n--- /dev/null\n+++ b/t\n@@ -0,0 +1 @@\n+a\n"
    )
    gone = (
        b"diff --git a/t b/t\ndeleted file mode 100644\nindex 7898192..0000000\n"
        b"--- a/t\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    )
    assert states(made + gone) == set()
    assert states(gone + made) == set()
    link = made.replace(b"100644", b"120000")
    assert states(gone + link) == {("t", "120000", "7898192")}


MADE = b"""diff --git a/t b/t
new file mode 100644
index 0000000..7898192
--- /dev/null
+++ b/t
@@ -0,0 +1 @@
+a
"""
LINK = """diff --git a/s b/s
index 1111111..2222222 160000
--- a/s
+++ b/s
@@ -1 +1 @@
-Subproject commit {0}
+Subproject commit {1}
"""


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        (MADE.replace(b"7898192", b"7898193"), "the content stated for it has another id"),
        (MADE.replace(b"+a\n", b"+b\n"), "the content stated for it has another id"),
        (MADE + b"\\ No newline at end of file\n", "the content stated for it has another id"),
        (MADE.replace(b"0000000..", b"1111111.."), "the file is new, but an id before the patch is stated"),
        (BINARY.replace(b"f76dd2", b"f76dd3"), "the content stated for it has another id"),
        (EDIT.replace(b"..6178079", b"..0000000"), "the file is kept, but one of its ids stands for no file"),
        (EDIT.replace(b"7898192..", b"0000000.."), "the file is kept, but one of its ids stands for no file"),
        (EDIT.replace(b"..6178079", b"..7898192"), "its content changes, but its ids are equal"),
        (EDIT.replace(b"7898192..", b"7898.."), "ids have fewer than 7 digits"),
        (EDIT + EDIT, "its change does not start from what the change before made of it"),
        (MADE + MADE, "it is made, but it is there already"),
    ],
)
def test_an_id_that_the_content_beside_it_contradicts_stands_for_no_tree(patch: bytes, reason: str) -> None:
    facts = parse_patch(patch)
    assert (facts.status, (facts.reason or "").rpartition(": ")[2]) == ("no_ids", reason)


def test_line_ends_that_a_recorder_lost_do_not_make_the_id_of_a_new_file_wrong() -> None:
    crlf = subprocess.run(["git", "hash-object", "--stdin"], input=b"a\r\n", capture_output=True, check=True).stdout
    assert parse_patch(MADE.replace(b"7898192", crlf[:7])).status == "parsed"


@pytest.mark.parametrize(
    ("commits", "status", "reason"),
    [
        (("1111111", "2222222"), "parsed", ""),
        (("1" * 40, "2" * 40), "parsed", ""),
        (("1111111", "2222222-dirty"), "no_ids", "submodule_dirty"),
        (("1111111", "3333333"), "no_ids", "a submodule whose commit is not the id stated"),
        (("3333333", "2222222"), "no_ids", "a submodule whose commit is not the id stated"),
        (("1111111", "main"), "no_ids", "a submodule that is no commit"),
    ],
)
def test_a_submodule_is_a_clean_commit_or_unknown(commits: tuple[str, str], status: str, reason: str) -> None:
    facts = parse_patch(LINK.format(*commits).encode())
    assert facts.status == status
    assert reason in (facts.reason or "")


@pytest.mark.parametrize(
    "line",
    [
        b"Only in b: newfile\n",
        b"Binary files a/y and b/y differ\n",
        b"Files a/y and b/y differ\n",
        b"* Unmerged path y\n",
        b"Submodule s contains modified content\n",
        b"Submodule s 1111111..2222222:\n",
        b"--- a/y\n+++ b/y\n",
        b"--- a/y\n",
        b"[120 lines omitted]\n",
    ],
)
def test_a_file_that_is_named_without_its_content_is_damage(line: bytes) -> None:
    facts = parse_patch(EDIT + line)
    assert (facts.status, facts.paths, (facts.line or 0) > EDIT.count(b"\n")) == ("damaged", (), True)


@pytest.mark.parametrize(
    "patch",
    [
        EDIT.replace(b"index", b"new file mode 100644\nindex").replace(b"7898192..", b"0000000.."),
        MADE + b"@@ -0,0 +2 @@\n+b\n",
        MADE.replace(b"new file", b"deleted file").replace(b"--- /dev/null\n+++ b/t", b"--- a/t\n+++ /dev/null"),
    ],
)
def test_hunks_that_a_new_or_deleted_file_cannot_have_are_damage(patch: bytes) -> None:
    assert parse_patch(patch.replace(b"--- a/f.py", b"--- /dev/null")).status == "damaged"


def test_a_change_of_mode_alone_is_one_change_with_its_ids_and_without() -> None:
    mode = b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
    assert states(mode) == states(mode + b"index 1111111..1111111\n") == {("f", "100755", None)}


def test_the_digest_of_a_change_is_of_what_changes_and_where_not_of_the_lines_around() -> None:
    head, lines = EDIT[: EDIT.index(b"@@")], b" k\n l\n-a\n+b\n m\n n\n"
    wide = head + b"@@ -3,5 +3,5 @@ def f():\n" + lines
    near = head + b"@@ -4,3 +4,3 @@\n" + lines[3:-3]
    assert change(wide) == change(near) is not None
    for old, new in ((b"+b", b"+c"), (b"-a", b"-A"), (b" l", b" L"), (b" m", b" M"), (b"-3,5", b"-4,5")):
        assert change(wide.replace(old, new)) != change(wide)
    assert change(EDIT + b"\\ No newline at end of file\n") != change(EDIT)


def change(patch: bytes) -> bytes | None:
    (path,) = parse_patch(patch).paths
    return path.change_sha256


def test_mail_text_around_a_patch_is_no_damage() -> None:
    assert states(b"From: x\nSubject: y\n\n---\n f.py | 2 +-\n\n" + EDIT + b"-- \n2.39.5\n\n")


@given(st.binary(max_size=400))
def test_any_bytes_have_a_status(data: bytes) -> None:
    assert parse_patch(data).status in STATUSES


PIECES = st.sampled_from(
    [*EDIT.splitlines(keepends=True), *BINARY.splitlines(keepends=True), b"\n", b" x\n", b"\\ No\n"]
)


@given(st.lists(PIECES, max_size=24))
def test_any_order_of_patch_lines_has_a_status(lines: list[bytes]) -> None:
    facts = parse_patch(b"".join(lines))
    assert facts.status in STATUSES
    assert (facts.reason is None) == (facts.status in {"parsed", "empty"})
    assert parse_patch(facts.normalised).normalised == facts.normalised


NAMES = st.binary(min_size=1, max_size=12).filter(
    lambda name: not any(mark in name for mark in b"\0/") and name.lower() not in (b".", b"..", b".git")
)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    st.dictionaries(NAMES, st.binary(max_size=60), max_size=4),
    st.dictionaries(NAMES, st.binary(max_size=60), max_size=4),
)
def test_what_a_patch_states_is_what_git_wrote(
    tmp_path_factory: pytest.TempPathFactory, before: dict[bytes, bytes], after: dict[bytes, bytes]
) -> None:
    repo = tmp_path_factory.mktemp("repo")
    git(repo, "init", "-q")
    old, new = tree(repo, before), tree(repo, after)
    patch = git(repo, "diff", "--binary", "--full-index", "--no-renames", old, new)
    listed = git(repo, "ls-tree", "-z", new).split(b"\0")[:-1]
    blobs = {line.split(b"\t", 1)[1]: line.split(b"\t", 1)[0].split()[2].decode() for line in listed}
    wanted = {(shown_path(name), "100644", blobs[name]) for name in after if before.get(name) != after[name]}
    wanted |= {(shown_path(name), None, None) for name in before if name not in after}
    if wanted:
        assert states(patch) == wanted
    else:
        assert parse_patch(patch).is_empty


def tree(repo: Path, files: dict[bytes, bytes]) -> str:
    lines = []
    for name, data in files.items():
        oid = git(repo, "hash-object", "-w", "--stdin", data=data).strip()
        lines.append(b"100644 blob " + oid + b"\t" + name + b"\0")
    return git(repo, "mktree", "-z", data=b"".join(lines)).decode().strip()


def git(repo: Path, *words: str, data: bytes = b"") -> bytes:
    return subprocess.run(["git", *words], cwd=repo, input=data, capture_output=True, check=True).stdout


def test_a_million_lines_take_linear_time() -> None:
    hunk = b"@@ -1 +1 @@\n-a\n+b\n"
    head = EDIT[: EDIT.index(b"@@")]
    spans = []
    for n_hunks in (20_000, 200_000):
        patch = head + hunk * n_hunks
        began = time.process_time()
        assert parse_patch(patch).status == "parsed"
        spans.append(time.process_time() - began)
    assert spans[1] < 40 * spans[0]


def recorded(shared: Callable[..., Path]) -> Iterator[tuple[dict[str, str], str | None]]:
    lite = shared("data", "swe-agent-lite")
    for row in json.loads((lite / "expected-trees.json").read_text()):
        run = json.loads((lite / row["run"] / f"{row['task']}.traj").read_text())
        yield row, run["info"].get("submission")
    cross = shared("data", "verified-cross")
    lines = (cross / "vexp" / "predictions.jsonl").read_text().split("\n")
    told = {line["instance_id"]: line["model_patch"] for line in map(json.loads, filter(None, lines))}
    for row in json.loads((cross / "expected-trees.json").read_text()):
        if row["run"] == "vexp":
            yield row, told.get(row["task"])
        else:
            run = cross / row["run"] / "trajs" / row["task"] / f"{row['task']}.traj.json"
            yield row, json.loads(run.read_text())["info"].get("submission")


@pytest.mark.shared
def test_patches_alone_agree_with_the_trees_that_git_made(shared_path: Callable[..., Path]) -> None:
    groups: dict[tuple[str, str], list[tuple[str, PatchFacts]]] = defaultdict(list)
    for row, patch in recorded(shared_path):
        if patch is None:
            assert row["status"] == "empty_patch"
            continue
        facts = parse_patch(patch.encode("utf-8", "surrogatepass"))
        assert facts.status == {"ok": "parsed", "empty_patch": "empty", "no_apply": "no_ids"}[row["status"]], row
        if row["status"] == "ok":
            groups[row["set"], row["task"]].append((row["tree"], facts))
    n_pairs = 0
    for runs in groups.values():
        digits = min(facts.min_id_digits or 40 for _, facts in runs)
        for (tree_a, a), (tree_b, b) in itertools.combinations(runs, 2):
            n_pairs += 1
            assert (tree_a == tree_b) == (cut_ids(a, digits) == cut_ids(b, digits))
    assert n_pairs == 220


def cut_ids(facts: PatchFacts, digits: int) -> set[tuple[str, str | None, str | None]]:
    return {(path.path, path.mode, path.blob_id and path.blob_id[:digits]) for path in facts.paths}


@pytest.mark.shared
@pytest.mark.parametrize(
    ("case", "statuses"),
    [
        ("patch-no-newline", {"a": "parsed", "b": "parsed"}),
        ("patch-binary", {"a": "parsed", "b": "no_ids"}),
        ("patch-rename-mode", {"a": "no_ids", "b": "parsed"}),
        ("patch-truncated", {"a": "parsed", "b": "damaged"}),
        ("patch-eof-newline", {"a": "parsed"}),
    ],
)
def test_public_faults_are_read_right(case: str, statuses: dict[str, str], shared_path: Callable[..., Path]) -> None:
    for name, status in statuses.items():
        assert parse_patch(shared_path("cases", case, f"{name}.patch").read_bytes()).status == status
