"""Public faults of tools that read Claude Code's records: here each case behaves as its `expected.json` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cases.words import WORDS, expected, left_by

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CASES = (
    "cc-concat", "cc-missing-result", "cc-no-requestid", "cc-nul-run", "cc-numeric-keys", "cc-phantom-parent",
    "cc-split-blocks", "cc-stream-partial", "cc-string-content", "cc-subagent-path", "cc-truncated-tail", "cc-u2028",
)  # fmt: skip


@pytest.mark.shared
@pytest.mark.parametrize("name", CASES)
def test_a_case_behaves_as_it_should(name: str, shared_path: Callable[..., Path], tmp_path: Path) -> None:
    left = left_by(shared_path("cases", name), tmp_path)
    wanted = expected(shared_path("cases", name))
    assert {word: WORDS[word](left) for word in wanted} == wanted


@pytest.mark.shared
def test_every_case_of_the_folder_is_here(shared_path: Callable[..., Path]) -> None:
    assert {path.name for path in shared_path("cases").glob("cc-*")} == set(CASES)


@pytest.mark.shared
def test_a_result_is_not_given_to_another_call_by_its_place(shared_path: Callable[..., Path], tmp_path: Path) -> None:
    left = left_by(shared_path("cases", "cc-missing-result"), tmp_path)
    assert left.rows(
        "select c.call_id, b.text from event e join call c on (c.run_key, c.seq, c.ordinal)"
        " = (e.run_key, e.call_seq, e.call_ordinal) join body b on b.sha256 = e.body where e.kind = 'observation'"
    ) == [("toolu_2", "second")]


@pytest.mark.shared
def test_a_sub_agent_is_linked_and_its_tokens_add_to_those_of_its_session(
    shared_path: Callable[..., Path], tmp_path: Path
) -> None:
    left = left_by(shared_path("cases", "cc-subagent-path"), tmp_path)
    rows = left.rows(
        "select r.parent_native_id is null, sum(u.completion_tokens) from run r join call_usage u using (run_key)"
        " group by all order by all"
    )
    assert rows == [(False, 7), (True, 5)]
    assert left.one("select count(*) from run c join run p on p.native_id = c.parent_native_id") == 1
    assert left.outcome("journal.jsonl").status in {"refused", "skipped"}
    assert not left.outcome("journal.jsonl").runs


@pytest.mark.shared
def test_a_cut_tail_is_told_with_its_place(shared_path: Callable[..., Path], tmp_path: Path) -> None:
    left = left_by(shared_path("cases", "cc-truncated-tail"), tmp_path)
    data = (left.folder / "session.jsonl").read_bytes()
    start = data.rindex(b"\n") + 1
    assert left.rows("select source_offset, n_bytes from defect") == [(start, len(data) - start)]
    assert left.rows("select complete from run") == [(False,)]
