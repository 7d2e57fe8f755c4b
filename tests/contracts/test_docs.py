"""The documents name every command, message and word, and the pages of commands are what `--help` prints."""

from __future__ import annotations

import ast
import re
import runpy
from typing import TYPE_CHECKING

import pytest

from samework import errors
from samework.cli.app import command_names
from samework.model import words

if TYPE_CHECKING:
    from pathlib import Path


def codes_of_classes() -> set[str]:
    found = [value for value in vars(errors).values() if isinstance(value, type)]
    return {kind.code for kind in found if issubclass(kind, errors.SameworkError)}


def codes_in_calls(root: Path) -> set[str]:
    """Slugs written as `code="..."` anywhere in the package."""
    found = set()
    for path in (root / "src" / "samework").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "code" and isinstance(node.value, ast.Constant):
                found.add(node.value.value)
    return {code for code in found if isinstance(code, str)}


def test_every_slug_has_a_paragraph(root: Path) -> None:
    text = (root / "docs" / "messages.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^### ([a-z0-9-]+)\n\n\S", text, re.MULTILINE))
    assert (codes_of_classes() | codes_in_calls(root)) - documented == set()


def test_pages_of_commands_are_what_help_prints(root: Path) -> None:
    script = runpy.run_path(str(root / "docs" / "make_commands.py"))
    for path, text in script["pages"]().items():
        assert path.read_text(encoding="utf-8") == text, "python docs/make_commands.py writes the pages anew"


def test_no_page_is_left_of_a_command_that_is_gone(root: Path) -> None:
    pages = {path.stem for path in (root / "docs" / "commands").glob("*.md")}
    assert pages == {*command_names(), "README"}


@pytest.mark.parametrize("group", [words.RunClass, words.Status, words.Verdict, words.Grade, words.Consequence])
def test_every_word_of_the_engine_is_explained(root: Path, group: type[words.RunClass]) -> None:
    text = (root / "docs" / "words.md").read_text(encoding="utf-8")
    assert [word.value for word in group if word.value not in text] == []


@pytest.mark.parametrize("group", [words.Facet, words.EventKind])
def test_every_facet_and_event_is_named(root: Path, group: type[words.Facet]) -> None:
    text = (root / "docs" / "words.md").read_text(encoding="utf-8")
    assert [word.value for word in group if word.value not in text] == []
