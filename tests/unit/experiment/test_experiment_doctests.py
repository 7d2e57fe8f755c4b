"""The numbers in the docstrings of the experiment are true."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "api.experimenting",
        "cli.experiment_parts",
        "experiment.flips",
        "experiment.order",
        "experiment.plan",
        "experiment.rates",
    ],
)
def test_docstrings_hold(module: str) -> None:
    found = doctest.testmod(import_module(f"samework.{module}"))
    assert found.attempted > 0
    assert found.failed == 0
