from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from samework.store import journal

if TYPE_CHECKING:
    from pathlib import Path


def test_acts_come_back_in_order_with_their_batch(tmp_path: Path) -> None:
    journal.append(tmp_path, 1, [{"do": "ingest", "path": "a\ud800"}, {"do": "ingest", "path": "b\n"}])
    journal.append(tmp_path, 2, [])
    told = journal.read(tmp_path)
    assert [(act["batch"], act["do"], act.get("path")) for act in told.acts] == [
        (1, "ingest", "a\ud800"),
        (1, "ingest", "b\n"),
        (2, "nothing", None),
    ]
    assert told.damaged == ()
    assert journal.missing_batches(told, 3) == [3]


def test_a_changed_line_is_told_and_the_others_are_kept(tmp_path: Path) -> None:
    for batch in (1, 2, 3):
        journal.append(tmp_path, batch, [{"do": "ingest", "path": str(batch)}])
    file = tmp_path / journal.JOURNAL_NAME
    lines = file.read_bytes().split(b"\n")
    lines[1] = lines[1].replace(b'"2"', b'"7"')
    file.write_bytes(b"\n".join(lines))
    told = journal.read(tmp_path)
    assert told.damaged == (2,)
    assert [act["path"] for act in told.acts] == ["1", "3"]


def test_a_line_that_a_crash_cut_is_no_damage_and_what_follows_is_read(tmp_path: Path) -> None:
    journal.append(tmp_path, 1, [{"do": "ingest", "path": "1"}])
    file = tmp_path / journal.JOURNAL_NAME
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:30])
    assert journal.read(tmp_path).damaged == ()
    journal.append(tmp_path, 2, [{"do": "ingest", "path": "2"}])
    told = journal.read(tmp_path)
    assert [act["path"] for act in told.acts] == ["1", "2"]
    assert told.damaged == ()


def test_a_line_that_is_nested_without_end_is_damage(tmp_path: Path) -> None:
    journal.append(tmp_path, 1, [{"do": "ingest", "path": "1"}])
    deep = b"[" * 200_000 + b"]" * 200_000
    with (tmp_path / journal.JOURNAL_NAME).open("ab") as file:
        for text in (deep, b"7", b"{}"):
            file.write(hashlib.sha256(text).hexdigest().encode() + b" " + text + b"\n")
    told = journal.read(tmp_path)
    assert [act["path"] for act in told.acts] == ["1"]
    assert told.damaged == (2, 3, 4)
