"""What to record next time, claim by claim: the evidence that one run holds, put to the room of claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from samework.claims.evidence import discriminating
from samework.claims.needs import Held, Need, needs
from samework.claims.repeats import read_repeats
from samework.equivalence.manifest_diff import manifest_difference
from samework.model.words import Grade

if TYPE_CHECKING:
    from collections.abc import Mapping

    from samework.model.results import RunSummary
    from samework.store.connection import StoreHandle

_N_HELD = "select count(*) from token where run_key = $run_key and token_ids is not null"


def run_needs(
    handle: StoreHandle, key: int, summary: RunSummary, digests: Mapping[str, Mapping[str, Any]]
) -> tuple[Need, ...]:
    """What each claim still needs of a run. digests: rows of `run_facets` by facet."""
    repeats = read_repeats(handle, task=summary.task, arms=[summary.arm])
    (n_held,) = handle.db.execute(_N_HELD, {"run_key": key}).fetchall()[0]
    held = Held(
        kind=summary.kind,
        complete=summary.complete,
        prompt_ids=_grade(digests, "prompt_tokens"),
        completion_ids=Grade.DIRECT if n_held == summary.n_steps > 0 else _grade(digests, "completion_tokens"),
        has_calls=summary.n_calls > 0,
        has_tree=summary.evidence["tree"] != Grade.NONE,
        has_tests=summary.evidence["tests"] == Grade.DIRECT,
        has_base_report=discriminating(handle, key, key) is not None,
        has_repeat=any(one.n_pairs for one in repeats),
    )
    return needs(manifest_difference(handle, key, key), held)


def _grade(digests: Mapping[str, Mapping[str, Any]], facet: str) -> Grade:
    row = digests.get(facet, {})
    return Grade(row["grade"]) if row.get("has_digest") else Grade.NONE
