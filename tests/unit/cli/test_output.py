"""Tables survive narrow widths and hostile text; JSON never reaches a terminal raw."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from samework.cli.output import Column, cell, fitted_widths, print_json, print_table, print_wrapped, word
from samework.text import counted, visible

HOSTILE = "\x1b]52;c;ZWNobw==\x07\x1b[2J\x9b31m\u202egnp \ud83d [/x] [red]"
COLUMNS = [Column("run"), Column("task", flex=True), Column("steps", right=True)]


def console(width: int) -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False), stream


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_no_line_of_a_table_is_wider_than_the_terminal(width: int) -> None:
    out, stream = console(width)
    print_table(COLUMNS, [["0123456789abcdef", "a/very/long/task-name" * 4, 12345], ["x", None, 1]], out=out)
    assert all(cell_len(line) <= width for line in stream.getvalue().splitlines())


def test_columns_are_aligned_and_numbers_stand_right() -> None:
    out, stream = console(80)
    print_table(COLUMNS, [["a", "one", 5], ["bb", "three", 1200]], out=out)
    assert stream.getvalue().splitlines() == [
        "run  task   steps",
        "a    one        5",
        "bb   three   1200",
    ]


def test_wide_characters_keep_columns_aligned() -> None:
    out, stream = console(80)
    print_table(COLUMNS, [["日本", "x", 1], ["abcd", "y", 2]], out=out)
    lines = stream.getvalue().splitlines()
    assert {cell_len(line) for line in lines} == {cell_len(lines[0])}


def test_a_line_too_narrow_even_for_shortened_columns_becomes_a_block_a_row() -> None:
    out, stream = console(24)
    print_table(COLUMNS, [["0123456789abcdef", "task", 1], ["fedcba9876543210", "task", 2]], out=out)
    assert stream.getvalue().split("\n\n")[1].splitlines()[0].startswith("run")


def test_extra_columns_are_left_out_from_the_right_before_rows_become_blocks() -> None:
    out, stream = console(12)
    columns = [Column("a"), Column("bb", extra=True), Column("cc", extra=True)]
    print_table(columns, [["12345", "12345", "12345"]], out=out)
    assert stream.getvalue().splitlines() == ["a      bb", "12345  12345"]


def test_a_wrap_column_loses_nothing() -> None:
    out, stream = console(20)
    print_table([Column("a"), Column("why", flex=True, wrap=True)], [["12345", "one two three four"]], out=out)
    assert stream.getvalue().splitlines() == ["a      why", "12345  one two three", "       four"]


def test_markup_and_control_characters_from_data_are_shown_not_obeyed() -> None:
    out, stream = console(200)
    print_table(COLUMNS, [[HOSTILE, HOSTILE, 1]], out=out)
    print_wrapped(HOSTILE, out=out, lead="  ")
    shown = stream.getvalue()
    assert "[/x] [red]" in shown
    assert "\\x1b[2J" in shown
    assert visible(shown) == shown


@given(st.lists(st.integers(1, 200), min_size=3, max_size=3), st.integers(10, 300))
def test_fitted_widths_fit_or_are_refused(widths: list[int], total: int) -> None:
    fitted = fitted_widths(COLUMNS, widths, total)
    if fitted is not None:
        assert sum(fitted) + 4 <= total or fitted == widths
        assert fitted[0] == widths[0]
        assert fitted[2] == widths[2]
    else:
        assert widths[0] + widths[2] + min(widths[1], 10) + 4 > total


@given(st.text(st.characters(), max_size=40))
def test_printed_json_is_the_value_and_has_nothing_that_a_terminal_obeys(value: str) -> None:
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", stream)
        print_json({"text": value})
    printed = stream.getvalue()
    assert json.loads(printed) == {"text": value}
    assert visible(printed) == printed


def test_lone_surrogates_are_escaped_in_json() -> None:
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", stream)
        print_json({"text": HOSTILE})
    stream.getvalue().encode("utf-8")
    assert json.loads(stream.getvalue())["text"] == HOSTILE


def test_numbers_that_json_does_not_know_are_texts() -> None:
    out = io.StringIO()
    with redirect_stdout(out):
        print_json([{"x": float("nan"), "y": [float("inf"), -float("inf"), None, 1.5]}])
    assert json.loads(out.getvalue(), parse_constant=pytest.fail) == [
        {"x": "NaN", "y": ["Infinity", "-Infinity", None, 1.5]}
    ]


def test_only_words_with_a_meaning_have_a_colour() -> None:
    assert word("same").style == "green"
    assert word("divergent").style == "red"
    assert word("some task").style == ""
    assert cell("divergent").style == ""


def test_counts_agree_with_their_nouns() -> None:
    assert [counted(n, "run") for n in (0, 1, 1500)] == ["0 runs", "1 run", "1,500 runs"]
