"""Pairs that show why a task fails or is undecided, and the evidence that is missing in them.

Looks at pairs one by one, but never at all of them: runs are taken in sweeps in which each meets another one first, and
the number of looks is bounded by the number of runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.equivalence.judge import judge
from samework.experiment.gate_requirement import gap_of, standing_of_pair
from samework.model.gate import GateGap, GatePair, PairStanding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from samework.equivalence.signatures import RunSignature, Signatures
    from samework.experiment.gate_requirement import Requirement
    from samework.model.words import Facet

_LOOKS_PER_RUN = 8
_N_SHOWN = 3

Pair = tuple["RunSignature", "RunSignature"]
Gap = tuple["Facet", str]


def examples(
    wanted: Requirement,
    ours: Sequence[RunSignature],
    theirs: Sequence[RunSignature],
    signatures: Signatures,
    standing: PairStanding,
) -> tuple[GatePair, ...]:
    """Up to three cross pairs of one task that stand so; fewer where a bounded look finds no more.

    Args:
        wanted: the requirement.
        ours: runs of the baseline.
        theirs: runs of the candidate, of the same task.
        signatures: of the task.
        standing: how the pairs shown stand.
    """
    found = []
    for a, b in _bounded(ours, theirs):
        if standing_of_pair(wanted, a, b, signatures) is not standing:
            continue
        judged = judge(a, b, signatures)
        placed = judged.placement
        rests_on = wanted.facets(treeless=a.task in signatures.treeless)
        facets = {facet.value: judged.facets[facet] for facet in rests_on}
        found.append(GatePair(a.run_id, b.run_id, standing, placed.run_class, placed.status, facets))
        if len(found) == _N_SHOWN:
            break
    return tuple(found)


def _sweeps(ours: Sequence[RunSignature], theirs: Sequence[RunSignature]) -> Iterator[Pair]:
    """Every cross pair once; in each sweep over the longer side all runs of both sides occur."""
    few, many = sorted((ours, theirs), key=len)
    for offset in range(len(few)):
        for place, run in enumerate(many):
            other = few[(place + offset) % len(few)]
            yield (run, other) if many is ours else (other, run)


def _bounded(ours: Sequence[RunSignature], theirs: Sequence[RunSignature]) -> Iterator[Pair]:
    looks = _LOOKS_PER_RUN * (len(ours) + len(theirs))
    for pair, _ in zip(_sweeps(ours, theirs), range(looks), strict=False):
        yield pair


def gaps(
    wanted: Requirement,
    ours: Sequence[RunSignature],
    theirs: Sequence[RunSignature],
    signatures: Signatures,
    undecided: Sequence[PairStanding],
) -> tuple[GateGap, ...]:
    """What is missing in the undecided cross pairs of one task, each gap once with the runs that lack it."""
    found: dict[Gap, dict[str, str]] = {}
    for a, b in _bounded(ours, theirs):
        if standing_of_pair(wanted, a, b, signatures) not in undecided:
            continue
        for gap in _pair_gaps(wanted, a, b, signatures):
            lacking = found.setdefault(gap, {})
            for run in (a, b):
                if run.arm not in lacking and gap in _pair_gaps(wanted, run, run, signatures):
                    lacking[run.arm] = run.run_id
    return tuple(GateGap(facet.value, reason, tuple(lacking.values())) for (facet, reason), lacking in found.items())


def _pair_gaps(wanted: Requirement, a: RunSignature, b: RunSignature, signatures: Signatures) -> list[Gap]:
    judged = judge(a, b, signatures)
    found = []
    treeless = a.task in signatures.treeless
    for facet in wanted.facets(treeless=treeless):
        reason = gap_of(facet, judged.facets[facet])
        if reason is not None:
            found.append((facet, "kind_has_no_tree" if treeless and reason == "no_report" else reason))
    return found
