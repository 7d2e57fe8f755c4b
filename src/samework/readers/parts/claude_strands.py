"""Strands of a Claude Code file: which bytes belong to the session, to each branch and to each sub-agent.

Nothing of a record is kept but where it stands, so that a file of any size takes little memory.
"""

from __future__ import annotations

import hashlib
from array import array
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

_GENERATION = 100_000
T = TypeVar("T")


class Ranges:
    """Byte ranges of the file, ascending."""

    def __init__(self) -> None:
        self.bounds = array("Q")

    def add(self, start: int, end: int) -> None:
        """Add a record that begins at or after the end of the last one; neighbours are one range."""
        bounds = self.bounds
        if bounds and start - bounds[-1] <= 1:
            bounds[-1] = end
        else:
            bounds.extend((start, end))

    def put(self, start: int, end: int) -> None:
        """Add a record that may be taken out again: it stays a range of its own."""
        self.bounds.extend((start, end))

    def drop(self, other: Ranges) -> None:
        """Take out the records that lie in other ranges."""
        kept = array("Q")
        for start, end in self.until(None):
            if not other.holds(start):
                kept.extend((start, end))
        self.bounds = kept

    def holds(self, offset: int) -> bool:
        """Whether an offset lies in a range."""
        low, high = 0, len(self.bounds) // 2
        while low < high:
            middle = (low + high) // 2
            if self.bounds[2 * middle + 1] <= offset:
                low = middle + 1
            else:
                high = middle
        return 2 * low < len(self.bounds) and self.bounds[2 * low] <= offset

    def until(self, cut: int | None) -> Iterator[tuple[int, int]]:
        """The ranges that begin at or before `cut` (None: all), none going beyond the record that begins there."""
        for place in range(0, len(self.bounds), 2):
            start, end = self.bounds[place], self.bounds[place + 1]
            if cut is not None and start > cut:
                return
            yield start, end if cut is None else min(end, cut + 1)


class Strand:
    """Records that follow each other: the trunk of a session, a branch of it, or a sub-agent.

    parent / cut: the strand it left, and the offset of the last record that it shares with it (-1: none). agent: id of
    a sub-agent, None for the main conversation. is_loose: no prompt followed yet, so its records are `aside` in its
    parent. uuid: of its first record. n_replies: replies of the model so far. n_messages: records of messages.
    sha256: of a sub-agent's records. agents: id of the sub-agent that a call started, by the call's id. call: id of the
    call that started this one.
    """

    def __init__(
        self,
        parent: Strand | None = None,
        cut: int | None = None,
        agent: str | None = None,
        *,
        is_loose: bool = False,
    ) -> None:
        self.parent = parent
        self.cut = cut
        self.agent = agent
        self.is_loose = is_loose
        self.ranges = Ranges()
        self.aside = Ranges()
        self.sha256 = None if agent is None else hashlib.sha256()
        self.uuid: str | None = None
        self.n_replies = 0
        self.last_reply: str | None = None
        self.model: str | None = None
        self.n_messages = 0
        self.agents: dict[str, str] = {}
        self.call: str | None = None

    def take(self, start: int, end: int) -> None:
        """Add a record."""
        self.ranges.add(start, end)
        if self.is_loose and self.parent is not None:
            self.parent.aside.put(start, end)

    def tie(self) -> None:
        """Be a branch: its records are its own."""
        self.is_loose = False
        if self.parent is not None:
            self.parent.aside.drop(self.ranges)

    def owns(self, offset: int) -> bool:
        """Whether a record is this strand's own, not of the history that it shares."""
        return self.ranges.holds(offset) or self.aside.holds(offset)

    def path(self) -> Iterator[tuple[Strand, int | None]]:
        """This strand and those it grew from, each with the last offset that belongs to it here."""
        yield self, None
        strand = self
        while strand.parent is not None:
            cut, strand = strand.cut, strand.parent
            yield strand, cut

    def bounds(self) -> list[tuple[int, int]]:
        """Byte ranges of its records and of the history that it shares, ascending."""
        return sorted(
            bound for part, cut in self.path() for held in (part.ranges, part.aside) for bound in held.until(cut)
        )


class Place(NamedTuple):
    """Where a record stands: its strand, its offset, and how often the model had replied by then."""

    strand: Strand
    offset: int
    n_replies: int


class Recent(Generic[T]):
    """What was put last: at least the last 100,000 entries, at most twice as many; older ones are forgotten."""

    def __init__(self) -> None:
        self._new: dict[int, T] = {}
        self._old: dict[int, T] = {}

    def put(self, mark: int, value: T) -> None:
        """Remember a value."""
        if len(self._new) >= _GENERATION:
            self._old, self._new = self._new, {}
        self._new[mark] = value

    def get(self, mark: int) -> T | None:
        """The value of a mark, None where there is none or it is forgotten."""
        found = self._new.get(mark)
        return self._old.get(mark) if found is None else found
