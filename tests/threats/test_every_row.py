"""Each row of the threat model has tests: those of this folder, and those that held it before, named here.

T15, a local web server, has none: this product serves no pages.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ELSEWHERE = {
    1: ["e2e/test_report_browser.py::test_nothing_that_a_run_wrote_runs", "cases/test_other_cases.py"],
    2: ["unit/cli/test_terminal.py::test_nothing_from_a_run_reaches_the_terminal_raw", "unit/cli/test_output.py"],
    3: ["unit/report/test_pages.py::test_markdown_in_untrusted_text_stays_text", "e2e/test_gate.py"],
    4: [],
    5: ["unit/report/test_redact.py::test_no_presenter_shows_a_secret_wherever_it_stands"],
    6: ["e2e/test_hostile_commands.py::test_each_form_of_a_tree_is_taken_without_running_anything"],
    7: ["unit/trees/test_object_store.py::test_a_hostile_tree_is_read_as_data_and_flagged"],
    8: [
        "e2e/test_hostile_commands.py::test_a_tree_is_attached",
        "unit/trees/test_hostile.py::test_what_is_no_hex_id_never_reaches_git",
    ],
    9: ["unit/trees/test_hostile.py::test_a_patch_cannot_write_outside_the_tree", "unit/canon/test_patch.py"],
    10: ["e2e/test_bad_input.py::test_a_bad_archive_is_refused_and_never_unpacked", "unit/decode/test_archive.py"],
    11: ["unit/decode/test_strict_json.py", "unit/decode/test_jsonl.py"],
    12: ["unit/decode/test_xml.py::test_a_document_with_a_dtd_is_refused"],
    13: ["unit/store/test_sandbox.py::test_only_one_select_is_answered"],
    14: ["unit/store/test_connection.py::test_views_of_a_foreign_file_are_never_what_a_query_runs"],
    16: ["e2e/test_kill.py", "laws/test_engine.py"],
    17: [
        "unit/store/test_seal.py::test_every_flip_in_every_file_is_found",
        "unit/store/test_verify.py::test_a_database_of_an_earlier_time_is_found",
        "cases/test_other_cases.py::test_a_log_that_was_lost_or_damaged_is_noticed",
        "e2e/test_bad_input.py::test_a_full_disk_stops_with_nothing_half_written",
    ],
    18: ["unit/decode/test_jsonl.py"],
}
WITHOUT = {15}


@pytest.mark.parametrize("row", ELSEWHERE)
def test_the_tests_of_a_row_are_there(row: int, root: Path) -> None:
    here = list((root / "tests" / "threats").glob(f"test_t{row:02d}_*.py"))
    assert here or ELSEWHERE[row], "no test holds this row"
    for name in ELSEWHERE[row]:
        path, _, function = name.partition("::")
        tree = ast.parse((root / "tests" / path).read_text(encoding="utf-8"))
        assert not function or function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name


@pytest.mark.shared
def test_no_row_of_the_model_is_left_out(shared_path: Callable[..., Path]) -> None:
    rows = set(map(int, re.findall(r"^\| T(\d+) \|", shared_path("spec", "THREATS.md").read_text(), re.MULTILINE)))
    assert rows == {*ELSEWHERE, *WITHOUT}
