"""What reviewers said of pairs, brought to the fork at which the two runs parted. A review never changes a class.

It belongs to the first node that has the two runs in different branches; what they did later is no fork of theirs.
Several judgements of one fork that do not agree leave it disputed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from samework.store.sql import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.forks.rows import Node
    from samework.store.connection import StoreHandle

Pair = tuple[int, int]
MATTERS, NO_MATTER = "matters", "no-matter"


class Review(msgspec.Struct, frozen=True):
    """Current judgements of pairs that part at one node, counted."""

    n_matters: int = 0
    n_no_matter: int = 0

    @property
    def says(self) -> str | None:
        """matters, no-matter, disputed, or None where nobody is sure."""
        if self.n_matters and self.n_no_matter:
            return "disputed"
        return MATTERS if self.n_matters else NO_MATTER if self.n_no_matter else None


def read_reviews(handle: StoreHandle, task: str | None) -> dict[Pair, Review]:
    """Judgements that no later review of the same pair supersedes, by (smaller, larger) run_key."""
    found: dict[Pair, Review] = {}
    for a, b, n_matters, n_no_matter in handle.db.execute(
        load("samework.forks", "sql/reviews"), {"task": task}
    ).fetchall():
        found[a, b] = Review(n_matters, n_no_matter)
    return found


def reviews_by_node(nodes: Sequence[Node], reviews: dict[Pair, Review]) -> dict[int, Review]:
    """Place of a node in the list -> what was said of pairs that part there. Nodes in order of task and place.

    Linear in members of nodes and in reviews.
    """
    by_run: dict[int, set[Pair]] = {}
    for pair in reviews:
        for key in pair:
            by_run.setdefault(key, set()).add(pair)
    found: dict[int, Review] = {}
    for place, node in enumerate(nodes if reviews else ()):
        branch_of = {m.run_key: number for number, way in enumerate(node.branches) for m in way.members}
        apart = {
            pair
            for key in branch_of.keys() & by_run.keys()
            for pair in by_run[key]
            if pair[0] in branch_of and pair[1] in branch_of and branch_of[pair[0]] != branch_of[pair[1]]
        }
        for pair in apart:
            said, before = reviews[pair], found.get(place, Review())
            found[place] = Review(before.n_matters + said.n_matters, before.n_no_matter + said.n_no_matter)
            for key in pair:
                by_run[key].discard(pair)
    return found
