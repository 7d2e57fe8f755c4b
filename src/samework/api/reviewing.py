"""Record and list reviews of pairs: append-only, an overlay that no verdict or class rests on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from samework.api.runs import pair_of, query_rows
from samework.errors import UsageError
from samework.model.review import Judgement, PairReviews, Review, says
from samework.model.words import Consequence
from samework.store.write import BatchWriter
from samework.text import shortened, storable

if TYPE_CHECKING:
    from samework.store.connection import StoreHandle

_MAX_CHARACTERS = 20_000
_HINT = "samework review --help"


def record_review(
    handle: StoreHandle, a: str, b: str, *, judgement: str, by: str, reason: str, blind: bool
) -> PairReviews:
    """Add one review and return all of the pair. A reviewer's review supersedes the last one of theirs on this pair.

    Raises: NotFound, UsageError: no pair of one task, an unknown judgement, or no reviewer or reason. StoreError.
    """
    if judgement not in list(Judgement):
        raise UsageError(f"unknown judgement {shortened(judgement, 40)!r}; known: {', '.join(Judgement)}", hint=_HINT)
    for name, said in (("--by", by), ("--reason", reason)):
        if not said.strip() or len(said) > _MAX_CHARACTERS:
            raise UsageError(f"{name} needs a text of 1 to {_MAX_CHARACTERS:,} characters", hint=_HINT)
    found = pair_reviews(handle, a, b)
    reviewer = storable(by.strip())
    earlier = [review.number for review in found.reviews if review.reviewer == reviewer and review.is_current]
    with BatchWriter(handle) as writer:
        writer.begin()
        ((last,),) = writer.read("select coalesce(max(review_key), 0) from main.review")
        row: dict[str, object] = {
            "review_key": int(str(last)) + 1,
            "run_a": found.a,
            "run_b": found.b,
            "reviewer": reviewer,
            "blind": blind,
            "judgement": judgement,
            "reason": storable(reason.strip()),
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "supersedes": earlier[-1] if earlier else None,
        }
        columns = {name: [value] for name, value in row.items()}
        writer.append("review", columns)
        writer.commit(acts=[{"do": "rows", "table": "review", "columns": columns}])
    return pair_reviews(handle, a, b)


def pair_reviews(handle: StoreHandle, a: str, b: str) -> PairReviews:
    """All reviews of a pair; a and b in the order of their ids, for a pair has none.

    Raises: NotFound: no such run. UsageError: the runs are one, or of two tasks.
    """
    one, other = sorted((run for _, run in pair_of(handle, a, b)), key=lambda run: run.run_id)
    rows = query_rows(handle, "pair_reviews", a=one.run_id, b=other.run_id)
    reviews = tuple(msgspec.convert(row, Review) for row in rows)
    said = says([review.judgement for review in reviews if review.is_current])
    consequence = Consequence.REVIEW if said == Judgement.MATTERS else None
    return PairReviews(one.run_id, other.run_id, one.task, said, reviews, consequence)
