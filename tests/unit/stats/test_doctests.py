"""The numbers in docstrings and in docs/methods.md are those that the functions give."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from typing import TYPE_CHECKING

import pytest

import samework.stats

if TYPE_CHECKING:
    from pathlib import Path

MODULES = [each.name for each in pkgutil.iter_modules(samework.stats.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_every_number_in_a_docstring_is_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"samework.stats.{name}"))
    assert result.failed == 0
    assert result.attempted > 0


def test_every_number_in_the_methods_pages_is_true(root: Path) -> None:
    result = doctest.testfile(str(root / "docs" / "methods.md"), module_relative=False)
    assert result.failed == 0
    assert result.attempted > 20
