"""Self-repeats: whether runs of one arm and task repeat each other. The control that every comparison of arms needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from samework.store.sql import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from samework.store.connection import StoreHandle

PACKAGE = "samework.claims"


class Repeats(msgspec.Struct, frozen=True):
    """Repeats of one arm on one task. n_pairs: whose sameness is known. by_tokens: else by what was said and done."""

    task: str
    arm: str
    n_runs: int
    n_pairs: int
    n_disagreeing: int
    by_tokens: bool


def read_repeats(
    handle: StoreHandle, *, task: str | None = None, arms: Sequence[str] | None = None
) -> tuple[Repeats, ...]:
    """Self-repeats of every arm (of `arms`) on every task (on `task`), in order of task and arm."""
    given = {"task": task, "arms": None if arms is None else list(arms)}
    return tuple(Repeats(*row) for row in handle.db.execute(load(PACKAGE, "sql/self_repeats"), given).fetchall())


def n_disagreements(repeats: Iterable[Repeats], arms: Iterable[str]) -> int | None:
    """Disagreeing pairs within the arms; None where an arm has no pair that could disagree: no control, not zero.

    >>> held = Repeats("t", "a", 2, 1, 0, True)
    >>> n_disagreements([held], ["a"]), n_disagreements([held], ["a", "b"])
    (0, None)
    """
    wanted = set(arms)
    mine = [one for one in repeats if one.arm in wanted and one.n_pairs]
    if {one.arm for one in mine} != wanted:
        return None
    return sum(one.n_disagreeing for one in mine)
