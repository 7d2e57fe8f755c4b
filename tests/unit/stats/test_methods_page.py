"""docs/methods.md explains every statistic in the same six parts, and leaves no public function of it out."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import samework.stats

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "methods.md").read_text()
PARTS = ("**Question.**", "**Unit.**", "**Formula.**", "**Function.**", "**Not**", "**Source.**")
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
TABLES = "Levels and coverages, measured"
INNER = {"counts.checked_count", "counts.checked_probability"}
BESIDE = {"tango_z", "wald_se", "item_means", "path_factor", "repeats_table", "chernoff"}
"""Steps of another function, which the docstrings explain."""


def public_names() -> set[str]:
    modules = [
        importlib.import_module(f"samework.stats.{each.name}") for each in pkgutil.iter_modules(samework.stats.__path__)
    ]
    return {
        f"{module.__name__.rpartition('.')[2]}.{name}"
        for module in modules
        for name, found in vars(module).items()
        if callable(found) and not isinstance(found, type) and getattr(found, "__module__", "") == module.__name__
        if not name.startswith("_")
    }


@pytest.mark.parametrize("title", [title for title in SECTIONS if title != TABLES])
def test_each_section_has_its_six_parts_in_order(title: str) -> None:
    places = [SECTIONS[title].find(part) for part in PARTS]
    assert min(places) >= 0
    assert places == sorted(places)
    assert all(re.match(r"[^*]{3}", SECTIONS[title][at + len(part) :]) for at, part in zip(places, PARTS, strict=True))


def test_each_section_shows_a_number_that_is_run() -> None:
    assert [title for title, text in SECTIONS.items() if title != TABLES and ">>>" not in text] == []


def test_no_public_function_is_left_out() -> None:
    explained = " ".join(text[text.find("**Function.**") :] for title, text in SECTIONS.items() if title != TABLES)
    named = set(re.findall(r"\b[a-z_0-9]+\b", explained))
    left_out = {name for name in public_names() - INNER if name.partition(".")[2] not in named | BESIDE}
    assert left_out == set()


def test_links_within_the_page_lead_somewhere() -> None:
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in SECTIONS}
    assert {link for link in re.findall(r"\]\(#([^)]+)\)", PAGE) if link not in anchors} == set()
