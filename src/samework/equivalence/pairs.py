"""One pair, or a list of pairs on request. Nothing else in the engine looks at pairs one by one."""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING

from samework.equivalence.differing_tests import differing_tests
from samework.equivalence.judge import Judgement, judge
from samework.equivalence.lattice import ANOMALIES
from samework.equivalence.signatures import RunSignature, load_signatures
from samework.errors import EvidenceError
from samework.model.results import Anomaly, PairResult, PairRow
from samework.model.words import Facet, RunClass, Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.store.connection import StoreHandle


def compare(handle: StoreHandle, key_a: int, key_b: int, *, strict: bool = False) -> PairResult:
    """Facets, class and anomalies of two runs, in the light of all runs of their task.

    Args:
        handle: an open store.
        key_a: run_key of one run.
        key_b: run_key of the other; the same run is allowed and is the same as itself as far as evidence goes.
        strict: no quarantine, no assumed environment.

    Raises:
        EvidenceError: the runs are of different tasks.
    """
    tasks = dict(
        handle.db.execute(
            "select run_key, task from run where run_key in ($a, $b)", {"a": key_a, "b": key_b}
        ).fetchall()
    )
    if tasks[key_a] != tasks[key_b]:
        raise EvidenceError(
            "runs of different tasks are not compared", hint="`samework runs --task TASK` lists the runs of one task."
        )
    signatures = load_signatures(handle, task=tasks[key_a], strict=strict)
    a, b = signatures.runs[key_a], signatures.runs[key_b]
    judged = judge(a, b, signatures)
    return PairResult(
        a=a.run_id,
        b=b.run_id,
        task=a.task,
        run_class=judged.placement.run_class,
        status=judged.placement.status,
        possible=judged.placement.possible,
        anomalies=anomalies_of(a, b, judged),
        facets={facet.value: verdict for facet, verdict in judged.facets.items()},
        notes=notes_of(a, b, judged) + _test_notes(handle, a, b, judged),
    )


def _test_notes(handle: StoreHandle, a: RunSignature, b: RunSignature, judged: Judgement) -> tuple[str, ...]:
    return (
        differing_tests(handle, a.run_key, b.run_key) if judged.facets[Facet.TESTS].verdict is Verdict.DIFFERENT else ()
    )


def anomalies_of(a: RunSignature, b: RunSignature, judged: Judgement) -> tuple[Anomaly, ...]:
    """Anomalies of a pair: of its verdicts, of its cell (A2), and of its grades (A4)."""
    codes = list(judged.placement.anomalies)
    verdicts = {facet: found.verdict for facet, found in judged.facets.items()}
    one_cell = verdicts[Facet.TREE] is Verdict.SAME and a.test_keys == b.test_keys
    if one_cell and a.tests_conflict and b.tests_conflict and "A2" not in codes:
        codes.append("A2")
    no_tree = verdicts[Facet.TREE] in (Verdict.UNKNOWN, Verdict.NOT_APPLICABLE)
    if verdicts[Facet.TOKENS] is Verdict.SAME and no_tree and verdicts[Facet.OUTCOME] is Verdict.DIFFERENT:
        codes.append("A4")
    return tuple(Anomaly(code, ANOMALIES[code]) for code in codes)


def notes_of(a: RunSignature, b: RunSignature, judged: Judgement) -> tuple[str, ...]:
    """What a reader must know beside the verdicts, in sentences."""
    notes = []
    if judged.placement.inferred:
        notes.append("The tree is not recorded on both sides; different tests imply a different tree (rule I1).")
    if judged.facets[Facet.TESTS].reason == "env_assumed":
        notes.append("Nobody recorded the test environment; it is taken as equal, so the class is at most provisional.")
    if judged.facets[Facet.TREE].reason in ("equal_post_images", "post_images_differ"):
        notes.append("Trees are compared by the patches' post-images; no repository was at hand.")
    for run in (a, b):
        if not run.complete:
            notes.append(f"The record of run {run.run_id} is incomplete: {run.incomplete_reason or 'damaged'}.")
        flags = json.loads(run.tree_flags or "[]")
        if flags:
            notes.append(f"Tree of run {run.run_id}: {', '.join(flags)}.")
    if a.patch_empty and b.patch_empty:
        notes.append("Both runs left the base tree: no work was done (no_work).")
    return tuple(notes)


def list_pairs(
    handle: StoreHandle,
    *,
    task: str | None = None,
    run_class: RunClass | None = None,
    status: Status | None = None,
    arm: str | None = None,
    strict: bool = False,
) -> Iterator[PairRow]:
    """Yield pairs of runs of one task each, by task and run_key; both runs of arm `arm` where it is given."""
    signatures = load_signatures(handle, task=task, strict=strict)
    for name, runs in sorted(signatures.by_task().items()):
        chosen = [run for run in runs if arm is None or run.arm == arm]
        for a, b in combinations(chosen, 2):
            judged = judge(a, b, signatures)
            placement = judged.placement
            if run_class not in (None, placement.run_class) or status not in (None, placement.status):
                continue
            verdicts = {facet.value: found.verdict for facet, found in judged.facets.items()}
            yield PairRow(a.run_id, b.run_id, name, placement.run_class, placement.status, verdicts)
