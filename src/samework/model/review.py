"""What reviewers said of a pair: frozen records that print as JSON. A review never changes a class."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from samework.model.words import Consequence


class Judgement(StrEnum):
    """A reviewer's word on whether the difference of two runs matters."""

    MATTERS = "matters"
    NO_MATTER = "no-matter"
    UNSURE = "unsure"


DISPUTED = "disputed"


class Review(msgspec.Struct, frozen=True):
    """One review. supersedes: number of the review of the same reviewer that it replaces. blind: arms were hidden."""

    number: int
    reviewer: str
    judgement: Judgement
    reason: str
    blind: bool
    written: str
    supersedes: int | None = None
    is_current: bool = True


class PairReviews(msgspec.Struct, frozen=True):
    """All reviews of a pair, oldest first. says: what the current ones come to; None where there are none.

    consequence: C4 where they say that it matters; no review makes another consequence.
    """

    a: str
    b: str
    task: str
    says: str | None
    reviews: tuple[Review, ...]
    consequence: Consequence | None = None


def says(current: list[Judgement]) -> str | None:
    """What judgements come to: `disputed` where some say that it matters and others that it does not.

    >>> says([Judgement.MATTERS, Judgement.UNSURE]), says([Judgement.MATTERS, Judgement.NO_MATTER])
    ('matters', 'disputed')
    """
    decided = {word for word in current if word is not Judgement.UNSURE}
    if len(decided) > 1:
        return DISPUTED
    return next(iter(decided), Judgement.UNSURE if current else None)
