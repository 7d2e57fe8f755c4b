"""Questions about sameness, put to the engine room by room and joined into one answer."""

from __future__ import annotations

import math
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from samework.api.runs import check_names, pair_of
from samework.errors import UsageError
from samework.model.words import RunClass, Status
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.model.causes import CausesResult
    from samework.model.funnel import Funnel
    from samework.model.results import ClassesResult, ForkNode, PairResult, PairRow
    from samework.store.connection import StoreHandle

N_ARMS_ACROSS = 2
_ORIGINS = ("input", "harness", "environment", "model", "model-or-template", "termination", "unknown")


def compare(
    handle: StoreHandle, a: str, b: str, *, strict: bool, near_tie: float | None = None, whole_texts: bool = False
) -> PairResult:
    """Everything about one pair: verdicts, then fork, manifest difference and claims; see `Store.compare`.

    whole_texts: the sides of the fork at full length, for a report that takes secrets out before it shortens.
    """
    from samework.claims.evidence import read_facts
    from samework.claims.licence import claims
    from samework.equivalence.manifest_diff import manifest_difference
    from samework.equivalence.pairs import compare as judge
    from samework.forks import first_divergence
    from samework.forks.align import after_fork

    (a_key, _), (b_key, _) = pair_of(handle, a, b)
    result = judge(handle, a_key, b_key, strict=strict)
    alignment, met_again = after_fork(handle, a_key, b_key)
    result = msgspec.structs.replace(
        result,
        fork=first_divergence(handle, a_key, b_key, **_fork_options(near_tie, whole_texts=whole_texts)),
        manifest=manifest_difference(handle, a_key, b_key),
        reconvergence=met_again,
        alignment=alignment,
    )
    facts = read_facts(handle, a_key, b_key, result, result.manifest)
    return msgspec.structs.replace(result, claims=claims(result, result.manifest, facts))


def classes(
    handle: StoreHandle,
    *,
    task: str | None = None,
    arm: str | None = None,
    across: Sequence[str] | None = None,
    strict: bool = False,
) -> ClassesResult:
    """Nested classes of each task and the counts of pairs."""
    from samework.equivalence.classes import classes as sort

    pair = _selected(handle, task, arm, across)
    return sort(handle, task=task, arms=[arm] if arm is not None else None, across=pair, strict=strict)


def funnel(
    handle: StoreHandle, *, task: str | None, arm: str | None, across: Sequence[str] | None, strict: bool
) -> Funnel:
    """Pairs from other tokens to a reviewer's word, stage by stage."""
    from samework.experiment.pair_funnel import pair_funnel

    pair = _selected(handle, task, arm, across)
    return pair_funnel(handle, task=task, arms=[arm] if arm is not None else None, across=pair, strict=strict)


def _selected(
    handle: StoreHandle, task: str | None, arm: str | None, across: Sequence[str] | None
) -> tuple[str, str] | None:
    """The two arms of `across`, once all names are known. Raises UsageError, NotFound."""
    arms = list(across or ())
    if across is not None and (len(arms) != N_ARMS_ACROSS or arms[0] == arms[1]):
        raise UsageError("--across takes two different arms, such as retained,recomputed", hint="samework runs")
    check_names(handle, task=task, arms=[*arms, *([arm] if arm is not None else [])])
    return (arms[0], arms[1]) if arms else None


def pairs(
    handle: StoreHandle,
    *,
    task: str | None,
    run_class: str | None,
    status: str | None,
    limit: int | None,
    strict: bool,
) -> list[PairRow]:
    """Pairs of the store with their class."""
    from samework.equivalence.pairs import list_pairs

    _known("class", run_class, [word.value for word in RunClass])
    _known("status", status, [word.value for word in Status])
    check_names(handle, task=task)
    found = list_pairs(
        handle,
        task=task,
        run_class=RunClass(run_class) if run_class else None,
        status=Status(status) if status else None,
        strict=strict,
    )
    return list(islice(found, None if limit is None else min(limit, sys.maxsize)))


def forks(
    handle: StoreHandle,
    *,
    task: str | None = None,
    tool_calls: bool = False,
    changed_work: bool = False,
    absorbed: bool = False,
    origin: str | None = None,
    near_tie: float | None = None,
    whole_texts: bool = False,
) -> list[ForkNode]:
    """Branch nodes of the store; see `Store.forks`. whole_texts: as for `compare`."""
    from samework.forks import forks as find

    _known("origin", origin and origin.split("/")[0], list(_ORIGINS))
    check_names(handle, task=task)
    options = _fork_options(near_tie, whole_texts=whole_texts)
    return find(
        handle,
        task=task,
        tool_calls=tool_calls,
        changed_work=changed_work,
        absorbed=absorbed,
        origin=origin,
        **options,
    )


def _fork_options(near_tie: float | None, *, whole_texts: bool) -> dict[str, Any]:
    """Limit of a near tie and length of excerpts, where they are not the usual ones."""
    if near_tie is not None and not 0 <= near_tie < math.inf:
        raise UsageError("a near tie is declared as a number of nats from 0", hint="samework forks --near-tie 0.5")
    limit = {} if near_tie is None else {"near_tie": near_tie}
    return {**limit, "excerpt_length": None} if whole_texts else dict(limit)


def causes(handle: StoreHandle, *, task: str | None, node: str | None, tool_calls: bool) -> CausesResult:
    """Candidate causes of the forks of the store, of a task, or of one fork."""
    from samework.experiment.causes import causes as find

    check_names(handle, task=task)
    return find(handle, task=task, node=node, tool_calls=tool_calls)


def _known(what: str, value: str | None, known: list[str]) -> None:
    if value is not None and value not in known:
        raise UsageError(f"unknown {what} {shortened(value, 40)!r}; known: {', '.join(known)}")
