"""Put an experiment to the engine: names checked, levels and margin read, nothing counted here."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from samework.api.runs import check_names
from samework.errors import SameworkError, UsageError
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from samework.model.experiment import ExperimentResult
    from samework.store.connection import StoreHandle

_STATS: Final = frozenset({"scipy", "statsmodels"})
_MARGIN: Final = re.compile(r"(?P<number>[0-9]{0,12}(?:\.[0-9]{1,12})?)\s*(?P<percent>%?)")


def experiment(
    handle: StoreHandle,
    *,
    arms: Sequence[str] | None,
    by: str | None,
    task: str | None,
    level: Sequence[str] | None,
    success: str | None,
    margin: float | str | None,
    strata: str | None,
    donor: Sequence[str],
    power: bool,
    strict: bool,
    redact: bool = False,
) -> ExperimentResult:
    """See `Store.experiment`."""
    from samework.experiment.answer import DEFAULT_LEVELS, Question, general_plan
    from samework.experiment.answer import experiment as compare_arms

    if arms is None and by is None:
        if power:
            with _needing_stats():
                return general_plan()
        raise UsageError(
            "name the arms to compare, or a manifest field whose values are the arms",
            hint="samework experiment --arms retained,recomputed, or --by kv.dtype",
        )
    check_names(handle, task=task, arms=list(arms or ()) if by is None else [])
    asked = Question(
        arms=tuple(arms) if arms is not None else None,
        by=by,
        task=task,
        levels=_levels(level) if level is not None else DEFAULT_LEVELS,
        success=success,
        margin=read_margin(margin),
        strata=strata,
        donors=tuple(donor),
        power=power,
        strict=strict,
        redact=redact,
    )
    with _needing_stats():
        return compare_arms(handle, asked)


@contextmanager
def _needing_stats() -> Iterator[None]:
    """Say which extra is missing where a test is needed that no installed package gives."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _STATS:
            raise
        raise SameworkError(
            f"the tests of an experiment need {package}, which is not installed",
            hint="pip install 'samework[stats]'",
            code="no-stats",
        ) from error


def _levels(words: Sequence[str]) -> tuple[str, ...]:
    from samework.experiment.evidence import LEVELS

    unknown = next((word for word in words if word not in LEVELS), None)
    if unknown is not None or not words:
        raise UsageError(f"unknown level {shortened(unknown or '', 40)!r}; known: {', '.join(LEVELS)}")
    return tuple(dict.fromkeys(words))


def read_margin(margin: float | str | None) -> float | None:
    """A margin as a rate: 0.02 and "2%" are the same.

    Raises: UsageError: not between 0 and 1.

    >>> read_margin("2%"), read_margin(".02")
    (0.02, 0.02)
    """
    if margin is None:
        return None
    form = _MARGIN.fullmatch(str(margin).strip())
    number = float(form["number"]) if form is not None and form["number"] else 0.0
    rate = number / 100 if form is not None and form["percent"] else number
    if not 0 < rate < 1:
        raise UsageError(f"a margin is a rate above 0 and below 1, such as 2%, not {shortened(str(margin), 40)}")
    return rate
