"""Differences of files as lines."""

from __future__ import annotations

from samework.report.diff import MAX_FILES, MAX_LINES, file_change, tree_view

PLAIN = "100644"


def _change(before: bytes | None, after: bytes | None, **more: str | None):
    sides = {"mode_a": None if before is None else PLAIN, "mode_b": None if after is None else PLAIN}
    return file_change("f", before, after, **(sides | {"oid_a": "a", "oid_b": "b"} | more))


def test_a_changed_line_is_one_deleted_and_one_added() -> None:
    made = _change(b"a\nb\n", b"a\nc\n")
    assert (made.change, made.n_added, made.n_deleted) == ("modified", 1, 1)
    assert [(line.kind, line.text) for line in made.lines][1:] == [("context", "a"), ("deleted", "b"), ("added", "c")]


def test_a_path_on_one_side_is_added_or_deleted() -> None:
    assert _change(None, b"a\n").change == "added"
    assert _change(b"a\n", None).change == "deleted"


def test_a_mode_alone_is_a_mode_change() -> None:
    assert _change(b"a\n", b"a\n", mode_b="100755", oid_b="a").change == "mode"


def test_a_missing_final_newline_is_said() -> None:
    assert [line.kind for line in _change(b"a\n", b"a").lines] == ["note"]


def test_binary_links_and_submodules_are_named_and_binary_is_not_shown() -> None:
    assert _change(b"\0a", b"\0b").what == "binary"
    assert _change(b"\0a", b"\0b").lines == ()
    assert _change(b"x", b"y", mode_a="120000", mode_b="120000").what == "symlink"
    assert _change(None, None, mode_a="160000", mode_b="160000").what == "submodule"


def test_bytes_that_are_no_text_are_shown_as_escapes() -> None:
    assert _change(b"a\n", b"\xff\n").lines[-1].text == "\\xff"


def test_what_a_page_cannot_hold_is_counted() -> None:
    made = _change(b"", b"line\n" * (MAX_LINES + 50))
    assert len(made.lines) == MAX_LINES
    assert made.cut == 51
    assert made.n_added == MAX_LINES + 50
    assert tree_view("a", "b", [made] * (MAX_FILES + 2)).cut == 2
