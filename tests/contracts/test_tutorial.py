"""The tutorial can be typed along: each command works, and what it shows is what is printed."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from samework.cli.app import run

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_every_command_of_the_tutorial_works_and_prints_what_it_shows(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (root / "docs" / "tutorial.md").read_text(encoding="utf-8")
    (tmp_path / "fixtures").symlink_to(root / "fixtures")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SAMEWORK_STORE", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    commands = re.findall(r"^\$ samework (.+)$", text, re.MULTILINE)
    assert len(commands) > 8
    printed = ""
    for command in commands:
        code = run(shlex.split(command))
        shown = capsys.readouterr()
        assert code in {0, 1}, (command, shown.err)
        printed += shown.out
    for block in re.findall(r"^```text\n(.+?)^```", text, re.MULTILINE | re.DOTALL):
        assert block in printed
