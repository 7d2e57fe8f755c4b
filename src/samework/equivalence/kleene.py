"""Strong Kleene logic over verdicts. Refuses to make agreement out of nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.model.words import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable


def conjoin(verdicts: Iterable[Verdict]) -> Verdict:
    """Combine part verdicts into one.

    One DIFFERENT decides; otherwise one UNKNOWN withholds; otherwise SAME. No parts is UNKNOWN: agreement about
    nothing is not evidence.

    >>> conjoin([Verdict.SAME, Verdict.UNKNOWN, Verdict.DIFFERENT])
    <Verdict.DIFFERENT: 'different'>
    >>> conjoin([])
    <Verdict.UNKNOWN: 'unknown'>
    """
    parts = set(verdicts)
    if Verdict.DIFFERENT in parts:
        return Verdict.DIFFERENT
    if Verdict.UNKNOWN in parts or not parts:
        return Verdict.UNKNOWN
    return Verdict.SAME
