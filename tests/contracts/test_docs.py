"""The documents name every command, message and word, and the pages of commands are what `--help` prints."""

from __future__ import annotations

import ast
import re
import runpy
from itertools import product
from typing import TYPE_CHECKING

import pytest

from samework import errors
from samework.cli.app import command_names
from samework.equivalence.lattice import place
from samework.equivalence.signatures import _STEPS as STEPS
from samework.model import words

if TYPE_CHECKING:
    from pathlib import Path


def codes_of_classes() -> set[str]:
    found = [value for value in vars(errors).values() if isinstance(value, type)]
    return {kind.code for kind in found if issubclass(kind, errors.SameworkError)}


SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+|fault|store|sql|usage|error|undecided")


def modules(root: Path) -> list[ast.Module]:
    return [ast.parse(path.read_text(encoding="utf-8")) for path in (root / "src" / "samework").rglob("*.py")]


def places_of_code(trees: list[ast.Module]) -> dict[str, set[int]]:
    """Where a call of each function or record of the package takes a slug by position: those with something `code`."""
    found: dict[str, set[int]] = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.FunctionDef):
            names = [arg.arg for arg in node.args.posonlyargs + node.args.args if arg.arg != "self"]
        elif isinstance(node, ast.ClassDef):
            names = [each.target.id for each in node.body if isinstance(each, ast.AnnAssign)]
        else:
            continue
        if "code" in names:
            found.setdefault(node.name, set()).add(names.index("code"))
    return found


def texts_in(node: ast.expr) -> set[str]:
    """The strings that an expression can give. A slug is written out: one that is put together is found by nobody."""
    assert not isinstance(node, ast.JoinedStr), ast.unparse(node)
    if isinstance(node, ast.IfExp):
        return texts_in(node.body) | texts_in(node.orelse)
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


def slugs_by_caller(root: Path) -> dict[str, set[str]]:
    """Slugs by the name of what is called with them as its `code`, by name or by position."""
    trees = modules(root)
    places = places_of_code(trees)
    found: dict[str, set[str]] = {}
    for node in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = [word.value for word in node.keywords if word.arg == "code"]
        given += [arg for place, arg in enumerate(node.args) if place in places.get(name, ())]
        slugs = {text for each in given for text in texts_in(each) if SLUG.fullmatch(text)}
        if slugs and name != "Caution":  # what an experiment warns of is explained beside it
            found.setdefault(name, set()).update(slugs)
    return found


def documented(root: Path) -> dict[str, set[str]]:
    """Slugs with a paragraph, by whether their section is of refusals or of findings."""
    text = (root / "docs" / "messages.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (Refusals|Findings)(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    found: dict[str, set[str]] = {"Refusals": set(), "Findings": set()}
    for kind, body in sections:
        found[kind] |= set(re.findall(r"^### ([a-z0-9-]+)\n\n\S", body, re.MULTILINE))
    return found


def test_every_slug_has_a_paragraph_and_every_paragraph_a_slug(root: Path) -> None:
    slugs = set().union(*slugs_by_caller(root).values()) | codes_of_classes() | {"fault"}
    paragraphs = set().union(*documented(root).values())
    assert len(paragraphs) > 80
    assert (slugs - paragraphs, paragraphs - slugs) == (set(), set())


def test_what_is_raised_is_a_refusal_and_what_is_noticed_a_finding(root: Path) -> None:
    raising = {name for name, kind in vars(errors).items() if isinstance(kind, type)}
    by_caller = slugs_by_caller(root)
    raised = set().union(codes_of_classes(), *(slugs for name, slugs in by_caller.items() if name in raising))
    noticed = set().union(*(slugs for name, slugs in by_caller.items() if name not in raising))
    sections = documented(root)
    assert sections["Findings"] - noticed == set()
    assert sections["Refusals"] & (noticed - raised) == set()


def test_pages_of_commands_are_what_help_prints(root: Path) -> None:
    script = runpy.run_path(str(root / "docs" / "make_commands.py"))
    for path, text in script["pages"]().items():
        assert path.read_text(encoding="utf-8") == text, "python docs/make_commands.py writes the pages anew"


def test_no_page_is_left_of_a_command_that_is_gone(root: Path) -> None:
    pages = {path.stem for path in (root / "docs" / "commands").glob("*.md")}
    assert pages == {*command_names(), "README"}


GROUPS = [words.RunClass, words.Status, words.Verdict, words.Grade, words.Consequence, words.Facet, words.EventKind]


@pytest.mark.parametrize("group", GROUPS)
def test_every_word_of_the_engine_is_explained(root: Path, group: type[words.RunClass]) -> None:
    """As a term, bold or in code: that its letters stand somewhere in a sentence explains nothing."""
    text = (root / "docs" / "words.md").read_text(encoding="utf-8")
    terms = {term for marked in re.findall(r"\*\*(.+?)\*\*|`(.+?)`", text) for term in marked if term}
    assert [word.value for word in group if word.value not in terms] == []


def test_the_table_of_classes_is_what_the_engine_does(root: Path) -> None:
    text = (root / "docs" / "equivalence.md").read_text(encoding="utf-8")
    head = "| T | R | S | class | status | possible |"
    lines = text.partition(head)[2].partition("\n\n")[0].strip().splitlines()[1:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    letters = {"S": words.Verdict.SAME, "D": words.Verdict.DIFFERENT, "U": words.Verdict.UNKNOWN}
    for found in product(letters, repeat=3):
        row = next(
            row for row in rows if all(cell in ("any", letter) for cell, letter in zip(row, found, strict=False))
        )
        placed = place(*(letters[letter] for letter in found))
        possible = ", ".join(each.value.removesuffix("-identical") for each in placed.possible)
        assert [placed.run_class, placed.status, possible] == row[3:], found


def test_what_the_documents_link_to_is_there(root: Path) -> None:
    for page in (root / "docs").rglob("*.md"):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), (page.name, link)


def test_every_decision_is_listed(root: Path) -> None:
    pages = {path.name for path in (root / "docs" / "decisions").glob("0*.md")}
    assert set(re.findall(r"\((0.+?)\)", (root / "docs" / "decisions" / "README.md").read_text())) == pages


def test_the_architecture_names_every_room_and_temporary_table(root: Path) -> None:
    text = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    package = root / "src" / "samework"
    code = "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    names = {path.parent.name for path in package.glob("*/__init__.py")}
    names |= set(re.findall(r"replace temp (?:table|view) ([a-z_]+)", code)) | {table for table, _ in STEPS}
    assert {name for name in names if f"`{name}`" not in text} == set()
