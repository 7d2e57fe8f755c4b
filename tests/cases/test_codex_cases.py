"""Public faults of tools that read Codex's records: here each case behaves as its `expected.json` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cases.words import WORDS, expected, left_by

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CASES = ("cx-reasoning-subset", "cx-repeat-total", "cx-total-reset")
NEW_EVENT = "cx-new-usage-event"


@pytest.mark.shared
@pytest.mark.parametrize("name", CASES)
def test_a_case_behaves_as_it_should(name: str, shared_path: Callable[..., Path], tmp_path: Path) -> None:
    left = left_by(shared_path("cases", name), tmp_path)
    wanted = expected(shared_path("cases", name))
    assert {word: WORDS[word](left) for word in wanted} == wanted


@pytest.mark.shared
def test_a_new_kind_of_usage_is_read_or_unknown_and_never_nothing(
    shared_path: Callable[..., Path], tmp_path: Path
) -> None:
    left = left_by(shared_path("cases", NEW_EVENT), tmp_path)
    wanted = expected(shared_path("cases", NEW_EVENT))
    output = WORDS["output_tokens"](left)
    assert output in wanted["output_tokens_in"]
    assert output != wanted["never"]
    assert WORDS["unknown_events_kept"](left) is wanted["unknown_events_kept"]


@pytest.mark.shared
def test_every_case_of_the_folder_is_here(shared_path: Callable[..., Path]) -> None:
    assert {path.name for path in shared_path("cases").glob("cx-*")} == {*CASES, NEW_EVENT}
