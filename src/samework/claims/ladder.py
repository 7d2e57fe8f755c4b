"""The ladder of wording: what may be said of a field that goes with a fork. Pure; no report words it otherwise.

"Co-varies" needs nothing but that the field differs. "Toggled, with self-repeat controls" needs a factor that was
assigned, without alias, and repeats of both arms that agree. "Follows the donor" needs an intervention: the serving
state of one run moved into another, whose continuation then became that of the first.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from samework.equivalence.manifest_diff import group_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.claims.facts import Facts

STATE = "C"


class Rung(StrEnum):
    """Wordings, weakest first."""

    CO_VARIES = "co-varies"
    TOGGLED = "toggled"
    FOLLOWS = "follows the donor"


def rung_of(factors: Sequence[str], facts: Facts) -> Rung:
    """The strongest wording that is earned for fields that differ between two runs which parted.

    Moving the serving state says something of the serving state only; its fields are moved together, so that they need
    not be told apart. Any other set of several fields stays at the lowest rung.

    >>> from samework.claims.facts import Facts
    >>> rung_of(["kv.dtype"], Facts(donor_followed=True))
    <Rung.CO_VARIES: 'co-varies'>
    """
    if facts.donor_followed and factors and all(group_of(name) == STATE for name in factors):
        return Rung.FOLLOWS
    if list(factors) == [facts.assigned_factor] and repeats_agree(facts):
        return Rung.TOGGLED
    return Rung.CO_VARIES


def repeats_agree(facts: Facts) -> bool:
    """True where both arms have repeats on the task and none disagrees, there or on another task."""
    return facts.self_repeat_disagreements == 0 and not facts.self_repeat_disagreements_elsewhere


def ladder_sentence(rung: Rung, names: str, facts: Facts, *, elsewhere_equal: bool) -> str:
    """The words of a rung.

    Args:
        rung: as `rung_of` gives it.
        names: the fields, for people.
        facts: for the numbers.
        elsewhere_equal: all other fields are recorded and equal.
    """
    if rung is Rung.FOLLOWS:
        counted = f" in {facts.n_followed} of {facts.n_followed} transplants" if facts.n_followed else ""
        return f"the fork follows the donor of the serving state ({names}){counted}"
    if rung is Rung.TOGGLED:
        return f"the fork is toggled by {names}, with self-repeat controls (0 of {facts.n_self_repeats} disagree)"
    return f"the fork co-varies with {names}" + (", all else being equal" if elsewhere_equal else "")
