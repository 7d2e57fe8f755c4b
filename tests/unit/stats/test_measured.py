"""Tests keep their level and intervals their coverage as far as docs/methods.md says, which says it of all of them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scipy.stats import binom

import samework.stats
from tests.unit.stats.measuring import CONFIDENCE, COVERAGES, LEVEL, LEVELS

if TYPE_CHECKING:
    from tests.unit.stats.measuring import Measure

PAGE = Path(__file__).resolve().parents[3] / "docs" / "methods.md"
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| (always|about) \| ([^|]+) \|$", re.MULTILINE)
NEITHER = {
    "association": (),
    "clustered": ("item_means",),
    "counts": ("checked_count", "checked_probability", "counts_for_percentage"),
    "intervals": ("rule_of_three", "runs_to_see", "bounds_over_unknowns"),
    "margins": ("tango_z", "smallest_margin", "wald_se"),
    "paired": ("sign_test", "mcnemar_by_split", "mcnemar_range"),
    "power": (
        "path_factor",
        "diverging_items_needed",
        "items_for_path_test",
        "mcnemar_power",
        "repeats_table",
        "path_design",
    ),
    "reliability": ("pass_at_k", "pass_hat_k"),
}
"""Functions without a p value or an interval of their own: checks, plans, means, bounds that no chance moves, and p
values that are those of `mcnemar`."""


def printed() -> dict[str, tuple[str, tuple[float, ...]]]:
    """What the page says of each: always or about, and its numbers."""
    rows = ROW.findall(PAGE.read_text())
    assert len({name for name, *_ in rows}) == len(rows)
    return {name: (word, tuple(float(n) for n in re.findall(r"0\.\d+", numbers))) for name, _, word, numbers in rows}


def tolerance(measure: Measure) -> float:
    """The page rounds; draws may be others with another NumPy."""
    return 0.0006 if measure.n_series is None else 0.015


def test_the_page_names_every_measured_method_and_no_other() -> None:
    assert set(printed()) == LEVELS.keys() | COVERAGES.keys()
    words = {name: "always" if measure.holds else "about" for name, measure in (LEVELS | COVERAGES).items()}
    assert {name: word for name, (word, _) in printed().items()} == words


def test_every_function_that_gives_a_p_value_or_an_interval_is_measured() -> None:
    public = set()
    for each in pkgutil.iter_modules(samework.stats.__path__):
        module = importlib.import_module(f"samework.stats.{each.name}")
        public |= {
            f"{each.name}.{name}"
            for name, found in vars(module).items()
            if inspect.isfunction(found) and found.__module__ == module.__name__ and not name.startswith("_")
        }
    measured = {name.split()[0] for name in LEVELS.keys() | COVERAGES.keys()}
    assert public == measured | {f"{room}.{name}" for room, names in NEITHER.items() for name in names}


@pytest.mark.parametrize("name", LEVELS)
def test_a_true_null_is_rejected_no_more_often_than_the_level_says(name: str) -> None:
    measure, (_, said) = LEVELS[name], printed()[name]
    (found,) = measure.values()
    assert found == pytest.approx(said[0], abs=tolerance(measure))
    if measure.holds:
        # Among draws, a test of exactly this level passes the bound once in a thousand series.
        n = measure.n_series
        assert found <= (LEVEL if n is None else binom.isf(0.001, n, LEVEL) / n)


@pytest.mark.parametrize("name", COVERAGES)
def test_the_truth_is_held_as_often_as_the_confidence_says(name: str) -> None:
    measure, (_, said) = COVERAGES[name], printed()[name]
    found = measure.values()
    assert found == pytest.approx(said, abs=tolerance(measure))
    if measure.holds:
        assert found[-1] >= CONFIDENCE
