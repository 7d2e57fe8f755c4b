"""What a gate is asked, and the share of failing tasks that it lets pass. Pure."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Final

import msgspec

from samework.errors import UsageError
from samework.experiment.gate_requirement import Requirement
from samework.model.gate import PairStanding
from samework.text import shortened

_PERCENT: Final = 100


class Terms(msgspec.Struct, frozen=True):
    """What is asked: two arms, the requirement, and how strict.

    at_most: share of failing tasks that is let pass, in [0, 1); None: one failing task fails the gate.
    """

    baseline: str
    candidate: str
    wanted: Requirement
    at_most: Fraction | None = None
    strict: bool = False
    accept_provisional: bool = False

    @property
    def undecided(self) -> tuple[PairStanding, ...]:
        """Standings of a pair that leave its task open."""
        return (PairStanding.UNKNOWN,) if self.accept_provisional else (PairStanding.UNKNOWN, PairStanding.PROVISIONAL)


def parsed_share(text: str) -> Fraction:
    """The share that `5%` names, exactly.

    Raises:
        UsageError: no percent sign, no number, or not in [0 %, 100 %); at 100 % every gate would pass.

    >>> parsed_share("2.5%")
    Fraction(1, 40)
    """
    number, sign, rest = text.strip().partition("%")
    try:
        share = Fraction(Decimal(number.strip())) / _PERCENT if sign and not rest else None
    except (InvalidOperation, ValueError, OverflowError):
        share = None
    if share is None or not 0 <= share < 1:
        raise UsageError(
            f"--at-most takes a share such as 5%, below 100%, not {shortened(text, 40)!r}", hint="samework gate --help"
        )
    return share


def percent(share: Fraction) -> str:
    """A share as it is written on the command line.

    >>> percent(Fraction(1, 40))
    '2.5%'
    """
    return f"{float(share * _PERCENT):g}%"
