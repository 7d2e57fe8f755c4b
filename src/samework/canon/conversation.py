"""What the messages of one model call add to those of the calls before it.

A call repeats the conversation that it goes on from, so only what is new counts. Where a call does not go on from what
was there, the harness edited the context: what it tells again is that edit, and no second completion or observation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


def continuation(seen: Sequence[Hashable], told: Sequence[Hashable]) -> tuple[int, int]:
    """Where a call's messages leave the conversation, and where they begin to be new.

    Args: seen: messages so far, the replies among them. told: messages of the next call.
    Returns: (n_kept, first_new): the first `n_kept` of `seen` stand; told[n_kept:first_new] retells what was seen, in
    another place or after something that was not; told[first_new:] is new. No edit where n_kept is len(seen).

    >>> continuation("abc", "abcde")
    (3, 3)
    >>> continuation("abcd", "aScde")
    (1, 4)
    >>> continuation("abcd", "ae")
    (1, 1)
    """
    n_kept = 0
    for one, other in zip(seen, told, strict=False):
        if one != other:
            break
        n_kept += 1
    if n_kept == len(seen):
        return n_kept, n_kept
    known = set(seen)
    first_new = len(told)
    while first_new > n_kept and told[first_new - 1] not in known:
        first_new -= 1
    return n_kept, first_new
