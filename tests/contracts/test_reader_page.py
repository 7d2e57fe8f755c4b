"""The reader that docs/writing-a-reader.md shows is a reader, and reads what it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from samework.decode.source import FileSource
from samework.model.events import Event
from samework.model.reader import Reader
from samework.model.records import Damage, PatchRecord, RunEnd, RunStart

if TYPE_CHECKING:
    from pathlib import Path

LOG = b"""{"type": "model", "my_agent_version": 1, "text": "look", "id": "1", "arguments": "{}"}
{"type": "result", "id": "1", "text": "a.py"}
{"type": "submitted", "patch": ""}
{"cut
"""


def test_the_reader_on_the_page_reads(root: Path, tmp_path: Path) -> None:
    page = (root / "docs/writing-a-reader.md").read_text()
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert code is not None
    names: dict[str, object] = {}
    exec(compile(code.group(1), "writing-a-reader", "exec"), names)  # our own page
    reader = names["READER"]
    assert isinstance(reader, Reader)
    (tmp_path / "log").write_bytes(LOG)
    source = FileSource(tmp_path / "log")
    assert reader.sniff(source.head(), source) > 0
    kinds = [type(record) for record in reader.read(source)]
    assert kinds == [RunStart, Event, Event, PatchRecord, Damage, RunEnd]
